"""Squared Wasserstein-2 distances between conditionals and the mixture, compiled.

With u = P(t), W2² = ∫ p(t)·(t − Q⁻¹(P(t)))² dt: the mixture may have gaps, in which p(t) is 0 and its own quantile
function jumps, whereas a conditional is log-concave and its quantile a smooth function of the score z = Φ⁻¹(u). Nodes t
and scores are shared by all conditionals of a point (see `_grid`). For a normal Q⁻¹ = m + σz; for a skew normal it is
interpolated between knots whose levels are integrals of the density.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from scorebo._numba._vectorized import HALF_LOG_2PI, INVERSE_ROOT_2PI, ROOT_HALF, erfcx, exp, log
from scorebo._numba.cache import njit
from scorebo.acquisition._grid import ORDER, WEIGHTS
from scorebo.acquisition._integrals import LARGEST, LEAST_NOISE, frame, log_cdf, log_densities

# Scores of the knots, if both terms of the sum were at the same level; nodes of the mixture beyond are left out.
LIMIT, SPACING = 7.0, 7.0 / 16.0
KNOTS = np.linspace(-LIMIT, LIMIT, round(2.0 * LIMIT / SPACING) + 1)
# −log Φ(−z) there: at these levels of a standard exponential.
EXPONENTIAL = np.array([-math.log(0.5 * math.erfc(ROOT_HALF * z)) for z in KNOTS])
# Gauss–Legendre nodes between two knots.
INNER, INNER_WEIGHTS = np.polynomial.legendre.leggauss(5)
LOG_HALF = -0.6931471805599453


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def scores(mean, precision, first, y):  # type: ignore[no-untyped-def]
    """Φ⁻¹(P(t)) at the nodes t `panels x 8` of each mixture."""
    result = np.empty(y.shape)
    lower, upper = np.empty(ORDER), np.empty(ORDER)
    for row in range(mean.shape[0]):
        inverse_std = np.sqrt(precision[row])
        for panel in range(first[row], first[row + 1]):
            lower[:] = 0.0
            upper[:] = 0.0
            for k in range(mean.shape[1]):
                for i in range(ORDER):
                    z = (y[panel, i] - mean[row, k]) * inverse_std[k]
                    beyond = _upper_tail(abs(z))
                    lower[i] += beyond if z < 0.0 else 1.0 - beyond
                    upper[i] += 1.0 - beyond if z < 0.0 else beyond
            for i in range(ORDER):
                tail = max(min(lower[i], upper[i]) / mean.shape[1], 1e-300)
                result[panel, i] = _score(tail) * (1.0 if lower[i] < upper[i] else -1.0)
    return result


@numba.njit(inline="always")
def _upper_tail(z):  # type: ignore[no-untyped-def]
    """1 − Φ(z) for z ≥ 0."""
    return 0.5 * exp(-min(0.5 * z * z, LARGEST)) * erfcx(ROOT_HALF * z)


@numba.njit(inline="always")
def _rough_score(log_tail):  # type: ignore[no-untyped-def]
    """Φ⁻¹ of a tail up to ½ to 5e-4. Hastings. Approximations for digital computers. 1955."""
    t = np.sqrt(-2.0 * log_tail)
    above = 2.515517 + t * (0.802853 + 0.010328 * t)
    return above / (1.0 + t * (1.432788 + t * (0.189269 + 0.001308 * t))) - t


@numba.njit(inline="always")
def _score(tail):  # type: ignore[no-untyped-def]
    """Φ⁻¹ of a tail up to ½ to 1e-10, by a step of Halley's method."""
    z = max(-_rough_score(log(tail)), 0.0)
    error = (0.5 * erfcx(ROOT_HALF * z) - tail * exp(min(0.5 * z * z, LARGEST))) / INVERSE_ROOT_2PI
    return -(z + error / (1.0 - 0.5 * z * error))


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def transports(parameters, first, width, t, log_density, score, gradient):  # type: ignore[no-untyped-def]
    """W2² of the conditionals `4 x b x C` on the panels of `_grid.panels`.

    Returns:
        W2² `b x C`; and, with `gradient`, its derivatives by the parameters `4 x b x C` and by the quantiles of the
        mixture at the nodes, flat, of each point `C x nodes`.
    """
    rows, size = parameters.shape[1:]
    value, by_parameters = np.empty((rows, size)), np.zeros(parameters.shape)
    by_quantile = np.zeros(size * ORDER * first[rows] if gradient else 0)
    most = ORDER * np.max(np.diff(first))
    weight, y, z, pulled = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    table = np.empty((4, KNOTS.shape[0]))
    log_q, ratio = np.empty(most), np.empty(most)
    for row in range(rows):
        own = slice(first[row], first[row + 1])
        at, n = t[own].reshape(-1), ORDER * (first[row + 1] - first[row])
        _weigh(width[own], log_density[own].reshape(-1), score[own].reshape(-1), weight, z)
        for c in range(size):
            m, d, noise, threshold = parameters[:, row, c]
            found = frame(m, d, noise, threshold)
            if found[3] == 0.0:
                _normal_quantiles(m, np.sqrt(found[1]), z[:n], y)
            else:
                _knots(found, m, d, noise, threshold, table)
                _interpolate(table, z[:n], y)
            value[row, c] = _differences(at, weight, y, pulled)
            if gradient:
                start = size * ORDER * first[row] + c * n
                by_quantile[start : start + n] = pulled[:n]
                if found[3] == 0.0:
                    by_parameters[:, row, c] = _by_normal(pulled[:n], z, np.sqrt(found[1]), d)
                else:
                    log_densities(*found[:5], y[:n], log_q, ratio)
                    sums = _by_skew(pulled[:n], y, z, log_q, ratio, found, m, d, noise, threshold)
                    by_parameters[:, row, c] = sums
    return value, by_parameters, by_quantile


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _weigh(width, log_density, score, weight, z):  # type: ignore[no-untyped-def]
    """The mass of each node, none beyond the last knot; and the scores within the knots."""
    for panel in range(width.shape[0]):
        for k in range(ORDER):
            i = ORDER * panel + k
            inside = abs(score[i]) < LIMIT
            mass = 0.5 * width[panel] * WEIGHTS[k] * exp(max(log_density[i], -LARGEST))
            weight[i] = mass if inside else 0.0
            z[i] = min(max(score[i], -LIMIT), LIMIT)


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _normal_quantiles(mean, std, z, y):  # type: ignore[no-untyped-def]
    for i in range(z.shape[0]):
        y[i] = mean + std * z[i]


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _knots(found, m, d, noise, threshold, table):  # type: ignore[no-untyped-def]
    """Scores, quantiles and the first two derivatives of these by the score, of a skew normal, at the knots."""
    count, inner = KNOTS.shape[0], INNER.shape[0]
    noise = max(noise, LEAST_NOISE * found[1])
    score, y, slope, curvature = table[0], table[1], table[2], table[3]
    _places(d, noise, threshold, y)
    y += m
    if d < 0.0:
        y[:] = 2.0 * m - y[::-1]
    nodes, log_q, ratio = np.empty((count - 1) * inner), np.empty(count * inner), np.empty(count * inner)
    for j in range(count - 1):
        half = 0.5 * (y[j + 1] - y[j])
        for k in range(inner):
            nodes[inner * j + k] = y[j] + half * (1.0 + INNER[k])
    log_densities(*found[:5], nodes, log_q, ratio)
    for i in range(nodes.shape[0]):
        log_q[i] = exp(min(max(log_q[i], -LARGEST), LARGEST))
    mass = np.empty(count - 1)
    for j in range(count - 1):
        mass[j] = 0.0
        for k in range(inner):
            mass[j] += 0.5 * (y[j + 1] - y[j]) * INNER_WEIGHTS[k] * log_q[inner * j + k]
    knots = np.empty(count)
    knots[:] = y
    log_densities(*found[:5], knots, log_q, ratio)
    for j in range(count):
        curvature[j] = found[3] * ratio[j] - (y[j] - m) / found[1]  # of log q
    # Beyond the ends the density falls exponentially, to first order.
    lower = exp(max(log_q[0], -LARGEST)) / abs(curvature[0])
    upper = exp(max(log_q[count - 1], -LARGEST)) / abs(curvature[count - 1])
    total = lower + upper + np.sum(mass)
    slope[0], score[count - 1] = lower, upper
    for j in range(1, count):
        slope[j] = slope[j - 1] + mass[j - 1]
        score[count - 1 - j] = score[count - j] + mass[count - 1 - j]
    for j in range(count):
        ratio[j] = min(slope[j], score[j]) / total
    _set_scores(ratio[:count])
    for j in range(count):
        z = ratio[j] if slope[j] < score[j] else -ratio[j]
        score[j] = z
        slope[j] = exp(min(max(-0.5 * z * z - HALF_LOG_2PI - log_q[j], -LARGEST), LARGEST))
        curvature[j] = -slope[j] * (z + slope[j] * curvature[j])


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _set_scores(tail):  # type: ignore[no-untyped-def]
    """Replace tails up to ½ by their scores."""
    for j in range(tail.shape[0]):
        tail[j] = _score(max(tail[j], 1e-300))


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _places(d, noise, threshold, y):  # type: ignore[no-untyped-def]
    """Where the knots are, from the mean in the direction of d: |d|·w + √R·z with w truncated, roughly at its score z.

    Only the differences of the rough scores count, of which each is right to a few per cent.
    """
    level = log_cdf(threshold)[0]
    start = _rough_truncated(level)
    size, noise_std = abs(d), np.sqrt(noise)
    for j in range(y.shape[0]):
        y[j] = size * (start - _rough_truncated(level - EXPONENTIAL[j]) - threshold) + noise_std * KNOTS[j]


