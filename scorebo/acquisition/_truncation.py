"""The truncated standard normal, compiled; the formulas are those of `truncation`."""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._vectorized import INVERSE_ROOT_2PI, ROOT_HALF, erfcx, exp
from scorebo._numba.cache import njit

# Below this threshold the continued fraction is used: the plain formula has lost two digits here, and nine at −40.
TAIL = -5.0
# Levels of the continued fraction: rounding accuracy at `TAIL`, where it converges slowest.
DEPTH = 30


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def terms(threshold, ratio, excess, factor, slope):  # type: ignore[no-untyped-def]
    """r, q, F and F' at each threshold `L` into the other four."""
    for i in range(threshold.shape[0]):
        gamma = threshold[i]
        r = _ratio(gamma)
        q = gamma + r
        f = 1.0 - r * q
        ratio[i], excess[i], factor[i], slope[i] = r, q, f, r * (q * q - f)
    for i in range(threshold.shape[0]):
        if threshold[i] < TAIL:
            ratio[i], excess[i], factor[i], slope[i] = _far(-threshold[i])


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def log_cdf(z, value, ratio):  # type: ignore[no-untyped-def]
    """The logarithm of Φ(z), z `L`, into `value` and its slope r(z) into `ratio`."""
    for i in range(z.shape[0]):
        size = abs(z[i])
        half = 0.5 * erfcx(ROOT_HALF * size)
        beyond = half * exp(-min(0.5 * z[i] * z[i], 700.0))
        ratio[i] = _ratio(z[i])
        value[i] = half if z[i] < 0.0 else beyond
    for i in range(z.shape[0]):
        value[i] = np.log(value[i]) - 0.5 * z[i] * z[i] if z[i] < 0.0 else np.log1p(-value[i])


@numba.njit(inline="always")
def _ratio(gamma):  # type: ignore[no-untyped-def]
    """φ/Φ: below 0, where e^(−γ²/2) is in both, without it."""
    half = 0.5 * erfcx(ROOT_HALF * abs(gamma))
    decay = exp(-min(0.5 * gamma * gamma, 700.0))
    return INVERSE_ROOT_2PI / half if gamma < 0.0 else INVERSE_ROOT_2PI * decay / (1.0 - half * decay)


@numba.njit(inline="always")
def _far(t):  # type: ignore[no-untyped-def]
    """The terms by the continued fraction, for γ = −t ≤ `TAIL`."""
    below = 0.0
    for n in range(DEPTH, 4, -1):
        below = n / (t + below)
    k4 = 4.0 / (t + below)
    k3 = 3.0 / (t + k4)
    k2 = 2.0 / (t + k3)
    excess = 1.0 / (t + k2)
    ratio = t + excess
    factor = excess * (t + 2.0 * k2 - k3) / ((t + k2) * (t + k3))
    slope = 2.0 * ratio * excess * (t + 3.0 * k3 - 2.0 * k4) / ((t + k2) * (t + k3) * (t + k3) * (t + k4))
    return ratio, excess, factor, slope
