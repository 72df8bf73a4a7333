"""Configurations and records for the tests of the store, and for the processes they start and kill."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from scorebo.store import RunStore


def make_config(seed: int = 1, **changes: Any) -> dict[str, Any]:
    config: dict[str, Any] = {
        "benchmark": {
            "name": "gramacy1",
            "_target_": "benchmarks.Gramacy1",
            "noise_std": 0.1,
            "initial": 2,
            "total": 20,
        },
        "model": {"name": "al_lognormal", "kernel": "matern52", "lengthscale": {"loc": 0.0, "variance": 3.0}},
        "mcmc": {"name": "nuts", "warmup": 256, "thinning": 16, "num_mcmc_samples": 16},
        "acquisition": {"name": "sal_hr", "_target_": "scorebo.acquisition.SAL", "distance": "hellinger"},
        "acquisition_optimizer": {
            "raw_samples": 1024,
            "num_restarts": 20,
            "maxiter": 100,
            "sample_around_best_sigma": 0.1,
        },
        "seed": seed,
        "results": "results",
        "threads": 1,
        "experiment": None,
    }
    config.update(changes)
    return config


def make_record(iteration: int, seed: int = 1) -> dict[str, Any]:
    """A record that is a function of its arguments, with the awkward numbers that runs can produce."""
    draw = random.Random(1000 * seed + iteration).random
    initial = iteration <= 2
    return {
        "iteration": iteration,
        "kind": "initial" if initial else "query",
        "num_observations": None if initial else iteration - 1,
        "has_metrics": None if initial else True,
        "x": [draw() * 1e-300, draw(), -0.0],
        "y": draw() * 1e17,
        "f": 5e-324,
        "negative_mll": None if initial else (float("nan") if iteration % 5 == 0 else draw()),
        "nlpd": None if initial else (float("inf") if iteration % 7 == 0 else draw()),
        "rmse": None if initial else draw(),
        "acquisition_value": None if initial else draw(),
        "wall_seconds": {"fit": draw(), "metrics": draw(), "acquisition": draw(), "evaluate": draw()},
        "mcmc": None if initial else {"divergences": 0, "rhat": 1 + draw(), "sampler": "nuts", "depths": [1, 2]},
        "hyperparameters": None if initial else {"lengthscale": [[draw() for _ in range(3)] for _ in range(4)]},
        "output_mean": None if initial else draw(),
        "output_std": None if initial else draw(),
        "output_sign": None if initial else -1.0,
    }


def same(left: Any, right: Any) -> bool:
    """Equality to the bit: NaN is itself, -0.0 is not 0.0, 1 is not 1.0; the order of keys does not matter."""
    return repr(_sorted(left)) == repr(_sorted(right))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def make_run(
    results: Path, config: dict[str, Any], count: int, *, finished: bool = False, states: bool = False
) -> Path:
    """A stored run of `count` records; with `states`, each from the third on carries the state `make_state`."""
    with RunStore(results, config) as store:
        store.resume()
        for k in range(1, count + 1):
            store.append(make_record(k, config["seed"]), make_state(k) if states else None)
        if finished:
            store.finish()
    return store.folder


def make_state(iteration: int) -> dict[str, Any] | None:
    return {"step": 1 / iteration, "worst": float("nan")} if iteration > 2 else None


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """A Python process with this module and the package importable."""
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen[str], timeout: float = 60) -> str:
    """The standard output of a process that must succeed."""
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    return out
