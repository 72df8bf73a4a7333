"""Every acquisition on every task, and what a record of an optimization run holds."""

import functools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import scorebo
from scorebo.acquisition import maximize
from scorebo.config import available
from scorebo.run import metrics, regret
from scorebo.run.loop import Run, execute
from scorebo.store import RunStore, read_records
from tests.runs import TINY, tiny_config

TASKS = ["branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6", "gp8"]
OPTIMIZERS = ["scorebo_hr", "scorebo_ws", "scorebo_kl", "scorebo_hr_mc", "scorebo_ws_mc", "jes", "mes", "pes", "nei"]
OPTIMIZERS += ["scorebo_hr_exact", "scorebo_ws_exact", "scorebo_kl_exact"]
OPTIMIZERS += ["nei_map", "nei_plain", "ucb", "thompson"]
SMALL = ["mcmc.num_optima=2", "mcmc.num_features=64", "benchmark.total=50"]


def test_the_lists_above_are_complete():
    learning = {"bald", "balm", "bqbc", "qbmgp", "random", "sobol"}
    assert set(OPTIMIZERS) == {a for a in available("acquisition") if not a.startswith("sal")} - learning
    assert set(TASKS) <= set(available("benchmark"))


@functools.cache
def composed(task: str, acquisition: str) -> dict[str, Any]:
    """Composing takes longer than a tiny iteration: done once for each task and once for each acquisition."""
    return tiny_config(Path("not-written"), task, acquisition, *SMALL)


def pair_config(task: str, acquisition: str) -> dict[str, Any]:
    """What composing the pair gives: an acquisition brings its node, and its model where it selects one."""
    config, other = composed(task, "random"), composed("branin", acquisition)
    node = dict(other["acquisition"])
    if "num_samples" in node:
        node["num_samples"] = 16
    selected = {} if other["model"] == composed("branin", "random")["model"] else {"model": other["model"]}
    return config | {"acquisition": node} | selected


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("acquisition", available("acquisition"))
def test_every_acquisition_runs_on_every_task(task, acquisition, monkeypatch):
    # What a record measures is as small as what it tries: one block of test points, a short search for the best mean.
    monkeypatch.setattr(metrics, "NUM_POINTS", metrics.BLOCK)
    monkeypatch.setattr(regret, "maximize", functools.partial(maximize, raw_samples=32, num_restarts=2, maxiter=10))
    run, records = Run(pair_config(task, acquisition)), []
    initial = run.benchmark.initial
    for iteration in range(1, initial + 3):
        records.append(run.record(iteration, records))
    for record in records[initial:]:
        assert record["kind"] == "query"
        assert all(low <= x <= high for x, low, high in zip(record["x"], *run.benchmark.bounds.tolist(), strict=True))
        assert record["inference_regret"] >= 0
        assert record["optimum_violation"] == 0.0
        assert record["acquisition_value"] is None or math.isfinite(record["acquisition_value"])


STRUCTURED = {"saas": (), "additive": ("model.partitions.max_groups=2",), "warped": ()}


@functools.cache
def observed(model: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The configuration of a run under a model, and its initial records."""
    config = tiny_config(Path("not-written"), "branin", "random", *SMALL, f"model={model}", *STRUCTURED[model])
    run, records = Run(config), []
    for iteration in range(1, run.benchmark.initial + 1):
        records.append(run.record(iteration, records))
    return config, records


@pytest.mark.parametrize("model", STRUCTURED)
@pytest.mark.parametrize("acquisition", available("acquisition"))
def test_every_acquisition_runs_on_every_structured_surrogate(model, acquisition, monkeypatch):
    monkeypatch.setattr(metrics, "NUM_POINTS", metrics.BLOCK)
    monkeypatch.setattr(regret, "maximize", functools.partial(maximize, raw_samples=32, num_restarts=2, maxiter=10))
    config, records = observed(model)
    run = Run(config | {"acquisition": pair_config("branin", acquisition)["acquisition"]})
    record = run.record(len(records) + 1, records)
    assert record["mcmc"]["sampler"] == ("partitions" if model == "additive" else "nuts")
    assert all(low <= x <= high for x, low, high in zip(record["x"], *run.benchmark.bounds.tolist(), strict=True))
    assert record["optimum_violation"] == 0.0
    assert record["acquisition_value"] is None or math.isfinite(record["acquisition_value"])


def test_a_pair_is_configured_as_it_is_composed():
    for task, acquisition in (("hartmann6", "nei_map"), ("gp8", "jes")):
        expected = tiny_config(Path("not-written"), task, acquisition, *SMALL)
        found = pair_config(task, acquisition)
        assert {**found, "acquisition": None} == {**expected, "acquisition": None}
        assert found["acquisition"] == expected["acquisition"] | {
            name: 16 for name in expected["acquisition"] if name == "num_samples"
        }


def test_records_of_an_optimization_run(tmp_path):
    config = tiny_config(tmp_path, "branin", "scorebo_hr", *SMALL, "benchmark.total=6")
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
