"""What a sampler says of itself, kept with every fit."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Chain:
    """One chain as a sampler returns it.

    Args:
        theta: `draws x dim`, unconstrained, warm-up excluded.
        divergences: number of divergent transitions after warm-up.
        acceptance: mean acceptance statistic after warm-up.
        step_size: the adapted step size.
        tree_depth: depth of the trajectory of each draw, where the sampler tells it.
        energy: energy of each draw, where the sampler tells it.
    """

    theta: np.ndarray
    divergences: int = 0
    acceptance: float | None = None
    step_size: float | None = None
    tree_depth: np.ndarray | None = None
    energy: np.ndarray | None = None

    @property
    def failure(self) -> str | None:
        """Why the chain cannot be used, if it cannot."""
        if not np.isfinite(self.theta).all():
            return "draws that are not finite"
        stuck = len(self.theta) > 1 and bool((self.theta == self.theta[0]).all())
        if stuck or (self.acceptance is not None and self.acceptance < 1e-3):
            return "no proposal was accepted"
        return None


@dataclass(frozen=True)
class Diagnostics:
    """Health of one fit.

    `ess_bulk` is the smallest, `rhat` the largest over the parameters, computed from all draws before thinning; null
    where there are too few draws or nothing was sampled. `fallback` names what replaced a sampler that kept failing.
    Of the sequential sampler: `effective_sets` of those carried over, by their weights; `refreshed`, why a cold chain
    was drawn instead (first, scheduled, acceptance, diversity, other data); `refreshes`, how many there were so far.
    """

    sampler: str
    draws: int
    seconds: float
    gradient_evaluations: int
    divergences: int = 0
    acceptance: float | None = None
    step_size: float | None = None
    tree_depth_mean: float | None = None
    tree_depth_max: int | None = None
    ess_bulk: float | None = None
    rhat: float | None = None
    energy_bfmi: float | None = None
    retries: int = 0
    fallback: str | None = None
    effective_sets: float | None = None
    refreshed: str | None = None
    refreshes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a record."""
        return asdict(self)


def summarise(chain: Chain, **fields: Any) -> Diagnostics:
    """Diagnostics of a chain; `fields` are those the chain does not know (sampler, seconds, …)."""
    depth, energy = chain.tree_depth, chain.energy
    return Diagnostics(
        draws=len(chain.theta),
        divergences=chain.divergences,
        acceptance=chain.acceptance,
        step_size=chain.step_size,
        tree_depth_mean=None if depth is None else float(np.mean(depth)),
        tree_depth_max=None if depth is None else int(np.max(depth)),
        ess_bulk=bulk_ess(chain.theta),
        rhat=split_rhat(chain.theta),
        energy_bfmi=None if energy is None else bayesian_fraction_of_missing_information(energy),
        **fields,
    )


def _array_stats() -> Any:
    with warnings.catch_warnings():
        # The package it belongs to announces its own reorganisation on import.
        warnings.filterwarnings("ignore", message=r"[\s\S]*ArviZ is undergoing", category=FutureWarning)
        from arviz_stats.base import array_stats

    return array_stats


def bulk_ess(theta: np.ndarray) -> float | None:
    """Smallest bulk effective sample size over the parameters of one chain `draws x dim`."""
    if theta.shape[0] < 4 or theta.shape[1] == 0:
        return None
    return _finite(np.min(_array_stats().ess(theta[None], chain_axis=0, draw_axis=1, method="bulk")))


def split_rhat(theta: np.ndarray) -> float | None:
    """Largest split R-hat over the parameters of one chain `draws x dim`: its halves taken as two chains."""
    half = theta.shape[0] // 2
    if half < 4 or theta.shape[1] == 0:
        return None
    halves = np.stack([theta[:half], theta[-half:]])
    return _finite(np.max(_array_stats().rhat(halves, chain_axis=0, draw_axis=1, method="identity")))


def bayesian_fraction_of_missing_information(energy: np.ndarray) -> float | None:
    """Mean squared change of the energy over its variance; below about 0.3 the tails are explored poorly."""
    variance = float(np.var(energy))
    if len(energy) < 4 or variance == 0.0:
        return None
    return _finite(np.mean(np.diff(energy) ** 2) / variance)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
