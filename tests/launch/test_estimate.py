import io
import json
import os
import re
import subprocess
import sys
import time

import pytest
from sweeps import sweep_of

from scorebo.config import as_dict, compose
from scorebo.config.sweep import sweep_configs
from scorebo.launch import estimate, pilot
from scorebo.launch.estimate import Stored, extrapolated, kind_of, plan
from scorebo.launch.timings import Cost, Spent, iteration_timings, seconds_per_iteration, spent
from scorebo.store import RunStore
from tests.store.store_samples import make_record, make_run

# Of a busy machine: fit and metrics waited for a processor, and the evaluation for something else.
WALL = {"fit": 4.0, "metrics": 2.0, "acquisition": 1.0, "evaluate": 3.0}
CPU = {"fit": 1.0, "metrics": 1.5, "acquisition": 2.0, "evaluate": 0.5}


def make_timed_run(results, config, count, **timings):
    with RunStore(results, config) as store:
        store.resume()
        for k in range(1, count + 1):
            store.append({**make_record(k), **timings})
    return store.folder


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
    expected = [sum(json.loads(line)["wall_seconds"].values()) for line in text.splitlines()]
    longer = {**config, "benchmark": {**config["benchmark"], "total": 8}}
    assert Stored(tmp_path).cost(longer).seconds[:5] == pytest.approx(expected)
    other = {**config, "mcmc": {**config["mcmc"], "warmup": 11}}
    assert Stored(tmp_path).cost(other) is None
    assert kind_of(config) == kind_of({**config, "seed": 5}) != kind_of(other)


def test_waiting_for_a_processor_is_no_cost_and_waiting_in_an_evaluation_is():
    assert spent({"wall_seconds": WALL, "cpu_seconds": CPU}) == Spent(1.0 + 1.5 + 1.0 + 3.0, 5.0)
    assert spent({"wall_seconds": {"fit": 2.0}}) == Spent(2.0, None)


def test_both_timings_are_read_from_the_bytes_of_records(tmp_path):
    config = sweep_of(tmp_path, range(1, 2))[0]
    folder = make_timed_run(tmp_path, config, 3, wall_seconds=WALL, cpu_seconds=CPU)
    records = (folder / "records.jsonl").read_bytes()
    assert list(iteration_timings(records)) == [{"wall_seconds": WALL, "cpu_seconds": CPU}] * 3
    damaged = records.replace(b'"fit":4.0', b'"fit":4.0.0', 1)
    assert len(list(iteration_timings(damaged))) == 2
    assert seconds_per_iteration(folder) == 10.0, "wall time, without the processor's"


def test_stored_runs_are_estimated_by_their_processor_seconds(tmp_path):
    config = sweep_of(tmp_path, range(1, 2))[0]
    make_run(tmp_path, {**config, "seed": 8}, 7)
    old = Stored(tmp_path).cost(config)
    assert (old.source, old.cpu_seconds) == ("stored wall", None)
    assert old.cpu_of(0, 5, threads=3) == 3 * old.of(0, 5)
    assert "1 runs estimated from the wall time of similar runs, which have no processor time" in plan([config])
    make_timed_run(tmp_path, {**config, "seed": 9}, 7, wall_seconds=WALL, cpu_seconds=CPU)
    new = Stored(tmp_path).cost(config)
    assert (new.source, new.seconds, new.cpu_seconds) == ("stored", [6.5] * 5, [5.0] * 5)
    text = plan([{**config, "workers": 1}])
    assert f"core-hours  {25 / 3600:.3g}\n" in text
    assert "wall time   32.5 s with 1 workers" in text


def test_more_workers_than_cores_are_not_faster(tmp_path, monkeypatch):
    monkeypatch.setattr("scorebo.launch.local.launcher.usable_cores", lambda: 2)
    monkeypatch.setattr(estimate.Stored, "cost", lambda *_: Cost([10.0] * 5, None, "stored", [10.0] * 5))
    text = plan(sweep_of(tmp_path, range(1, 9), workers=8))
    assert "wall time   3.3 min with 8 workers at a time; the longest run takes 50 s" in text


def test_plan_tells_what_is_left_and_what_it_costs(tmp_path, monkeypatch):
    configs = sweep_of(tmp_path, range(1, 11), "launcher=slurm", "launcher.runs_per_job=3", "launcher.cpus=2")
    make_run(tmp_path, configs[0], 7, finished=True)
    make_run(tmp_path, configs[1], 4)
    hour = Cost([720.0] * 5, 5000.0, "pilot")  # five iterations with a model
    monkeypatch.setattr(estimate.Stored, "cost", lambda *_: None)
    monkeypatch.setattr(estimate, "pilot", lambda kinds, seconds: dict.fromkeys(kinds, hour))
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
    monkeypatch.setattr("sys.argv", ["pilot", "90"])
    pilot.main()
    captured = capsys.readouterr()
    (answer,) = map(json.loads, captured.out.splitlines())
    assert answer["kind"] == "good"
    assert len(answer["wall_seconds"]) == len(answer["cpu_seconds"]) == 5
    assert 1e-4 < sum(answer["wall_seconds"]) < 600
    assert 100 < answer["memory_mb"] < 8000
    assert "No pilot of gramacy1" in captured.err
    assert not list(tmp_path.iterdir())


