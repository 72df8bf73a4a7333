"""Invented results in the stored format, for measuring and looking at what is drawn from them: no run is computed.

Every run of the given experiments at a scale gets records whose curves fall, differ by method and wiggle by seed, with
hyperparameters that settle. At the paper's scale all experiments together are 5,500 runs of 697,000 iterations (5 GB):

    python scripts/validation/synthetic_results.py /tmp/paper_size
    python scripts/validation/synthetic_results.py /tmp/few al_mll bo_regret --scale smoke

Nothing drawn from them says anything about the methods. The folder says so itself, in a README.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scorebo.config import available, load_benchmark
from scorebo.config.compose_many import Composer
from scorebo.errors import InputError
from scorebo.report.selection import experiment_runs
from scorebo.seeds import generator
from scorebo.store import RunStore
from scorebo.store.checksummed import seal
from scorebo.store.identity import config_text
from scorebo.store.markers import FORMAT
from scorebo.store.schema import Record, nothing

MCMC = {
    **{"acceptance": 0.8, "step_size": 0.3, "tree_depth_mean": 3.1, "energy_bfmi": 1.0, "sampler": "nuts"},
    **{"draws": 256, "gradient_evaluations": 5000, "retries": 0, "tree_depth_max": 4, "fallback": None},
    **{"carried_ess": None, "refresh_reason": None, "num_refreshes": None},
}
# Of tasks that cannot be made without their data, which no invented run needs.
DIMS = {"cosmology": 11, "lasso_dna": 180, "svm_ct": 388, "svm_ct757": 388}
DIMS |= {"lcbench_126026": 7, "lcbench_167168": 7, "lcbench_168868": 7, "lcbench_189873": 7}
DIMS |= {"pd1_wmt": 4, "pd1_lm1b": 4, "pd1_cifar100": 4}
PHASES = {"fit": 1.2, "metrics": 0.3, "acquisition": 0.8, "evaluate": 1e-4}


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, metavar="DIR", help="where the invented runs are put")
    parser.add_argument("--scale", default="paper", help="smoke, small or paper")
    parser.add_argument("--seeds", type=int, help="no seed above this one")
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="these alone")
    options = parser.parse_args()
    configs = wanted(options.experiments, options.scale)
    configs = [config for config in configs if options.seeds is None or config["seed"] <= options.seeds]
    records = make_results(options.results, configs)
    print(f"{len(configs)} runs, {records} records: {options.results}")


def wanted(experiments: Iterable[str], scale: str) -> list[dict[str, Any]]:
    """The configurations of all runs of the experiments (none named: all of them)."""
    composer, tasks = Composer(), available("benchmark")
    found: dict[str, dict[str, Any]] = {}
    for name in list(experiments) or available("experiment"):
        try:
            found |= experiment_runs(name, scale, composer, tasks)
        except InputError as error:
            print(f"{name}: {error}")
    return list(found.values())


def make_results(results: Path, configs: Iterable[Mapping[str, Any]]) -> int:
    """Folders of invented runs; those that are there already are left as they are. Returns the number of records."""
    results.mkdir(parents=True, exist_ok=True)
    (results / "README.md").write_text(
        "Invented records (scripts/validation/synthetic_results.py): no run was computed.\n"
    )
    dims = dict(DIMS)
    total = 0
    for config in configs:
        store = RunStore(results, config)
        total += config["benchmark"]["total"] + 1
        if (store.folder / "finished.json").exists():
            continue
        task = config["benchmark"]["name"]
        dims[task] = dims.get(task) or load_benchmark(task).dim
        store.folder.mkdir(parents=True, exist_ok=True)
        (store.folder / "config.yaml").write_text(config_text(store.nodes))
        write_records(store.folder, store.run_id, invent(store.run_id, config, dims[task]))
    return total


def write_records(folder: Path, run: str, records: Iterable[Mapping[str, Any]]) -> None:
    """The records of a run and its marker, without the care a real run takes of power failures."""
    lines = [seal(record) for record in records]
    data = b"".join(lines)
    (folder / "records.jsonl").write_bytes(data)
    marker = {"format": FORMAT, "run_id": run, "records": len(lines), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "finished.json").write_bytes(seal(marker))
    # What shows results says from this that they are invented.
    (folder / "environment.json").write_text(json.dumps({"sessions": [{"synthetic": True}]}))


def invent(run: str, config: Mapping[str, Any], dim: int) -> list[dict[str, Any]]:
    """The records of one run with all that the loop writes, the closing one too."""
    task, model, method = (config[node]["name"] for node in ("benchmark", "model", "acquisition"))
    initial, total = config["benchmark"]["initial"], config["benchmark"]["total"]
    count = total + 1 - initial  # models
    sets = 1 if model in ("map", "true") else config["mcmc"]["num_mcmc_samples"]
    own = generator("synthetic", task, model, method, config["seed"])
    numbers = _metrics(own, task, model, method, count) | _sampler(own, count)
    draws = _hyperparameters(own, task, method, count, sets, dim)
    design = generator("synthetic", task, config["seed"], "design").random((initial, dim))  # the same for every method
    points = [*design.tolist(), *own.random((total + 1 - initial, dim)).tolist()]
    seconds = own.gamma(4.0, 0.25, (total + 1, len(PHASES))) * list(PHASES.values())
    records = []
    for k in range(1, total + 2):
        kind = "initial" if k <= initial else "query" if k <= total else "final"
        values = {name: column[k - 1 - initial] for name, column in numbers.items()} if k > initial else {}
        record = _record(run, k, kind, points[k - 1], values, None if k <= initial else draws[k - 1 - initial])
        times = zip(PHASES, seconds[k - 1].tolist(), strict=True)
        parts = {"initial": ("evaluate",), "final": ("fit", "metrics")}.get(kind, tuple(PHASES))
        if k == 1:
            record["task"] = {"dim": dim, "maximize": False, "optimal_value": None}
        records.append(record | {"wall_seconds": {phase: value for phase, value in times if phase in parts}})
    return records


def _metrics(own: np.random.Generator, task: str, model: str, method: str, count: int) -> dict[str, list[Any]]:
    """Curves of every metric: a task's own start and fall, a method's own rate, and a run's own wiggle."""
    level = generator("synthetic", task).uniform(-0.5, 0.5)
    rate = 2.0 + generator("synthetic", method).uniform(-0.6, 0.6)
    rate += generator("synthetic", task, model, method).uniform(-0.5, 0.5)
    time = np.linspace(0.0, 1.0, count)
    wiggle = np.convolve(own.normal(0.0, 0.25, count + 9), np.full(10, 0.3), mode="valid") + own.normal(0.0, 0.2)
    falling = level - rate * time**0.7 + wiggle  # log10 of a regret
    best = np.minimum.accumulate(10.0**falling)
    likelihood = 1.5 * np.exp(-rate * time) - 0.5 + 0.1 * wiggle + 8.0 * np.exp(-40.0 * time)
    columns = {
        "negative_mll": likelihood,
        "nlpd": likelihood - 0.1,
        "rmse": 10.0 ** (0.3 * falling),
        "inference_regret": 10.0**falling,
        "in_sample_inference_regret": 1.2 * 10.0**falling,
        "simple_regret": best,
        "best_observed": (-3.3 if task.startswith("hartmann") else 0.0) + 4.0 * best / best[0],
        "inference_value": 10.0**falling,
        "optimum_violation": np.zeros(count),
        "acquisition_value": np.exp(-time) * own.uniform(0.9, 1.1, count),
    }
    if model == "additive":
        columns["decomposition_error"] = 3.0 * np.exp(-rate * time) * own.uniform(0.8, 1.0, count)
    return {name: column.tolist() for name, column in columns.items()}


