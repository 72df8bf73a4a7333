"""Screening of raw points and the climbs from the best of them, for every path, compiled."""

from __future__ import annotations

import numba
import numpy as np

from scorebo.optima._climb import climb_newton
from scorebo.optima._lbfgs import climb_lbfgs
from scorebo.optima._waves import BLOCK, evaluate, sincos, workspace

# Above this dimension the Hessian costs more than the extra steps of L-BFGS.
NEWTON_DIM = 16
# Most evaluations of one climb.
MOST = 200
# Gains, as fractions of a typical change of the path, that are not worth a step.
SINGLE_ACCURACY = 1e-5
DOUBLE_ACCURACY = 1e-14

_sums = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}
_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@numba.njit(**_sums)
def _add_waves(cosine, sine, a, b, first, size, totals):  # type: ignore[no-untyped-def]
    """Add the waves of one block of frequencies to the value of every path."""
    for p in range(a.shape[0]):
        a_row, b_row = a[p, first : first + size], b[p, first : first + size]
        total = np.float32(0.0)
        for f in range(size):
            total += a_row[f] * cosine[f] + b_row[f] * sine[f]
        totals[p] += total


@numba.njit(cache=True, **_options)
def screen(points, omega, a, b):  # type: ignore[no-untyped-def]
    """Waves of the N paths of one set at every point, in single precision.

    Args:
        points: `R x D`, float32.
        omega: `D x F`, float32.
        a: `N x F`, float32, weights of the cosines.
        b: `N x F`, float32, weights of the sines.

    Returns:
        `R x N`, float64.
    """
    rows, dim = points.shape
    count = omega.shape[1]
    phase, cosine, sine = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    values = np.zeros((rows, a.shape[0]))
    for r in range(rows):
        for first in range(0, count, BLOCK):
            size = min(BLOCK, count - first)
            phase[:size] = np.float32(0.0)
            for d in range(dim):
                row, coordinate = omega[d, first : first + size], points[r, d]
                for f in range(size):
                    phase[f] += coordinate * row[f]
            sincos(phase, cosine, sine, size)
            _add_waves(cosine, sine, a, b, first, size, values[r])
    return values


@numba.njit(cache=True, **_options)
def choose_starts(points, order, scale, count, distance):  # type: ignore[no-untyped-def]
    """Rows of up to `count` starts, best first, no two within `distance` scales of each other.

    Args:
        points: `R x D`.
        order: `R`, rows from the best to the worst.
        scale: `D`.
        count: most starts.
        distance: least distance (Euclidean, in scales) to a better start.
    """
    chosen = np.empty(count, dtype=np.int64)
    size = 0
    for r in order:
        near = False
        for k in range(size):
            total = 0.0
            for d in range(points.shape[1]):
                difference = (points[r, d] - points[chosen[k], d]) / scale[d]
                total += difference * difference
            if total < distance * distance:
                near = True
                break
        if not near:
            chosen[size] = r
            size += 1
            if size == count:
                break
    return chosen[:size]


@numba.njit(cache=True, **_options)
def search(points, screened, tolerance, starts, path, single, scale, lower, upper, unit, x):  # type: ignore[no-untyped-def]
    """Climb one path from every start in single precision, finish the highest tops in double.

    Where a raw point turns out to be higher than all of them, it is climbed from too.

    Args:
        points: `R x D`, raw points.
        screened: `R`, their values to within `tolerance`.
        tolerance: error of values in single precision.
        starts: rows of the raw points to climb from, the most promising first.
        path: the path, as in `climb_newton`.
        single: the same with waves in single precision.
        scale: `D`, as in `climb_newton`.
        lower: `D`.
        upper: `D`.
        unit: size of a typical change of the path.
        x: `D`, overwritten with the highest top.

    Returns:
        The height of x, and the number of evaluations in single and in double precision.
    """
    kernel, omega, a, b, inputs, precision, beta, mean = path
    count, dim = starts.shape[0], points.shape[1]
    work, single_work = workspace(omega), workspace(single[1])
    tops = np.empty((count, dim))
    heights = np.empty(count)
    highest = -np.inf
    roughly, exactly = 0, 0
    for s in range(count):
        tops[s] = points[starts[s]]
        heights[s], used = _climb(
            tops[s], single, scale, lower, upper, unit, highest, tops[:s], single_work, SINGLE_ACCURACY
        )
        roughly += used
        highest = max(highest, heights[s])

    best = -np.inf
    known = np.empty((count, dim))
    for size, s in enumerate(np.argsort(-heights)):
        if heights[s] < highest - tolerance:
            break
        top = known[size]
        top[:] = tops[s]
        value, used = _climb(top, path, scale, lower, upper, unit, best, known[:size], work, DOUBLE_ACCURACY)
        exactly += used
        if value > best:
            best = value
            x[:] = top

    none = np.empty(0)
    for r in range(points.shape[0]):
        if screened[r] >= best - tolerance:
            value = evaluate(0, kernel, points[r], omega, a, b, inputs, precision, beta, mean, none, tops[:0], work)
            exactly += 1
            if value > best:
                x[:] = points[r]
                best, used = _climb(x, path, scale, lower, upper, unit, best, tops[:0], work, DOUBLE_ACCURACY)
                exactly += used
    return best, roughly, exactly


@numba.njit(**_options)
def _climb(x, path, scale, lower, upper, unit, best, found, work, accuracy):  # type: ignore[no-untyped-def]
    if x.shape[0] <= NEWTON_DIM:
        return climb_newton(x, path, scale, lower, upper, unit, best, found, work, accuracy, MOST)
    return climb_lbfgs(x, path, scale, lower, upper, unit, best, found, work, accuracy, MOST)


@numba.njit(cache=True, **_options)
def evaluate_own(order, kernel, X, omega, a, b, inputs, precision, beta, mean, values, gradients):  # type: ignore[no-untyped-def]
    """Every path at points of its own.

    Args:
        order: 0 for values, 1 for gradients too.
        kernel: MATERN52 or RBF.
        X: `N x M x q x D`.
        omega: `M x D x F`.
        a: `N x M x F`.
        b: `N x M x F`.
        inputs: `D x n`.
        precision: `M x D`.
        beta: `N x M x n`.
        mean: `M`.
        values: `N x M x q`, overwritten.
        gradients: `N x M x q x D`, overwritten where wanted.
    """
    work = workspace(omega)
    hessian = np.empty((0, 0))
    for p in range(X.shape[0]):
        for m in range(X.shape[1]):
            for q in range(X.shape[2]):
                gradient = gradients[p, m, q if order > 0 else 0]
                values[p, m, q] = evaluate(
                    order, kernel, X[p, m, q], omega[m], a[p, m], b[p, m], inputs, precision[m], beta[p, m], mean[m],
                    gradient, hessian, work,
                )  # fmt: skip