@numba.njit(inline="always")
def _rough_truncated(level):  # type: ignore[no-untyped-def]
    """Φ⁻¹ of e^level."""
    above = level > LOG_HALF
    complement = log(max(1.0 - exp(max(level, -1.0)), 1e-16))
    rough = _rough_score(complement if above else level)
    return -rough if above else rough


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _interpolate(table, z, result):  # type: ignore[no-untyped-def]
    """The quintics that share value, slope and curvature with the quantile at the knots, at the scores z, ascending."""
    x, y, slope, curvature = table[0], table[1], table[2], table[3]
    j, last = 0, -1
    width = a = b = cubic = quartic = quintic = 0.0
    for i in range(z.shape[0]):
        while j < x.shape[0] - 2 and x[j + 1] < z[i]:
            j += 1
        if j != last:
            last = j
            width = x[j + 1] - x[j]
            a, b = width * slope[j], 0.5 * width * width * curvature[j]
            e0 = y[j + 1] - y[j] - a - b
            e1 = width * slope[j + 1] - a - 2.0 * b
            e2 = width * width * curvature[j + 1] - 2.0 * b
            cubic = 10.0 * e0 - 4.0 * e1 + 0.5 * e2
            quartic, quintic = -15.0 * e0 + 7.0 * e1 - e2, 6.0 * e0 - 3.0 * e1 + 0.5 * e2
        s = (z[i] - x[j]) / width
        result[i] = y[j] + s * (a + s * (b + s * (cubic + s * (quartic + s * quintic))))