def _sampler(own: np.random.Generator, count: int) -> dict[str, list[Any]]:
    """What the sampler says of itself; one run in fifty is not well."""
    ill = own.random() < 0.02
    divergences = own.poisson(15.0 if ill else 0.2, count)
    return {
        "divergences": divergences.tolist(),
        "rhat": (1.0 + own.gamma(2.0, 0.03 if ill else 0.005, count)).tolist(),
        "ess_bulk": own.gamma(9.0, 15.0, count).tolist(),
    }


def _hyperparameters(
    own: np.random.Generator, task: str, method: str, count: int, sets: int, dim: int
) -> list[dict[str, Any]]:
    """Sets that wander from the prior to the task's own values, the sooner the better the method. One dict a model."""
    target = generator("synthetic", task, "target").uniform(-1.0, 1.5, dim + 2)
    rate = generator("synthetic", task, method, "rate").uniform(1.0, 6.0)
    still = np.exp(-rate * np.linspace(0.0, 1.0, count))[:, None, None]
    center = target * (1.0 - still) + own.normal(0.0, 0.15, (1, 1, dim + 2))
    draws = 10.0 ** (center + (0.1 + 0.6 * still) * own.normal(size=(count, sets, dim + 2)))
    mean = own.normal(size=(count, sets))
    return [
        {
            "lengthscale": d[:, :dim].tolist(),
            "outputscale": d[:, dim].tolist(),
            "noise": (0.01 * d[:, dim + 1]).tolist(),
        }
        | {"mean": m.tolist()}
        for d, m in zip(draws, mean, strict=True)
    ]


def _record(
    run: str, iteration: int, kind: str, x: list[float], values: dict[str, Any], draws: Mapping[str, Any] | None
) -> dict[str, Any]:
    record: dict[str, Any] = {**nothing(Record), "iteration": iteration, "run": run[:12], "kind": kind}
    record |= {} if kind == "final" else {"x": x, "y": x[0], "f": x[0]}
    if draws is None:
        return record
    health = {name: values.pop(name) for name in ("divergences", "rhat", "ess_bulk")}
    return record | values | {
        "num_observations": iteration - 1,
        "has_metrics": True,
        "jittered_blocks": 0,
        "acquisition_fallbacks": 0,
        "recommended_x": record["x"],
        "mcmc": MCMC | health | {"wall_seconds": 1.0},
        "hyperparameters": draws,
        "noise_floor": 1e-6,
        "output_mean": 0.0,
        "output_std": 1.0,
        "output_sign": -1.0,
    }  # fmt: skip


if __name__ == "__main__":
    main()
