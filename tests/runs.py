"""Small runs for tests: real tasks, samplers and acquisitions with tiny numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorebo.config import as_dict, compose

TINY = [
    "mcmc.warmup=10",
    "mcmc.thinning=1",
    "mcmc.num_mcmc_samples=3",
    "acquisition_optimizer.raw_samples=32",
    "acquisition_optimizer.num_restarts=2",
    "acquisition_optimizer.maxiter=10",
]


# The sequential sampler with both of its ways to a fit in a few iterations.
EVERY_THIRD_FIT_COLD = (
    "mcmc=sequential",
    "mcmc.refresh_every=3",
    "mcmc.refresh_fraction=null",
    "mcmc.num_mcmc_samples=8",
)


def tiny_overrides(results: Path, benchmark: str = "gramacy1", acquisition: str = "sal_hr", *more: str) -> list[str]:
    """Overrides of a run of 6 observations that takes about a second; of a setting given twice the last."""
    overrides = [
        f"benchmark={benchmark}",
        f"acquisition={acquisition}",
        "benchmark.total=6",
        f"results={results}",
        *TINY,
        *more,
    ]
    return list({override.partition("=")[0]: override for override in overrides}.values())


def tiny_config(results: Path, benchmark: str = "gramacy1", acquisition: str = "sal_hr", *more: str) -> dict[str, Any]:
    """The resolved configuration of such a run."""
    return as_dict(compose(tiny_overrides(results, benchmark, acquisition, *more)))


def without_timings(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what may differ between two executions, seconds, and without the store's envelope."""
    kept = {
        key: value for key, value in record.items() if key not in ("wall_seconds", "cpu_seconds", "checksum", "run")
    }
    if kept.get("mcmc"):
        kept["mcmc"] = {key: value for key, value in kept["mcmc"].items() if key != "wall_seconds"}
    return kept