# Sums are reassociated to be vectorized, which the loops with `exp` must not be.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _differences(at, weight, y, pulled):  # type: ignore[no-untyped-def]
    """Σ weight·(t − y)²; 2·weight·(t − y), its derivative by t, into the last."""
    total = 0.0
    for i in range(at.shape[0]):
        difference = at[i] - y[i]
        pulled[i] = 2.0 * weight[i] * difference
        total += weight[i] * difference * difference
    return total


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _by_normal(pulled, z, std, d):  # type: ignore[no-untyped-def]
    by_mean, by_std = 0.0, 0.0
    for i in range(pulled.shape[0]):
        by_mean -= pulled[i]
        by_std -= pulled[i] * z[i]
    by_variance = 0.5 * by_std / std
    return np.array([by_mean, 2.0 * d * by_variance, by_variance, 0.0])


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _by_skew(pulled, y, z, log_q, ratio, found, m, d, noise, threshold):  # type: ignore[no-untyped-def]
    """Derivatives by m, d, R and α, from those of the quantiles (see `skew_normal`). The log density is overwritten."""
    noise = max(noise, LEAST_NOISE * found[1])
    edge = 1.0 / np.sqrt(noise)
    for i in range(pulled.shape[0]):
        x = (y[i] - m + d * threshold) * edge
        tail, beyond = _upper_tail(abs(z[i])), _upper_tail(abs(x))
        # u − Φ(x), of the smaller tails.
        same = beyond - tail if x > 0.0 else 1.0 - tail - beyond
        other = tail - beyond if x < 0.0 else tail + beyond - 1.0
        missing = same if z[i] > 0.0 else other
        log_q[i] = missing * exp(min(-max(log_q[i], -LARGEST), LARGEST))
    return _skew_sums(pulled, y, ratio, log_q, found[1], found[3], np.sqrt(noise / found[1]), m, d, threshold)


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _skew_sums(pulled, y, ratio, missing, variance, slope, narrow, m, d, threshold):  # type: ignore[no-untyped-def]
    by_mean, by_shift, by_noise, by_threshold = 0.0, 0.0, 0.0, 0.0
    for i in range(pulled.shape[0]):
        proportion = (y[i] - m) / variance
        by_mean -= pulled[i]
        by_shift -= pulled[i] * (d * proportion + narrow * ratio[i])
        by_noise += 0.5 * pulled[i] * (slope * ratio[i] - proportion)
        by_threshold -= pulled[i] * missing[i]
    return np.array([by_mean, by_shift, by_noise, by_threshold * log_cdf(threshold)[1]])
