"""Climbing a path within a box by projected L-BFGS, compiled: from gradients alone, for many dimensions."""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._waves import evaluate

MEMORY = 8
# A climb is given up where eight gains like the last two, and more in many dimensions, would not reach the best known.
OUTLOOK_PER_DIMENSION = 0.125

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@numba.njit(**_options)
def _direction(gradient, free, moves, changes, stored, newest, direction):  # type: ignore[no-untyped-def]
    """Two-loop recursion over the free coordinates, for the ascent of a function of this gradient."""
    dim = gradient.shape[0]
    weight = np.zeros(MEMORY)
    product = np.zeros(MEMORY)
    shrink = 1.0
    for d in range(dim):
        direction[d] = gradient[d] if free[d] else 0.0
    for back in range(stored):
        k = (newest - back) % MEMORY
        length = 0.0
        for d in range(dim):
            if free[d]:
                product[k] += moves[k, d] * changes[k, d]
                weight[k] += moves[k, d] * direction[d]
                length += changes[k, d] * changes[k, d]
        if product[k] <= 1e-10 * length:  # no curvature left over these coordinates
            product[k] = 0.0
            continue
        weight[k] /= product[k]
        for d in range(dim):
            if free[d]:
                direction[d] -= weight[k] * changes[k, d]
        if shrink == 1.0:
            shrink = product[k] / length
    for d in range(dim):
        direction[d] *= shrink
    for back in range(stored - 1, -1, -1):
        k = (newest - back) % MEMORY
        if product[k] > 0.0:
            other = 0.0
            for d in range(dim):
                if free[d]:
                    other += changes[k, d] * direction[d]
            for d in range(dim):
                if free[d]:
                    direction[d] += moves[k, d] * (weight[k] - other / product[k])


@njit(**_options)
def climb_lbfgs(x, path, scale, lower, upper, unit, best, found, work, accuracy, most):  # type: ignore[no-untyped-def]
    """As `climb_newton`, by projected L-BFGS in the coordinates x/scale; from gradients alone."""
    kernel, omega, a, b, inputs, precision, beta, mean = path
    dim = x.shape[0]
    raw, slope, new_slope = np.empty(dim), np.empty(dim), np.empty(dim)
    hessian = np.empty((0, 0))
    direction, new_x = np.empty(dim), np.empty(dim)
    free = np.empty(dim, dtype=np.bool_)
    moves, changes = np.empty((MEMORY, dim)), np.empty((MEMORY, dim))
    stored, newest = 0, MEMORY - 1
    value = evaluate(1, kernel, x, omega, a, b, inputs, precision, beta, mean, raw, hessian, work)
    slope[:] = raw * scale
    count = 1
    recent = np.inf  # the last two gains
    gain = np.inf
    while count < most:
        largest = 0.0
        for d in range(dim):
            free[d] = not ((x[d] <= lower[d] and slope[d] < 0.0) or (x[d] >= upper[d] and slope[d] > 0.0))
            if free[d]:
                largest = max(largest, abs(slope[d]))
        if largest <= 1e-3 * np.sqrt(accuracy) * unit:
            break
        _direction(slope, free, moves, changes, stored, newest, direction)
        longest = 0.0
        rise = 0.0
        for d in range(dim):
            longest = max(longest, abs(direction[d]))
            rise += direction[d] * slope[d]
        if rise <= 0.0 or longest == 0.0:
            if stored == 0:
                break
            stored = 0
            continue
        fraction = min(1.0, (0.3 if stored == 0 else 1.0) / longest)
        # Far below the best and rising slowly: some more gains like the last two would not close the gap.
        if count > 8 and value + (8.0 + OUTLOOK_PER_DIMENSION * dim) * (recent + gain) < best:
            break
        accepted = False
        while count < most:
            promise = 0.0
            moved = 0.0
            for d in range(dim):
                new_x[d] = min(max(x[d] + fraction * direction[d] * scale[d], lower[d]), upper[d])
                move = (new_x[d] - x[d]) / scale[d]
                promise += move * slope[d]
                moved = max(moved, abs(move))
            if moved < 1e-9:
                break
            new_value = evaluate(1, kernel, new_x, omega, a, b, inputs, precision, beta, mean, raw, hessian, work)
            count += 1
            if new_value - value > 0.0 and new_value - value >= 1e-4 * promise:
                accepted = True
                break
            # The top of the parabola through what is known, kept within bounds.
            curve = 2.0 * (promise - (new_value - value))
            fraction *= min(0.5, max(0.1, promise / curve)) if curve > 0.0 else 0.25
        if not accepted:
            if stored == 0:
                break
            stored = 0
            continue
        newest = (newest + 1) % MEMORY
        stored = min(stored + 1, MEMORY)
        for d in range(dim):
            new_slope[d] = raw[d] * scale[d]
            moves[newest, d] = (new_x[d] - x[d]) / scale[d]
            changes[newest, d] = slope[d] - new_slope[d]
        recent, gain = gain, new_value - value
        x[:] = new_x
        value = new_value
        slope[:] = new_slope
        if gain <= accuracy * unit:
            break
    return value, count
