"""Integrals of a function of two log densities, that of a conditional and that of the mixture, compiled.

The conditionals are extended skew normals of parameters m, d, R and α (see `skew_normal`), among them normals (d = 0).
Each integral is a sum over the nodes of the mixture's panels (see `_grid`), cut further where the conditional needs it,
and comes with its derivatives by the parameters and by the mixture's log density at the nodes of its panels.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._vectorized import HALF_LOG_2PI, INVERSE_ROOT_2PI, ROOT_HALF, erfcx, exp, log
from scorebo._numba.cache import njit
from scorebo.acquisition._grid import NODES, ORDER, REACH, TO_POWERS, WEIGHTS

# Integrands of q and p: (q − 2√(qp))/2, whose integral is a half less than 1 − ∫√(qp); q log(q/p); p log(p/q).
AFFINITY, KL, REVERSE_KL = range(3)
# Beyond this threshold, or with a shift below this part of the whole spread, nothing is left of the truncation.
FAR, LEAST_SHIFT = 7.5, 1e-7
# Noise variances below this fraction of the whole are raised to it, as in `skew_normal`.
LEAST_NOISE = 1e-12
# Where Φ(g) bends, and the widest panel there; the widest panel where the conditional has its mass.
BEND_LOW, BEND_HIGH, WIDEST_BEND = -8.0, 5.0, 4.0
# More than in `_grid`: what is nearly equal to the mixture is evaluated at the same nodes, where no error is left.
WIDEST = 4.75
LARGEST = 700.0
MOST_CUTS = 256


@njit(error_model="numpy")
def frame(m, d, noise, threshold, far=FAR):  # type: ignore[no-untyped-def]
    """What is needed of a conditional, whose truncation is left out from a threshold of `far`.

    Returns:
        mean, V, g at the mean and its slope (0 without a truncation), the constant of the log density,
        where it begins and ends, its width, where Φ(g) bends, from and to, and the width on which it does.
    """
    square = d * d
    variance = square + noise
    std = np.sqrt(variance)
    if threshold >= far or abs(d) <= LEAST_SHIFT * std:
        constant = -0.5 * np.log(variance) - HALF_LOG_2PI
        return m, variance, 40.0, 0.0, constant, m - REACH * std, m + REACH * std, std, np.inf, np.inf, np.inf
    noise = max(noise, LEAST_NOISE * variance)
    variance = square + noise
    sign = 1.0 if d > 0.0 else -1.0
    size, std, noise_std = abs(d), np.sqrt(variance), np.sqrt(noise)
    slope = d / (noise_std * std)
    at_mean = threshold * std / noise_std
    short = min(threshold, 0.0)
    # From the mean in the direction in which the truncated part reaches.
    reach = np.sqrt(short * short + REACH * REACH)
    begin = max(-std * reach, -threshold * size - REACH * noise_std)
    end = min(std * reach, size * reach + REACH * noise_std)
    bend = (BEND_LOW - at_mean) / abs(slope), (BEND_HIGH - at_mean) / abs(slope)
    low, high = (m + begin, m + end) if sign > 0.0 else (m - end, m - begin)
    bend_low, bend_high = (m + bend[0], m + bend[1]) if sign > 0.0 else (m - bend[1], m - bend[0])
    spread = np.sqrt(noise + square / (1.0 + short * short))
    constant = -0.5 * np.log(variance) - HALF_LOG_2PI - log_cdf(threshold)[0]
    return m, variance, at_mean, slope, constant, low, high, spread, bend_low, bend_high, 1.0 / abs(slope)


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def supports(parameters):  # type: ignore[no-untyped-def]
    """Where the first of the conditionals `4 x b x C` of each point begins and the last ends, each `b`."""
    rows, size = parameters.shape[1:]
    low, high = np.full(rows, np.inf), np.full(rows, -np.inf)
    for row in range(rows):
        for c in range(size):
            m, d, noise, threshold = parameters[:, row, c]
            found = frame(m, d, noise, threshold)
            low[row], high[row] = min(low[row], found[5]), max(high[row], found[6])
    return low, high


@numba.njit(inline="always")
def log_cdf(z):  # type: ignore[no-untyped-def]
    """The logarithm of Φ(z) and its slope φ/Φ."""
    half = 0.5 * erfcx(ROOT_HALF * abs(z))
    decay = exp(-min(0.5 * z * z, LARGEST))
    below = z < 0.0
    inside = half if below else 1.0 - half * decay
    value = log(inside)
    value = value - 0.5 * z * z if below else value
    return value, INVERSE_ROOT_2PI * (1.0 if below else decay) / inside


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def log_densities(m, variance, at_mean, slope, constant, y, value, ratio):  # type: ignore[no-untyped-def]
    """Log density of a conditional at y and the ratio φ(g)/Φ(g), into the last two."""
    scale = 0.5 / variance
    if slope == 0.0:
        for i in range(y.shape[0]):
            deviation = y[i] - m
            value[i] = constant - scale * deviation * deviation
            ratio[i] = 0.0
        return
    for i in range(y.shape[0]):
        deviation = y[i] - m
        inside, ratio[i] = log_cdf(at_mean + slope * deviation)
        value[i] = constant - scale * deviation * deviation + inside


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def integrals(kind, parameters, first, left, width, y, log_density, powers, gradient):  # type: ignore[no-untyped-def]
    """The integrals for the conditionals `4 x b x C` on the panels of `_grid.panels`.

    Returns:
        The integrals `b x C`; and, with `gradient`, their derivatives by the parameters `4 x b x C` and by the log
        densities of the mixture, flat, of each point `C x nodes`.
    """
    rows, size = parameters.shape[1:]
    value, by_parameters = np.empty((rows, size)), np.empty(parameters.shape)
    by_density = np.zeros(size * ORDER * first[rows] if gradient else 0)
    most = ORDER * (np.max(np.diff(first)) + MOST_CUTS)
    # One array each: the compiler vectorizes loops over rows that it knows to be contiguous.
    at, weight, log_p, log_q = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    ratio, by_q, by_p, term = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    piece_left, piece_width = np.empty(most // ORDER), np.empty(most // ORDER)
    piece_panel = np.empty(most // ORDER, np.int64)
    for row in range(rows):
        own = slice(first[row], first[row + 1])
        count = ORDER * (first[row + 1] - first[row])
        for c in range(size):
            m, d, noise, threshold = parameters[:, row, c]
            # Only the reverse KL looks at conditionals beyond their mass.
            found = frame(m, d, noise, threshold, np.inf if kind == REVERSE_KL else FAR)
            pieces = _cut(kind, found, left[own], width[own], piece_left, piece_width, piece_panel)
            n = ORDER * pieces
            where = piece_left[:pieces], piece_width[:pieces], piece_panel[:pieces]
            _evaluate(*where, width[own], y[own], log_density[own], powers[own], at, weight, log_p)
            log_densities(*found[:5], at[:n], log_q, ratio)
            _integrands(kind, weight[:n], log_q, log_p, term, by_q, by_p)
            value[row, c] = _sum(term[:n])
            if gradient:
                sums = _sums(by_q[:n], ratio, at, m)
                by_parameters[:, row, c] = _by_parameters(found, d, noise, threshold, sums)
                start = size * ORDER * first[row] + c * count
                _scatter(*where, left[own], width[own], by_p, by_density[start : start + count].reshape(-1, ORDER))
    return value, by_parameters, by_density


@njit(error_model="numpy")
def _cut(kind, found, left, width, piece_left, piece_width, piece_panel):  # type: ignore[no-untyped-def]
    """Panels where the conditional is (for the reverse KL all of them), halved until they are fine enough for it."""
    low, high, spread, bend_low, bend_high, bend_width = found[5:]
    everywhere = kind == REVERSE_KL
    stack_left, stack_width = np.empty(64), np.empty(64)
    count, spare = 0, piece_left.shape[0] - left.shape[0]
    for panel in range(left.shape[0]):
        depth = 1
        stack_left[0], stack_width[0] = left[panel], width[panel]
        while depth > 0:
            depth -= 1
            begin, span = stack_left[depth], stack_width[depth]
            end = begin + span
            inside = begin < high and end > low
            if not (inside or everywhere):
                continue
            coarse = inside and span > WIDEST * spread and not everywhere
            coarse = coarse or (begin < bend_high and end > bend_low and span > WIDEST_BEND * bend_width)
            if coarse and spare > 0 and depth < 62:
                spare -= 1
                half = 0.5 * span
                stack_left[depth], stack_width[depth] = begin + half, half
                stack_left[depth + 1], stack_width[depth + 1] = begin, half
                depth += 2
            else:
                piece_left[count], piece_width[count], piece_panel[count] = begin, span, panel
                count += 1
    return count


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _evaluate(piece_left, piece_width, piece_panel, width, y, log_density, powers, at, weight, log_p):  # type: ignore[no-untyped-def]
    """Nodes, weights and the mixture's log density of the pieces."""
    for i in range(piece_left.shape[0]):
        panel, begin = piece_panel[i], ORDER * i
        half = 0.5 * piece_width[i]
        whole = piece_width[i] == width[panel]
        for k in range(ORDER):
            weight[begin + k] = half * WEIGHTS[k]
        if whole:
            for k in range(ORDER):
                at[begin + k], log_p[begin + k] = y[panel, k], log_density[panel, k]
        else:
            center = 0.5 * (y[panel, 0] + y[panel, ORDER - 1])
            for k in range(ORDER):
                at[begin + k] = piece_left[i] + half * (1.0 + NODES[k])
                x = (at[begin + k] - center) / (0.5 * width[panel])
                total = powers[panel, ORDER - 1]
                for j in range(ORDER - 2, -1, -1):
                    total = total * x + powers[panel, j]
                log_p[begin + k] = total


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _integrands(kind, weight, log_q, log_p, term, by_q, by_p):  # type: ignore[no-untyped-def]
    """The integrand, and its derivatives by the two log densities, times the weights."""
    for i in range(weight.shape[0]):
        log_q[i] = min(log_q[i], LARGEST)
    if kind == AFFINITY:
        for i in range(weight.shape[0]):
            root_q, root_p = exp(max(0.5 * log_q[i], -LARGEST)), exp(max(0.5 * log_p[i], -LARGEST))
            difference = root_q - root_p
            term[i] = 0.5 * weight[i] * (difference * difference - root_p * root_p)
            by_q[i] = 0.5 * weight[i] * root_q * difference
            by_p[i] = -0.5 * weight[i] * root_q * root_p
    elif kind == KL:
        for i in range(weight.shape[0]):
            q, ratio = weight[i] * exp(max(log_q[i], -LARGEST)), log_q[i] - log_p[i]
            term[i], by_q[i], by_p[i] = q * ratio, q * (ratio + 1.0), -q
    else:
        for i in range(weight.shape[0]):
            p, ratio = weight[i] * exp(max(log_p[i], -LARGEST)), log_p[i] - log_q[i]
            term[i], by_q[i], by_p[i] = p * ratio, -p, p * (ratio + 1.0)