def test_made_up_observations_are_not_mistaken_for_values_beyond_the_optimum(tmp_path, caplog):
    overrides = ("benchmark=branin", "acquisition=random", "benchmark.total=40", "mcmc.warmup=4", "mcmc.thinning=1")
    config = as_dict(compose([*overrides, "mcmc.num_mcmc_samples=2", f"results={tmp_path}"]))
    assert [len(seconds) for seconds in pilot.measure(config)] == [38, 38]
    assert not caplog.records


def test_a_busy_machine_does_not_lengthen_the_estimate(tmp_path):
    """One core for the pilot and three processes that never stop computing."""
    config = sweep_of(tmp_path, range(1, 2), "mcmc.warmup=300", "mcmc.thinning=20")[0]
    cores = os.sched_getaffinity(0)
    pilot.measure(config)
    busy = []
    try:
        os.sched_setaffinity(0, {min(cores)})
        busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(3)]
        began, cpu_began = time.perf_counter(), time.process_time()
        (wall, *_), (cpu, *_) = pilot.measure(config)
        slowed = (time.perf_counter() - began) / (time.process_time() - cpu_began)
    finally:
        os.sched_setaffinity(0, cores)
        for process in busy:
            process.kill()
            process.wait()
    assert slowed > 2.0, "the machine was not busy"
    assert wall < 1.2 * cpu


def test_the_pilot_ends_when_it_said(tmp_path, monkeypatch, capfd):
    """Also in the middle of an evaluation, with whatever that has started."""
    (tmp_path / "bed").touch()
    config = sweep_of(tmp_path / "results", range(1, 2), task="Sleepy", bed=str(tmp_path / "bed"), at=1)[0]
    monkeypatch.setattr(pilot, "GRACE_SECONDS", 2.0)
    began = time.monotonic()
    assert pilot.pilot({"asleep": config}, 1.0) == {}
    assert time.monotonic() - began < 6.0
    told = capfd.readouterr().err
    assert "1 kind of run is timed first, which takes 0.05 min at most" in told
    assert re.search(r"^0 of 1 timed in [345] s$", told, re.MULTILINE)


def test_one_kind_of_each_task_is_timed_first():
    kinds = {f"{task} {method}": {"benchmark": {"name": task}} for task in "ab" for method in "xyz"}
    assert list(pilot.in_turn(kinds)) == ["a x", "b x", "a y", "b y", "a z", "b z"]


def test_a_guess_comes_from_the_most_similar_kinds(tmp_path, monkeypatch):
    overrides = "benchmark=gramacy1,branin,hartmann3", "acquisition=random,sobol", "benchmark.total=10"
    configs = sweep_configs([*overrides, f"results={tmp_path}"])
    seconds = {"gramacy1": 1.0, "branin": 3.0}

    def of_random(kinds, _):
        names = {
            kind: (json.loads(kind)["benchmark"]["name"], json.loads(kind)["acquisition"]["name"]) for kind in kinds
        }
        return {
            kind: Cost([seconds[t]], None, "pilot", [seconds[t]]) for kind, (t, a) in names.items() if (t, a) in timed
        }

    timed = {("gramacy1", "random"), ("branin", "random")}
    monkeypatch.setattr(estimate, "pilot", of_random)
    found = {
        (config["benchmark"]["name"], config["acquisition"]["name"]): cost.cpu_seconds[0]
        for config in configs
        for cost in [estimate.costs(configs, tmp_path)[estimate.kind_of(config)]]
    }
    # hartmann3 has the model of branin, not of gramacy1.
    assert found == {
        **{(task, method): seconds[task] for task in seconds for method in ("random", "sobol")},
        **{("hartmann3", method): 3.0 for method in ("random", "sobol")},
    }


def test_several_experiments_are_listed_with_the_cost_of_the_paper(tmp_path, monkeypatch):
    configs = sweep_configs(["experiment=al_mll,bo_regret,priors", "seed=1,2", f"results={tmp_path}"])
    hour = Cost([3600.0], None, "stored", [3600.0])
    monkeypatch.setattr(estimate.Stored, "cost", lambda *_: hour)
    lines = [line.split() for line in plan(configs).splitlines()]
    assert ["experiment", "runs", "core-hours", "the", "paper"] in lines
    hours = sum(cost.cpu_of(0, estimate._models(c), 1) for c in configs[:30] for cost in [hour]) / 3600
    assert ["al_mll", "60", f"{2 * hours:.1f}", "6,000"] in lines
    assert any(line[:2] == ["bo_regret", "72"] and line[-1] == "12,000" for line in lines)
    assert any(line[:2] == ["priors", "6"] and line[-1] == "–" for line in lines)
    assert not any("experiment" in line for line in plan(configs[:3]).splitlines())


def test_what_a_task_prints_is_no_answer():
    answer = {"kind": "good", "wall_seconds": [1.0], "cpu_seconds": [2.0], "memory_mb": 3.0}
    found = pilot._read("\n".join(['{"loss": 1}', "{", "3", json.dumps(answer), json.dumps(answer)[:-9]]))
    assert found == {"good": Cost([1.0], 3.0, "pilot", [2.0])}
