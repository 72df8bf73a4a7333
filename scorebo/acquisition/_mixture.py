"""Log densities of normals and of mixtures of them, and their affinity, compiled, with their gradients.

Each function works through b points one after the other; the loops over samples or components inside are vectorized.
Normals are given by their means and precisions (1/variance), `b x C` or `b x M`. A *gradient* takes what the output is
weighted with and returns the derivatives of the weighted sum.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._vectorized import HALF_LOG_2PI, exp
from scorebo._numba.cache import njit

# Exponents are kept within the range of `exp`; e⁻⁷⁰⁰ is as good as 0.
LARGEST = 700.0
# Samples worked on at once, so that their exponents under all components stay in the cache.
BLOCK = 128


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def log_prob(mean, precision, y):  # type: ignore[no-untyped-def]
    """Log density of the equally weighted mixture of M normals at its points y `b x L`. `b x L`."""
    rows, size = mean.shape
    count = y.shape[1]
    result = np.empty((rows, count))
    exponent, top, total = np.empty((size, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for row in range(rows):
        for first in range(0, count, BLOCK):
            block = y[row, first : first + BLOCK]
            top[:] = -np.inf
            total[:] = 0.0
            for k in range(size):
                center, scale, offset = mean[row, k], 0.5 * precision[row, k], 0.5 * np.log(precision[row, k])
                for i in range(block.shape[0]):
                    distance = block[i] - center
                    exponent[k, i] = offset - scale * distance * distance
                    top[i] = exponent[k, i] if exponent[k, i] > top[i] else top[i]
            for k in range(size):
                for i in range(block.shape[0]):
                    total[i] += exp(max(exponent[k, i] - top[i], -LARGEST))
            for i in range(block.shape[0]):
                result[row, first + i] = top[i] + (np.log(total[i] / size) - HALF_LOG_2PI)
    return result


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def log_prob_gradient(mean, precision, y, log_density, weight):  # type: ignore[no-untyped-def]
    """Derivatives of Σ weight·log_prob by means and variances, `b x M`, and by y, `b x L`."""
    rows, size = mean.shape
    by_mean, by_variance, by_y = np.empty((rows, size)), np.empty((rows, size)), np.zeros(y.shape)
    share = np.empty(y.shape[1])
    for row in range(rows):
        for k in range(size):
            responsibilities(mean[row, k], precision[row, k], size, y[row], log_density[row], weight[row], share)
            by_mean[row, k], by_variance[row, k] = pull(share, y[row], mean[row, k], precision[row, k], by_y[row])
    return by_mean, by_variance, by_y


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def affinity_deficits(mean, precision, y, log_density):  # type: ignore[no-untyped-def]
    """mean_ℓ (1 − √(q_c(y_ℓ)/p(y_ℓ))) for C normals q_c and the log density of p at y `b x L`. `b x C`."""
    rows, size = mean.shape
    count = y.shape[1]
    result = np.empty((rows, size))
    ratio = np.empty(count)
    for row in range(rows):
        for c in range(size):
            _root_ratios(mean[row, c], precision[row, c], y[row], log_density[row], ratio)
            result[row, c] = _sum_of_deficits(ratio) / count
    return result


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def affinity_deficits_gradient(mean, precision, y, log_density, weight):  # type: ignore[no-untyped-def]
    """Derivatives of Σ weight·affinity_deficits by means and variances, `b x C`, by y and by the density, `b x L`."""
    rows, size = mean.shape
    count = y.shape[1]
    by_mean, by_variance = np.empty((rows, size)), np.empty((rows, size))
    by_y, by_density = np.zeros(y.shape), np.zeros(y.shape)
    ratio = np.empty(count)
    for row in range(rows):
        for c in range(size):
            _root_ratios(mean[row, c], precision[row, c], y[row], log_density[row], ratio)
            factor = -0.5 * weight[row, c] / count
            for i in range(count):
                ratio[i] *= factor
                by_density[row, i] -= ratio[i]
            by_mean[row, c], by_variance[row, c] = pull(ratio, y[row], mean[row, c], precision[row, c], by_y[row])
    return by_mean, by_variance, by_y, by_density


@numba.njit(inline="always")
def responsibilities(center, precision, size, y, log_density, weight, share):  # type: ignore[no-untyped-def]
    """A component's share of the mixture's density at y, times `weight`, into `share`."""
    scale, offset = 0.5 * precision, 0.5 * np.log(precision) - HALF_LOG_2PI - np.log(size)
    for i in range(y.shape[0]):
        distance = y[i] - center
        share[i] = weight[i] * exp(min(max((offset - scale * distance * distance) - log_density[i], -LARGEST), 0.0))


@numba.njit(inline="always")
def _root_ratios(center, precision, y, log_density, ratio):  # type: ignore[no-untyped-def]
    """√(q(y)/p(y)) of one normal q into `ratio`."""
    scale, offset = 0.25 * precision, 0.25 * np.log(precision) - 0.5 * HALF_LOG_2PI
    for i in range(y.shape[0]):
        distance = y[i] - center
        exponent = (offset - scale * distance * distance) - 0.5 * log_density[i]
        ratio[i] = exp(min(max(exponent, -LARGEST), LARGEST))


# Sums are reassociated to be vectorized, which the loops with `exp` must not be.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def pull(share, y, center, precision, by_y):  # type: ignore[no-untyped-def]
    """Derivatives of Σ share·log q(y) by the mean and variance of the normal q; those by y are added to `by_y`."""
    first, second = 0.0, 0.0
    for i in range(y.shape[0]):
        deviation = precision * (y[i] - center)
        pulled = share[i] * deviation
        by_y[i] -= pulled
        first += pulled
        second += pulled * deviation - share[i] * precision
    return first, 0.5 * second


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _sum_of_deficits(ratio):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(ratio.shape[0]):
        total += 1.0 - ratio[i]
    return total
