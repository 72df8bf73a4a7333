import io
import json

import pytest
from sweeps import sweep_of

from scorebo.config import as_dict, compose
from scorebo.launch import estimate, pilot
from scorebo.launch.estimate import Cost, Stored, extrapolated, kind_of
from scorebo.launch.plan import plan
from tests.store.store_samples import make_run


def test_extrapolation_is_exact_for_what_grows_with_the_square():
    seconds = [1.0 + 0.01 * k * k for k in range(60)]
    assert extrapolated([seconds[:20], seconds[:10]], 60) == pytest.approx(seconds)
    assert extrapolated([[2.0, 1.0]], 4) == [2.0, 1.0, 1.5, 1.5], "no cheaper with more observations"
    assert extrapolated([[100.0, 1.0], [1.0, 1.0], [1.0, 1.0]], 2) == [1.0, 1.0], "the first run also compiles"


def test_cost_of_the_rest_of_a_run():
    cost = Cost([1.0, 2.0, 3.0], None, "stored")
    assert cost.of(0, 3) == 6.0
    assert cost.of(2, 5) == 9.0
    assert cost.of(4, 4) == 0.0


def test_similar_runs_differ_in_seed_and_budget_only(tmp_path):
    config = sweep_of(tmp_path, range(1, 2))[0]
    folder = make_run(tmp_path, {**config, "seed": 9}, 5)
    text = (folder / "records.jsonl").read_text()
    expected = [sum(json.loads(line)["seconds"].values()) for line in text.splitlines()]
    longer = {**config, "benchmark": {**config["benchmark"], "total": 8}}
    assert Stored(tmp_path).cost(longer).seconds[:5] == pytest.approx(expected)
    other = {**config, "mcmc": {**config["mcmc"], "warmup": 11}}
    assert Stored(tmp_path).cost(other) is None
    assert kind_of(config) == kind_of({**config, "seed": 5}) != kind_of(other)


def test_plan_tells_what_is_left_and_what_it_costs(tmp_path, monkeypatch):
    configs = sweep_of(tmp_path, range(1, 11), "launcher=slurm", "launcher.runs_per_job=3", "launcher.cpus=2")
    make_run(tmp_path, configs[0], 7, finished=True)
    make_run(tmp_path, configs[1], 4)
    hour = Cost([720.0] * 5, 5000.0, "pilot")  # five iterations with a model
    monkeypatch.setattr(estimate.Stored, "cost", lambda *_: None)
    monkeypatch.setattr("scorebo.launch.pilot.pilot", lambda kinds: dict.fromkeys(kinds, hour))
    text = plan(configs)
    assert "10 runs, 1 of them finished already" in text
    # Eight whole hours and one with two of its five iterations done, on two cores each.
    assert "core-hours  17.2" in text
    assert "wall time   3.0 h with 3 jobs at a time; the longest run takes 60.0 min" in text
    assert "9 runs estimated from a short pilot" in text
    assert "memory      5000 MB a run" in text
    assert "more than launcher.memory_gb=4" in text
    assert "#SBATCH --array=0-2%3" in text
    assert not (tmp_path / ".sweeps").exists()


def test_pilot_measures_every_kind_it_can_and_stores_nothing(tmp_path, monkeypatch, capsys):
    good = sweep_of(tmp_path, range(1, 2))[0]
    broken = sweep_of(tmp_path, range(1, 2), task="ReturnsNaN")[0]
    lines = "".join(json.dumps([name, config]) + "\n" for name, config in (("broken", broken), ("good", good)))
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    pilot.main()
    captured = capsys.readouterr()
    (answer,) = map(json.loads, captured.out.splitlines())
    assert answer["kind"] == "good"
    assert len(answer["seconds"]) == 5
    assert 1e-4 < sum(answer["seconds"]) < 600
    assert 100 < answer["memory_mb"] < 8000
    assert "No pilot of gramacy1" in captured.err
    assert not list(tmp_path.iterdir())


def test_made_up_observations_are_not_mistaken_for_values_beyond_the_optimum(tmp_path, caplog):
    overrides = ("benchmark=branin", "acquisition=random", "benchmark.total=40", "mcmc.warmup=4", "mcmc.thinning=1")
    config = as_dict(compose([*overrides, "mcmc.num_sets=2", f"results={tmp_path}"]))
    assert len(pilot.measure(config)) == 38
    assert not caplog.records
