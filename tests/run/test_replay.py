import json

import pytest

from scorebo.cli import main
from scorebo.errors import EvaluationError, InputError
from scorebo.inference import sequential
from scorebo.run.loop import execute
from scorebo.run.replay import differences_between, replay
from scorebo.store import RunStore, read_records
from scorebo.store.checksummed import seal, unseal
from scorebo.store.ledger import read_ledger
from tests import bad_tasks
from tests.runs import EVERY_THIRD_FIT_COLD, tiny_config


def run(results, *settings):
    """The folder of a finished small run."""
    config = tiny_config(results, *settings)
    execute(config)
    return RunStore(results, config).folder


def contents(folder):
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def alter(folder, iteration, change):
    """Change a stored record, its checksum made anew."""
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    record = unseal(lines[iteration - 1][:-1])
    change(record)
    lines[iteration - 1] = seal(record)
    path.write_bytes(b"".join(lines))


@pytest.fixture(scope="module")
def nuts(tmp_path_factory):
    return run(tmp_path_factory.mktemp("nuts"), "gramacy1", "sal_hr", "benchmark.total=4")


SEQUENTIAL = ("gramacy1", "sal_hr", *EVERY_THIRD_FIT_COLD, "benchmark.total=11")


def test_every_kind_of_iteration_is_bit_equal_and_nothing_is_written(nuts):
    before = contents(nuts)
    for iteration in (1, 3, 5):
        done = replay(nuts, iteration)
        assert done.differences == []
        assert done.record["iteration"] == iteration
        assert done.failure is None
    assert contents(nuts) == before


def test_states_of_the_sequential_sampler_are_made_again(tmp_path, monkeypatch):
    # So high that some moves fail: there are first, scheduled and unscheduled cold chains, and moves between them.
    monkeypatch.setattr(sequential, "LEAST_ACCEPTANCE", 0.75)
    folder = run(tmp_path, *SEQUENTIAL)
    records = [json.loads(line) for line in (folder / "records.jsonl").read_bytes().splitlines()]
    refresh_reason = [record["mcmc"]["refresh_reason"] for record in records[2:]]
    assert {"first", "scheduled", "acceptance", None} <= set(refresh_reason), "choose other settings"
    for iteration in range(1, 13):
        assert replay(folder, iteration).differences == [], f"iteration {iteration}"
    # The last state is in the checkpoint; without it it is made again like the others.
    (folder / "checkpoint.json").unlink()
    assert replay(folder, 12).differences == []


def test_a_state_that_cannot_be_made_again_is_said(tmp_path):
    folder = run(tmp_path, *SEQUENTIAL[:-1], "benchmark.total=5")
    alter(folder, 4, lambda record: record["hyperparameters"]["noise"].__setitem__(1, 0.5))
    done = replay(folder, 5)
    assert done.failure == "the sampler's state before it cannot be made again"
    assert len(done.differences) == 1
    assert done.differences[0].startswith("iteration 4, hyperparameters.noise.1: 0.5 stored, ")


def test_an_altered_record_is_told_from_a_repeated_one(nuts, tmp_path, capsys):
    folder = tmp_path / nuts.name
    folder.mkdir()
    for name, (_, data) in contents(nuts).items():
        (folder / name).write_bytes(data)
    alter(folder, 4, lambda record: record.update(negative_mll=record["negative_mll"] * (1 + 1e-15)))
    (difference,) = replay(folder, 4).differences
    assert difference.startswith("negative_mll: ")
    environment = json.loads((folder / "environment.json").read_text())
    environment["sessions"][-1]["packages"]["torch"] = "1.0"
    (folder / "environment.json").write_text(json.dumps(environment))
    assert main(["replay", str(folder), "--iteration", "4"]) == 1
    out = capsys.readouterr().out
    assert f"{folder}, iteration 4: differs from what is stored in 1 places" in out
    assert "since then: torch 1.0 then, " in out


def test_failed_evaluations(tmp_path, monkeypatch, capsys):
    config = tiny_config(
        tmp_path, "gramacy1", "random", "benchmark.total=5", "benchmark._target_=tests.bad_tasks.Fragile"
    )
    monkeypatch.setattr(bad_tasks.Fragile, "fault", "raise")
    with pytest.raises(EvaluationError):
        execute(config)
    folder = RunStore(tmp_path, config).folder
    assert main(["replay", str(folder), "--iteration", "4"]) == 0
    out = capsys.readouterr().out
    assert "the machine is on fire" in out
    assert "iteration 4: fails as it did" in out
    with pytest.raises(InputError, match="records of iterations 1 to 3, not of 5"):
        replay(folder, 5)
    monkeypatch.setattr(bad_tasks.Fragile, "fault", None)
    (difference,) = replay(folder, 4).differences
    assert difference.startswith("y: the evaluation failed (Task 'gramacy1' raised RuntimeError")
    execute(config)
    assert replay(folder, 4).differences == []
    monkeypatch.setattr(bad_tasks.Fragile, "fault", "raise")
    (difference,) = replay(folder, 4).differences
    assert difference.endswith("stored, now the evaluation fails")


