"""Every acquisition on every task, and what a record of an optimisation run holds."""

import math

import pytest
import torch

import scorebo
from scorebo.config import available
from scorebo.loop import Run, execute
from scorebo.store import RunStore, read_records
from tests.runs import TINY, tiny_config

TASKS = ["branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6", "gp8"]
OPTIMISERS = ["scorebo_hr", "scorebo_ws", "scorebo_kl", "scorebo_hr_mc", "scorebo_ws_mc", "jes", "mes", "pes", "nei"]
OPTIMISERS += ["nei_map", "nei_plain", "ucb", "thompson"]
SMALL = ["mcmc.num_optima=2", "mcmc.num_features=64"]


def test_the_lists_above_are_complete():
    learning = {"bald", "balm", "bqbc", "qbmgp", "random", "sobol"}
    assert set(OPTIMISERS) == {a for a in available("acquisition") if not a.startswith("sal")} - learning
    assert set(TASKS) <= set(available("benchmark"))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("acquisition", available("acquisition"))
def test_every_acquisition_runs_on_every_task(tmp_path, task, acquisition):
    initial = scorebo.load_benchmark(task).initial
    config = tiny_config(tmp_path, task, acquisition, f"benchmark.total={initial + 2}", *SMALL)
    run, records = Run(config), []
    for iteration in range(1, initial + 3):
        records.append(run.record(iteration, records))
    for record in records[initial:]:
        assert record["kind"] == "query"
        assert all(low <= x <= high for x, low, high in zip(record["x"], *run.benchmark.bounds.tolist(), strict=True))
        assert record["inference_regret"] >= 0
        assert record["optimum_violation"] == 0.0
        assert record["acquisition_value"] is None or math.isfinite(record["acquisition_value"])


def test_records_of_an_optimisation_run(tmp_path):
    config = tiny_config(tmp_path, "branin", "scorebo_hr", *SMALL)
    execute(config)
    store = RunStore(tmp_path, config)
    records = read_records(store.folder / "records.jsonl").records
    task = scorebo.load_benchmark("branin")
    for record in records[3:]:
        seen = records[: record["num_observations"]]
        assert record["simple_regret"] == pytest.approx(min(r["f"] for r in seen) - task.optimal_value)
        assert record["best_observed"] == min(r["y"] for r in seen)
        there = torch.tensor([record["recommended_x"]], dtype=torch.float64)
        assert record["inference_value"] == pytest.approx(float(task.evaluate_true(there)))
        assert record["inference_regret"] == pytest.approx(record["inference_value"] - task.optimal_value)
    assert all(r["inference_regret"] is None for r in records[:3])


def test_model_of_nei_map_is_the_maximum_and_the_command_line_wins(tmp_path):
    assert tiny_config(tmp_path, "branin", "nei_map")["model"]["name"] == "map"
    assert tiny_config(tmp_path, "branin", "nei_map", "model=botorch")["model"]["name"] == "botorch"


def test_true_model_of_the_gp_sample_knows_its_lengthscales(tmp_path):
    config = tiny_config(tmp_path, "gp8", "ucb", "model=true", "benchmark.total=10", *TINY)
    assert config["model"]["lengthscale"] == config["benchmark"]["lengthscale"]
