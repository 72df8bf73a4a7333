"""What a sampler says of itself, kept with every fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri


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


def summarize(chain: Chain) -> dict[str, Any]:
    """Those fields of `Diagnostics` that a chain gives."""
    depth, energy = chain.tree_depth, chain.energy
    return {
        "draws": len(chain.theta),
        "divergences": chain.divergences,
        "acceptance": chain.acceptance,
        "step_size": chain.step_size,
        "tree_depth_mean": None if depth is None else float(np.mean(depth)),
        "tree_depth_max": None if depth is None else int(np.max(depth)),
        "ess_bulk": bulk_ess(chain.theta),
        "rhat": split_rhat(chain.theta),
        "energy_bfmi": None if energy is None else bayesian_fraction_of_missing_information(energy),
    }


def bulk_ess(theta: np.ndarray) -> float | None:
    """Smallest bulk effective sample size over the parameters of one chain `draws x dim`.

    Of the rank-normalized halves of the chain (Vehtari et al., Bayesian Analysis 2021), with Geyer's initial monotone
    sequence.
    """
    half = theta.shape[0] // 2
    if half < 2 or theta.shape[1] == 0:
        return None
    normal = _normal_scores(np.concatenate([theta[:half], theta[-half:]])).reshape(2, half, -1)
    return _finite(2 * half / np.max(_autocorrelation_time(normal)))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks in each column of `draws x dim`; ties, left by rejected proposals, share theirs."""
    scores = np.empty_like(values)
    for j, column in enumerate(values.T):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        rank = np.cumsum(count) - 0.5 * (count - 1)
        scores[:, j] = ndtri((rank[place] - 0.375) / (len(values) + 0.25))
    return scores


def _autocorrelation_time(chains: np.ndarray) -> np.ndarray:
    """Draws per independent draw of each parameter; chains are `chains x draws x dim`."""
    count, draws, _ = chains.shape
    centered = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centered, 2 * draws, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :draws].mean(axis=0) / draws
    within = covariance[0] * draws / (draws - 1)
    pooled = covariance[0] + chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore"):  # a parameter that never moved has no correlation: NaN, told as null
        rho = 1.0 - (within - covariance) / pooled
    rho[0] = 1.0
    # Sums of neighbors are positive and fall for a reversible chain: what comes after the first that is not is noise.
    pairs = max(1, (draws - 1) // 2)
    sums = rho[: 2 * pairs].reshape(pairs, 2, -1).sum(axis=1)
    last = np.where((sums <= 0.0).any(axis=0), np.argmax(sums <= 0.0, axis=0), pairs - 1)
    falling = np.minimum.accumulate(sums, axis=0) * (np.arange(pairs)[:, None] < last)
    remainder = np.maximum(np.take_along_axis(rho, 2 * last[None], axis=0)[0], 0.0)
    # An antithetic chain is worth more than its draws, but not without limit.
    return np.maximum(2.0 * falling.sum(axis=0) - 1.0 + remainder, 1.0 / np.log10(count * draws))


def split_rhat(theta: np.ndarray) -> float | None:
    """Largest split R-hat over the parameters of one chain `draws x dim`: its halves taken as two chains."""
    half = theta.shape[0] // 2
    if half < 4 or theta.shape[1] == 0:
        return None
    halves = np.stack([theta[:half], theta[-half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # halves that never moved: not finite, told as null
        ratio = between / within
    return _finite(np.sqrt(np.max(ratio) + (half - 1) / half))


def bayesian_fraction_of_missing_information(energy: np.ndarray) -> float | None:
    """Mean squared change of the energy over its variance; below about 0.3 the tails are explored poorly."""
    variance = float(np.var(energy))
    if len(energy) < 4 or variance == 0.0:
        return None
    return _finite(np.mean(np.diff(energy) ** 2) / variance)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