def test_iterations_that_failed_elsewhere_than_in_their_evaluation(tmp_path, monkeypatch, capsys):
    """Here in the metrics; whatever it is, the ledger has it, and it can be repeated."""
    config = tiny_config(tmp_path, "gramacy1", "random", "benchmark._target_=tests.bad_tasks.FailsLate")
    with pytest.raises(InputError, match="gramacy1"):
        execute(config)
    folder = RunStore(tmp_path, config).folder
    (entry,) = read_ledger(folder)
    assert (entry["iteration"], entry["kind"]) == (3, "iteration failed")
    assert "evaluate_true" in "".join(entry["traceback"])
    assert main(["failures", str(tmp_path)]) == 0
    assert f"iteration 3\n  scorebo replay {folder} --iteration 3" in capsys.readouterr().out
    assert main(["replay", str(folder), "--iteration", "3"]) == 0
    assert "iteration 3: fails as it did" in capsys.readouterr().out
    monkeypatch.setattr(bad_tasks.FailsLate, "evaluate_true", lambda self, X: X[:, 0] / 0)
    (difference,) = replay(folder, 3).differences
    assert difference.startswith("failure: ")
    monkeypatch.setattr(bad_tasks.FailsLate, "evaluate_true", lambda self, X: X[:, 0])
    (difference,) = replay(folder, 3).differences
    assert difference.startswith("y: the iteration failed (")
    execute(config)
    assert replay(folder, 3).differences == []


class TestCommand:
    def test_by_id(self, nuts, capsys, tmp_path):
        digits = nuts.name.rpartition("-")[2]
        assert main(["replay", digits[:5], "--results", str(nuts.parents[3]), "--iteration", "2"]) == 0
        assert "iteration 2: bit-equal to the stored record, timings apart" in capsys.readouterr().out

    @pytest.mark.parametrize(("name", "iteration", "message"), [
        ("nothing", "2", "'nothing' is neither the folder of a run nor the beginning of the id of one in"),
        ("", "9", "has records of iterations 1 to 5, not of 9"),
        ("", "0", "has records of iterations 1 to 5, not of 0"),
    ])  # fmt: skip
    def test_mistakes(self, nuts, capsys, name, iteration, message):
        where = ["--results", str(nuts.parents[3])]
        assert main(["replay", name or str(nuts), *where, "--iteration", iteration]) == 2
        assert message in capsys.readouterr().err

    def test_an_id_of_several_runs(self, tmp_path, capsys):
        config = tiny_config(tmp_path)
        for seed in range(17):  # so many that two ids begin with the same digit
            with RunStore(tmp_path, config | {"seed": seed}) as store:
                store.resume()
        first = [path.name.rpartition("-")[2][0] for path in tmp_path.glob("*/*/*/*")]
        digit = max(set(first), key=first.count)
        assert main(["replay", digit, "--results", str(tmp_path), "--iteration", "1"]) == 2
        assert f"'{digit}' begins the ids of {first.count(digit)} runs: " in capsys.readouterr().err


def test_every_bit_counts_but_those_of_timings():
    stored = {
        "a": 0.0,
        "b": [1.0, {"c": float("nan")}],
        "wall_seconds": {"fit": 1.0},
        "mcmc": {"wall_seconds": 2.0, "rhat": 1.0},
    }
    stored["cpu_seconds"] = {"fit": 1.0}
    same = {
        "a": 0.0,
        "b": [1.0, {"c": float("nan")}],
        "wall_seconds": {"fit": 3.0},
        "mcmc": {"wall_seconds": 4.0, "rhat": 1.0},
    }
    assert differences_between(stored, same) == [], "one may be of a version without processor time"
    assert differences_between(stored, same | {"cpu_seconds": {"fit": 2.0}}) == []
    other = {"a": -0.0, "b": [1, {"c": None}], "mcmc": {"wall_seconds": 2.0}, "d": 1}
    assert differences_between(stored, other) == [
        "a: 0.0 stored, -0.0 now",
        "b.0: 1.0 stored, 1 now",
        "b.1.c: nan stored, None now",
        "mcmc.rhat: 1.0 stored, nothing now",
        "d: nothing stored, 1 now",
    ]


def test_fields_that_later_versions_add_are_no_difference(nuts):
    stored = read_records(nuts / "records.jsonl").records[2]
    older = {name: value for name, value in stored.items() if name != "nlpd_task_units"}
    assert differences_between(older, stored) == []
    assert differences_between(stored, older) == [f"nlpd_task_units: {stored['nlpd_task_units']} stored, nothing now"]
    assert differences_between(older, stored | {"metrics_failure": "none"}) == [
        "metrics_failure: nothing stored, none now"
    ]
