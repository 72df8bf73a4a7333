"""Newton climbs from the best of the raw points, for every path of a set, compiled."""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._climb import climb_newton, near_any
from scorebo.optima._waves import evaluate, workspace

# Most evaluations of one climb.
MOST = 200
# Starts are at least this far apart, in lengthscales (or box widths, where these are shorter).
START_DISTANCE = 0.8
# Typical changes of a path that a climb hardly ever brings, at least and for each dimension: starts this far below the
# best top known are left out.
REACH, REACH_PER_DIMENSION = 2.25, 0.375
# Gains, as fractions of a typical change of the path, that are not worth a step.
SINGLE_ACCURACY = 1e-5
DOUBLE_ACCURACY = 1e-14

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@njit(**_options)
def choose_starts(points, candidates, scale, count):  # type: ignore[no-untyped-def]
    """Rows of up to `count` of the candidates, the highest first, no two within START_DISTANCE of each other."""
    dim = points.shape[1]
    chosen = np.empty(count, dtype=np.int64)
    scaled = np.empty((dim, count))
    distance = np.empty(count)
    size = 0
    for r in candidates:
        distance[:size] = 0.0
        for d in range(dim):
            coordinate, row = points[r, d] / scale[d], scaled[d]
            for k in range(size):
                difference = coordinate - row[k]
                distance[k] += difference * difference
            row[size] = coordinate
        if size == 0 or distance[:size].min() >= START_DISTANCE**2:
            chosen[size] = r
            size += 1
            if size == count:
                break
    return chosen[:size]


@njit(**_options)
def search_set(points, values, candidates, tolerance, count, paths, single, scale, lower, upper, unit, optimal):  # type: ignore[no-untyped-def]
    """Maximize every path of one set.

    Args:
        points: `R x D`, raw points.
        values: `N x R`, those of the paths there, to within the tolerance.
        candidates: `N x C`, the rows with the highest values for each path, from the highest down.
        tolerance: `N`, error of values in single precision.
        count: most starts for a path.
        paths: as in `screen`, in double precision.
        single: the same with waves in single precision.
        scale: `D`, as in `climb_newton`.
        lower: `D`.
        upper: `D`.
        unit: size of a typical change of the paths.
        optimal: `N x D`, overwritten with the highest tops.

    Returns:
        The number of evaluations in single and in double precision.
    """
    roughly, exactly = 0, 0
    for p in range(values.shape[0]):
        starts = choose_starts(points, candidates[p], scale, count)
        path, rough = _one(paths, p), _one(single, p)
        counts = _search(points, values[p], tolerance[p], starts, path, rough, scale, lower, upper, unit, optimal[p])
        roughly += counts[0]
        exactly += counts[1]
    return roughly, exactly


@numba.njit(**_options)
def _one(paths, p):  # type: ignore[no-untyped-def]
    kernel, omega, a, b, inputs, precision, beta, mean = paths
    return kernel, omega, a[p], b[p], inputs, precision, beta[p], mean


@numba.njit(**_options)
def _search(points, screened, tolerance, starts, path, single, scale, lower, upper, unit, x):  # type: ignore[no-untyped-def]
    """Climb one path from every start in single precision, finish the highest tops in double.

    Where a raw point turns out to be higher than all of them, it is climbed from too. Arguments and results as in
    `search_set`, of one path; `screened` are its values at the points, `starts` rows of these, the highest first.
    """
    kernel, omega, a, b, inputs, precision, beta, mean = path
    count, dim = starts.shape[0], points.shape[1]
    work, single_work = workspace(omega), workspace(single[1])
    tops = np.empty((count, dim))
    heights = np.empty(count)
    highest = -np.inf
    reach = max(REACH, REACH_PER_DIMENSION * dim) * unit
    roughly, exactly = 0, 0
    for s in range(count):
        if screened[starts[s]] + reach < highest:  # and so are the starts after it
            count = s
            break
        tops[s] = points[starts[s]]
        heights[s], used = climb_newton(
            tops[s], single, scale, lower, upper, unit, highest, tops[:s], single_work, SINGLE_ACCURACY, MOST
        )
        roughly += used
        highest = max(highest, heights[s])

    best = -np.inf
    known = np.empty((count, dim))
    size = 0
    for s in np.argsort(-heights[:count]):
        if heights[s] < highest - tolerance - SINGLE_ACCURACY * unit:
            break
        if near_any(tops[s], known[:size], scale):
            continue
        top = known[size]
        top[:] = tops[s]
        value, used = climb_newton(
            top, path, scale, lower, upper, unit, best, known[:size], work, DOUBLE_ACCURACY, MOST
        )
        exactly += used
        size += 1
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
                best, used = climb_newton(
                    x, path, scale, lower, upper, unit, best, tops[:0], work, DOUBLE_ACCURACY, MOST
                )
                exactly += used
    return roughly, exactly


@njit(**_options)
def evaluate_own(order, kernel, X, omega, a, b, inputs, precision, beta, mean, values, gradients):  # type: ignore[no-untyped-def]
    """Every path, all as in `PosteriorPaths.compiled`, at points of its own, X `N x M x q x D`.

    Written into values `N x M x q` and, with `order` 1 instead of 0, into gradients `N x M x q x D`.
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
