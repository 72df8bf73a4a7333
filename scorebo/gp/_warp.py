"""Kumaraswamy's warping of inputs, w(x) = 1 − (1 − x^c₁)^c₀, with its derivatives by c₀ and c₁, compiled."""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit


@njit(error_model="numpy")
def warp_points(log_X, log_concentrations, by_first, by_second):  # type: ignore[no-untyped-def]
    """Warp every coordinate of every point.

    Args:
        log_X: `n x D`, logarithms of inputs strictly between 0 and 1.
        log_concentrations: `2D`, log c₀ of each dimension, then log c₁.
        by_first: `n x D`, overwritten with the derivatives by log c₀.
        by_second: `n x D`, overwritten with the derivatives by log c₁.

    Returns:
        `n x D`.
    """
    n, dim = log_X.shape
    warped = np.empty((n, dim))
    for d in range(dim):
        first, second = np.exp(log_concentrations[d]), np.exp(log_concentrations[dim + d])
        for i in range(n):
            # Short of 1, which tiny exponents round to: its logarithm below would be infinite.
            power = min(np.exp(second * log_X[i, d]), 1.0 - 1e-16)
            rest = np.log1p(-power)
            warped[i, d] = -np.expm1(first * rest)
            by_first[i, d] = -first * rest * (1.0 - warped[i, d])
            by_second[i, d] = first * second * log_X[i, d] * power * np.exp((first - 1.0) * rest)
    return warped


@njit(error_model="numpy")
def pull_concentrations(pulls, by_first, by_second, gradient):  # type: ignore[no-untyped-def]
    """Derivatives by the log concentrations `2D` from those by the warped points, `pulls` `n x D`."""
    n, dim = pulls.shape
    gradient[:] = 0.0
    for i in range(n):
        for d in range(dim):
            gradient[d] += pulls[i, d] * by_first[i, d]
            gradient[dim + d] += pulls[i, d] * by_second[i, d]
