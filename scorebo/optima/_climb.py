"""Climbing a path within a box by projected damped Newton steps, compiled; few evaluations, but with Hessian."""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._waves import evaluate

# A climb is given up where this many times the gain that the quadratic model promises would not reach the best known
# height. Where the path is concave the model is good, unless the climb has only begun.
OUTLOOK = 6.0
CONCAVE_OUTLOOK = 2.0
# In scales: a step that ends this close to a known top, on concave ground and not long, leads to that top.
SAME_TOP = 0.02

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@numba.njit(**_options)
def _solve(matrix, rhs, index, size, factor):  # type: ignore[no-untyped-def]
    """Solve matrix[index, index] · z = rhs in place (first `size` entries); False if it is not positive definite."""
    for i in range(size):
        for j in range(i + 1):
            total = matrix[index[i], index[j]]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            elif total > 1e-12 * abs(matrix[index[i], index[i]]):
                factor[i, i] = np.sqrt(total)
            else:
                return False
    for i in range(size):
        for k in range(i):
            rhs[i] -= factor[i, k] * rhs[k]
        rhs[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            rhs[i] -= factor[k, i] * rhs[k]
        rhs[i] /= factor[i, i]
    return True


@numba.njit(**_options)
def step_workspace(dim):  # type: ignore[no-untyped-def]
    """What `newton_step` works in: two matrices, a right-hand side, indices, and which coordinates are fixed."""
    return (
        np.empty((dim, dim)), np.empty((dim, dim)), np.empty(dim), np.empty(dim, dtype=np.int64),
        np.empty(dim, dtype=np.bool_),
    )  # fmt: skip


@numba.njit(**_options)
def newton_step(x, gradient, hessian, damping, scale, lower, upper, step, work):  # type: ignore[no-untyped-def]
    """Maximize the quadratic model less ½·damping·Σ(step/scale)² over the box, coordinate bounds fixed as they are met.

    Returns:
        The damping used: raised where the given one leaves the model unbounded.
    """
    dim = x.shape[0]
    matrix, factor, rhs, index, fixed = work
    steepest = 0.0
    for d in range(dim):
        steepest = max(steepest, abs(hessian[d, d]) * scale[d] * scale[d])
    while True:
        for d in range(dim):
            for e in range(dim):
                matrix[d, e] = -hessian[d, e]
            matrix[d, d] += damping / (scale[d] * scale[d])
            step[d] = 0.0
            fixed[d] = (x[d] <= lower[d] and gradient[d] < 0.0) or (x[d] >= upper[d] and gradient[d] > 0.0)
        definite = True
        while True:
            size = 0
            for d in range(dim):
                if not fixed[d]:
                    index[size] = d
                    rhs[size] = gradient[d]
                    for e in range(dim):
                        if fixed[e]:
                            rhs[size] += hessian[d, e] * step[e]
                    size += 1
            if size == 0:
                break
            definite = _solve(matrix, rhs, index, size, factor)
            if not definite:
                break
            crossed = False
            for i in range(size):
                d = index[i]
                step[d] = rhs[i]
                if x[d] + step[d] < lower[d]:
                    step[d] = lower[d] - x[d]
                    fixed[d] = crossed = True
                elif x[d] + step[d] > upper[d]:
                    step[d] = upper[d] - x[d]
                    fixed[d] = crossed = True
            if not crossed:
                break
        if definite:
            return damping
        damping = max(4.0 * damping, 0.05 * steepest + 1e-300)


@numba.njit(**_options)
def _slack(x, gradient, scale, lower, upper):  # type: ignore[no-untyped-def]
    """Largest rise per scale that a coordinate still free to move would bring."""
    largest = 0.0
    for d in range(x.shape[0]):
        if not ((x[d] <= lower[d] and gradient[d] < 0.0) or (x[d] >= upper[d] and gradient[d] > 0.0)):
            largest = max(largest, abs(gradient[d]) * scale[d])
    return largest


@numba.njit(**_options)
def near_any(x, tops, scale):  # type: ignore[no-untyped-def]
    """Whether x is, but for what is left of a climb, one of the tops, `k x D`."""
    for k in range(tops.shape[0]):
        farthest = 0.0
        for d in range(x.shape[0]):
            farthest = max(farthest, abs(tops[k, d] - x[d]) / scale[d])
        if farthest < SAME_TOP:
            return True
    return False


@njit(**_options)
def climb_newton(x, path, scale, lower, upper, unit, best, found, work, accuracy, most):  # type: ignore[no-untyped-def]
    """Climb from x (overwritten) by damped Newton steps.

    Args:
        x: `D`, the start, inside the box.
        path: what `evaluate` wants from `kernel` on, x left out: kernel, omega, a, b, inputs, precision, beta, mean.
        scale: `D`, length over which the path changes.
        lower: `D`.
        upper: `D`.
        unit: size of a typical change of the path.
        best: height already reached elsewhere: a climb that will not come near it is given up.
        found: `k x D`, tops already known: a climb that comes upon one is given up.
        work: a `workspace`.
        accuracy: gain, in units, that is not worth a step; 1e-14 or, for waves in single precision, 1e-5.
        most: most evaluations.

    Returns:
        The height at x, and the number of evaluations.
    """
    kernel, omega, a, b, inputs, precision, beta, mean = path
    dim = x.shape[0]
    gradient, new_gradient = np.empty(dim), np.empty(dim)
    hessian, new_hessian = np.empty((dim, dim)), np.empty((dim, dim))
    step, new_x = np.empty(dim), np.empty(dim)
    step_work = step_workspace(dim)
    value = evaluate(2, kernel, x, omega, a, b, inputs, precision, beta, mean, gradient, hessian, work)
    count = 1
    damping = 0.0
    while count < most:
        if _slack(x, gradient, scale, lower, upper) <= 1e-3 * np.sqrt(accuracy) * unit:
            break
        used = newton_step(x, gradient, hessian, damping, scale, lower, upper, step, step_work)
        longest = 0.0
        for d in range(dim):
            longest = max(longest, abs(step[d]) / scale[d])
        if longest > 1.0:
            for d in range(dim):
                step[d] /= longest
        promise = 0.0
        for d in range(dim):
            bent = 0.0
            for e in range(dim):
                bent += hessian[d, e] * step[e]
            promise += step[d] * (gradient[d] + 0.5 * bent)
            new_x[d] = min(max(x[d] + step[d], lower[d]), upper[d])
        concave = used == 0.0 and longest <= 1.0
        if promise <= accuracy * unit:
            # At a top; or coordinates were fixed at bounds in a bad order, which a shorter step puts right.
            if (concave and promise >= 0.0) or used > 1e4 * unit:
                break
            damping = max(4.0 * used, 0.1 * unit)
            continue
        outlook = CONCAVE_OUTLOOK if concave and count > 2 else OUTLOOK
        if value + outlook * promise < best:
            break
        if concave and longest < 0.1 and near_any(new_x, found, scale):
            break
        new_value = evaluate(
            2, kernel, new_x, omega, a, b, inputs, precision, beta, mean, new_gradient, new_hessian, work
        )
        count += 1
        gain = new_value - value
        if gain > 0.0:
            x[:] = new_x
            value = new_value
            gradient, new_gradient = new_gradient, gradient
            hessian, new_hessian = new_hessian, hessian
            if gain > 0.5 * promise:
                damping = 0.0 if used < 1e-2 * unit else 0.1 * used
            else:
                damping = max(2.0 * used, 0.01 * unit) if gain < 0.1 * promise else used
        elif longest < 1e-7:
            break
        else:
            damping = max(4.0 * used, 0.1 * unit)
    return value, count
