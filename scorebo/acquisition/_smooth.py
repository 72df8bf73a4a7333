"""BoTorch's `fatplus`, a smooth maximum of x and 0 with a fat tail, summed over samples; compiled.

τ·(log(1 + e^t) + 0.1/(1 + t²)) with t = x/τ. It never underflows, so that the mean needs no logarithms. Next to no
sample is so close to 0 that the exponential is above rounding: elsewhere no transcendental function is left.
"""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit

# BoTorch's width of the smooth maximum, and the weight of its fat tail.
TAU_RELU = 1e-6
FAT_TAIL = 0.1
# Farther from 0 in units of the width, e^−|t| is below rounding beside 0.1/(1 + t²).
NEAR = 50.0


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def sum_smooth(x, slope):  # type: ignore[no-untyped-def]
    """Sums `b` over the rows of x `S x b`, in units of the width, and derivatives by t into `slope`, of x's shape."""
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        near = 0
        for j in range(x.shape[1]):
            t = x[i, j] / TAU_RELU
            tail = 1.0 / (1.0 + t * t)
            total[j] += max(t, 0.0) + FAT_TAIL * tail
            slope[i, j] = (1.0 if t > 0.0 else 0.0) - 2.0 * FAT_TAIL * t * tail * tail
            near += 1 if abs(t) < NEAR else 0
        if near > 0:
            for j in range(x.shape[1]):
                t = x[i, j] / TAU_RELU
                if abs(t) < NEAR:
                    decay = np.exp(-abs(t))
                    total[j] += np.log1p(decay)
                    # The logistic function beside the step that it smooths.
                    slope[i, j] += decay / (1.0 + decay) if t <= 0.0 else -decay / (1.0 + decay)
    return total