# Sums are reassociated to be vectorized, which the loops with `exp` must not be.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _sum(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _sums(by_q, ratio, at, m):  # type: ignore[no-untyped-def]
    """Σ by_q times 1, y − m, (y − m)², φ/Φ and (y − m)·φ/Φ."""
    s0, s1, s2, r0, r1 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(by_q.shape[0]):
        deviation = at[i] - m
        pulled = by_q[i] * deviation
        bent = by_q[i] * ratio[i]
        s0 += by_q[i]
        s1 += pulled
        s2 += pulled * deviation
        r0 += bent
        r1 += bent * deviation
    return s0, s1, s2, r0, r1


@njit(error_model="numpy")
def _by_parameters(found, d, noise, threshold, sums):  # type: ignore[no-untyped-def]
    """From the sums the derivatives by m, d, R and α, with the chain rule of log q."""
    variance, at_mean, slope = found[1:4]
    s0, s1, s2, r0, r1 = sums
    by_variance = 0.5 * (s2 / variance - s0) / variance
    if slope == 0.0:
        return np.array([s1 / variance, 2.0 * d * by_variance, by_variance, 0.0])
    noise = max(noise, LEAST_NOISE * variance)
    inverse = 1.0 / np.sqrt(noise * variance)
    score = at_mean * r0 + slope * r1  # Σ by_q·g·φ/Φ
    return np.array(
        [
            s1 / variance - slope * r0,
            2.0 * d * by_variance + inverse * (2.0 * threshold * d * r0 + r1) - d / variance * score,
            by_variance + inverse * threshold * r0 - 0.5 * (1.0 / noise + 1.0 / variance) * score,
            np.sqrt(variance / noise) * r0 - log_cdf(threshold)[1] * s0,
        ]
    )


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _scatter(piece_left, piece_width, piece_panel, left, width, by_p, result):  # type: ignore[no-untyped-def]
    """Derivatives by the log density at the pieces' nodes, added to those at the panels' nodes."""
    moments = np.empty(ORDER)
    for i in range(piece_left.shape[0]):
        panel, begin = piece_panel[i], ORDER * i
        if piece_width[i] == width[panel]:
            for k in range(ORDER):
                result[panel, k] += by_p[begin + k]
            continue
        moments[:] = 0.0
        scale = piece_width[i] / width[panel]
        offset = 2.0 * (piece_left[i] - left[panel]) / width[panel] - 1.0
        for k in range(ORDER):
            x, power = offset + scale * (1.0 + NODES[k]), by_p[begin + k]
            for j in range(ORDER):
                moments[j] += power
                power *= x
        for j in range(ORDER):
            for k in range(ORDER):
                result[panel, k] += moments[j] * TO_POWERS[j, k]
