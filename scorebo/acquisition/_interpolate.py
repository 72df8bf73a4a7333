"""Piecewise quintic interpolation, compiled: in torch the gathering of knots costs more than all the rest."""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit


@njit(error_model="numpy")
def hermite(x, y, slope, curvature, at, order):  # type: ignore[no-untyped-def]
    """Interpolate each row by the quintics that share value, slope and curvature with it at the knots.

    Args:
        x: `rows x K`, the knots, not decreasing along a row.
        y: `rows x K`, the values there.
        slope: `rows x K`, their first derivatives.
        curvature: `rows x K`, their second derivatives.
        at: `L`, where to interpolate; beyond the knots the last quintic is continued.
        order: `L`, the order that sorts `at`.

    Returns:
        `rows x L`.
    """
    rows, knots = x.shape
    result = np.empty((rows, at.shape[0]))
    for row in range(rows):
        k = 0
        last = -1
        a = b = c = cubic = quartic = quintic = 0.0
        for position in order:
            while k < knots - 2 and x[row, k + 1] < at[position]:
                k += 1
            width = x[row, k + 1] - x[row, k]
            if k != last:
                a = width * slope[row, k]
                b = 0.5 * width * width * curvature[row, k]
                # The three higher terms make value, slope and curvature right at the other end.
                e0 = y[row, k + 1] - y[row, k] - a - b
                e1 = width * slope[row, k + 1] - a - 2.0 * b
                e2 = width * width * curvature[row, k + 1] - 2.0 * b
                cubic = 10.0 * e0 - 4.0 * e1 + 0.5 * e2
                quartic = -15.0 * e0 + 7.0 * e1 - e2
                quintic = 6.0 * e0 - 3.0 * e1 + 0.5 * e2
                c = y[row, k]
                last = k
            t = (at[position] - x[row, k]) / width if width > 0.0 else 0.0
            result[row, position] = c + t * (a + t * (b + t * (cubic + t * (quartic + t * quintic))))
    return result
