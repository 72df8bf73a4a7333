"""Small invented results, and reports on them, for the tests of the page."""

from __future__ import annotations

from pathlib import Path

from scorebo.config.sweep import sweep_configs
from scripts.validation.synthetic_results import make_results

SWEEPS = (
    ("experiment=al_mll", "benchmark=gramacy1,higdon", "acquisition=bald,sal_hr,sal_ws"),
    ("experiment=bo_regret", "benchmark=branin", "acquisition=nei,nei_map,scorebo_hr"),
    ("experiment=priors", "benchmark=gp8"),
    ("experiment=ishigami_hyperparameters", "acquisition=bald,sal_hr"),
)


def invented(results: Path) -> Path:
    """A few runs of several experiments at scale smoke."""
    for sweep in SWEEPS:
        make_results(results, sweep_configs([*sweep, "scale=smoke"]))
    return results
