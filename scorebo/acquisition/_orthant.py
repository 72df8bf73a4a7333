"""Expectation propagation one site after the other, compiled; what is approximated: `orthant`.

Where points are close to each other their constraints say nearly the same. Updated together, each site would take on
all of it, and they would overshoot the more the more there are; one after the other, each takes on what is left.
"""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit
from scorebo.acquisition._truncation import terms


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def fit_in_turn(mean, covariance, tolerance, max_sweeps, precision, shift, converged):  # type: ignore[no-untyped-def]
    """Sites of each problem into the last three; `mean` and `covariance` become the moments under the sites."""
    for b in range(len(mean)):
        for _ in range(max_sweeps):
            moved = _sweep(mean[b], covariance[b], precision[b], shift[b])
            if not moved > tolerance:
                converged[b] = np.isfinite(moved)
                break


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _sweep(mean, covariance, precision, shift):  # type: ignore[no-untyped-def]
    """Update every site once, and the moments with it; how far any coordinate moved as its site was updated.

    Returns:
        The largest change of a mean, in standard deviations, or relative one of a variance; NaN if a variance is not
        positive.
    """
    threshold, ratio, excess, factor, slope = np.empty((5, 1))
    moved = 0.0
    for i in range(len(mean)):
        variance = covariance[i, i]
        cavity_variance = 1.0 / (1.0 / variance - precision[i])
        cavity_std = np.sqrt(cavity_variance)
        threshold[0] = cavity_variance * (mean[i] / variance - shift[i]) / cavity_std
        terms(threshold, ratio, excess, factor, slope)
        scaled = ratio[0] / factor[0]
        gained = scaled * excess[0] / cavity_variance - precision[i]
        pushed = scaled * (factor[0] + excess[0] * excess[0]) / cavity_std - shift[i]
        precision[i] += gained
        shift[i] += pushed
        shrink = gained / (1.0 + gained * variance)
        push = (pushed - gained * mean[i]) / (1.0 + gained * variance)
        change = max(abs(push) * np.sqrt(variance), abs(shrink) * variance)
        if not (variance > 0.0 and np.isfinite(change)):
            return np.nan
        moved = max(moved, change)
        with_site = covariance[i].copy()
        for j in range(len(mean)):
            mean[j] += push * with_site[j]
            share = shrink * with_site[j]
            for k in range(len(mean)):
                covariance[j, k] -= share * with_site[k]
    return moved
