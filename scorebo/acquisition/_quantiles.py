"""Quantiles of mixtures of normals, compiled, with their gradients.

Normals are given by their means and precisions (1/variance), `b x M`.
"""

from __future__ import annotations

import math

import numpy as np

from scorebo._numba._vectorized import INVERSE_ROOT_2PI, ROOT_HALF, erfcx, exp
from scorebo._numba.cache import njit
from scorebo.acquisition._mixture import LARGEST, pull, responsibilities

MAX_STEPS = 200
# Halley's steps converge cubically: after a step from an error this small, on the scale of Φ⁻¹(u), rounding is left.
CLOSE = 1e-6


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def quantiles(mean, precision, score):  # type: ignore[no-untyped-def]
    """Quantiles of the mixture of M normals at the levels Φ(score), `score` `L` ascending. `b x L`.

    From the median outwards, each from the Taylor series of y(score) at the one before. A quantile lies between the
    least and the greatest of the components', where min(F, 1 − F) ≥ min(u, 1 − u)/M: no underflow.
    """
    rows, size = mean.shape
    result = np.empty((rows, score.shape[0]))
    median = np.searchsorted(score, 0.0)
    tail, density, bend = np.empty(size), np.empty(size), np.empty(size)
    for row in range(rows):
        inverse_std = np.sqrt(precision[row])
        center = np.mean(mean[row])
        spread = np.sqrt(np.mean(1.0 / precision[row] + (mean[row] - center) ** 2))
        for direction in (-1, 1):
            i = median if direction == 1 else median - 1
            y, slope, curvature, last = center, spread, 0.0, 0.0
            while 0 <= i < score.shape[0]:
                step = score[i] - last
                y += step * (slope + 0.5 * step * curvature)
                low, high = np.inf, -np.inf
                for k in range(size):
                    own = mean[row, k] + score[i] / inverse_std[k]
                    low, high = min(low, own), max(high, own)
                y, slope, curvature = _solve(mean[row], inverse_std, score[i], y, low, high, tail, density, bend)
                result[row, i] = y
                last = score[i]
                i += direction
    return result


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def quantiles_gradient(mean, precision, y, log_density, weight):  # type: ignore[no-untyped-def]
    """Derivatives of Σ weight·quantiles by means and variances, `b x M`; y `b x L` the quantiles themselves.

    Moving or widening a component moves the quantile by its share of the density there: dy = Σ_j w_j·(dμ_j + z_j dσ_j).
    """
    rows, size = mean.shape
    by_mean, by_variance = np.empty((rows, size)), np.empty((rows, size))
    share = np.empty(y.shape[1])
    by_y = np.zeros(y.shape[1])
    for row in range(rows):
        for k in range(size):
            responsibilities(mean[row, k], precision[row, k], size, y[row], log_density[row], weight[row], share)
            moved, _ = pull(share, y[row], mean[row, k], precision[row, k], by_y)
            by_mean[row, k], by_variance[row, k] = np.sum(share), 0.5 * moved
    return by_mean, by_variance


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _solve(mean, inverse_std, score, y, low, high, tail, density, bend):  # type: ignore[no-untyped-def]
    """The quantile at one level by Halley's method within a bracket, and its first two derivatives by the score."""
    # The smaller tail is computed, so that levels near 1 are as accurate as those near 0.
    sign = -1.0 if score > 0.0 else 1.0
    height = math.exp(-0.5 * score * score)
    wanted = 0.5 * math.erfc(-sign * score * ROOT_HALF)
    height *= INVERSE_ROOT_2PI
    if not low < y < high:
        y = 0.5 * (low + high) if low < high else low
    p, slope = 0.0, 0.0
    for _ in range(MAX_STEPS):
        for k in range(mean.shape[0]):
            z = (y - mean[k]) * inverse_std[k]
            decay = exp(-min(0.5 * z * z, LARGEST))
            beyond = 0.5 * decay * erfcx(ROOT_HALF * abs(z))
            tail[k] = beyond if sign * z < 0.0 else 1.0 - beyond
            density[k] = decay * inverse_std[k]
            bend[k] = -z * decay * inverse_std[k] * inverse_std[k]
        reached, p, slope = _sums(tail, density, bend)
        p, slope = p * INVERSE_ROOT_2PI, slope * INVERSE_ROOT_2PI
        excess = sign * (reached - wanted)
        if excess > 0.0:
            high = y
        else:
            low = y
        newton = excess / p
        halley = newton / (1.0 - 0.5 * newton * slope / p)
        done = abs(excess) <= CLOSE * height or high - low <= 4.5e-16 * max(abs(low), abs(high))
        if low < y - halley < high:
            y -= halley
        elif not done:
            y = 0.5 * (low + high)
        if done:
            break
    first = height / p
    return y, first, -(score * height + slope * first * first) / p


# Reassociated to be vectorized, which the loop with `exp` must not be.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _sums(tail, density, bend):  # type: ignore[no-untyped-def]
    first, second, third = 0.0, 0.0, 0.0
    for k in range(tail.shape[0]):
        first += tail[k]
        second += density[k]
        third += bend[k]
    return first / tail.shape[0], second / tail.shape[0], third / tail.shape[0]
