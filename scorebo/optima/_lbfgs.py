"""Climbs of the paths of one set within a box by projected L-BFGS, compiled: from gradients alone, for many dimensions.

A climb asks for one evaluation at a time, and goes on when it has it. Those of all climbs under way are one batch, see
`evaluate_batch`; where a climb ends, the next one begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._batch import evaluate_batch

MEMORY = 8
# Climbs under way at a time: more make the matrix products faster, and know less of the best when they begin.
SLOTS = 96
# Most evaluations of one climb.
MOST = 2000
# A climb is given up where eight gains like the last two, and more in many dimensions, would not reach the best known.
OUTLOOK, OUTLOOK_PER_DIMENSION = 8.0, 0.125
# Longest move of a coordinate, in scales: along the slope, and along a direction that knows of curvature.
LONGEST_FIRST, LONGEST = 0.3, 1.0
# Up to this dimension the longest move by its root of the sum of squares: tops reached in short steps are a little
# higher, and the box is not many of them wide.
SHORT_DIM, SHORT = 100, 0.5

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
_sums = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


class _Climbs(NamedTuple):
    """Climbs under way, one a row."""

    x: np.ndarray  # the highest point so far
    slope: np.ndarray  # there, in the coordinates x / scale
    trial: np.ndarray  # where the path is evaluated next
    direction: np.ndarray
    moves: np.ndarray  # the last changes of x / scale
    changes: np.ndarray  # and of the slope, negated
    free: np.ndarray  # 1 in coordinates that no bound holds, 0 in the others
    height: np.ndarray  # at x
    gains: np.ndarray  # the last and the one before
    fraction: np.ndarray  # of the direction that is tried
    promise: np.ndarray  # what it would gain were the slope constant
    evaluations: np.ndarray
    stored: np.ndarray  # moves and changes
    newest: np.ndarray  # of these


class Ground(NamedTuple):
    """The paths of a set over a box."""

    paths: tuple  # as `evaluate_batch` wants them
    scale: np.ndarray  # `D`, length over which the paths change
    lower: np.ndarray  # `D`
    upper: np.ndarray  # `D`
    unit: float  # size of a typical change of the paths


@numba.njit(**_options)
def _room(count, dim):  # type: ignore[no-untyped-def]
    rows, memory = (count, dim), (count, MEMORY, dim)
    return _Climbs(
        np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows), np.empty(memory), np.empty(memory),
        np.empty(rows), np.empty(count), np.empty((count, 2)), np.empty(count), np.empty(count),
        np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64),
    )  # fmt: skip


@numba.njit(**_sums)
def _products(move, change, free, direction):  # type: ignore[no-untyped-def]
    """Over the free coordinates move·change, change·change and move·direction, which is zero elsewhere."""
    curvature, length, along = 0.0, 0.0, 0.0
    for d in range(move.shape[0]):
        own = change[d] * free[d]
        curvature += move[d] * own
        length += change[d] * own
        along += move[d] * direction[d]
    return curvature, length, along


@numba.njit(**_sums)
def _dot(change, direction):  # type: ignore[no-untyped-def]
    total = 0.0
    for d in range(change.shape[0]):
        total += change[d] * direction[d]
    return total


@numba.njit(**_sums)
def _add_free(weight, vector, free, direction):  # type: ignore[no-untyped-def]
    for d in range(vector.shape[0]):
        direction[d] += weight * vector[d] * free[d]


@numba.njit(**_options)
def _direction(gradient, free, moves, changes, stored, newest, direction):  # type: ignore[no-untyped-def]
    """Two-loop recursion over the free coordinates, for the ascent of a function of this gradient."""
    weight, product = np.zeros(MEMORY), np.zeros(MEMORY)
    shrink = 1.0
    for d in range(gradient.shape[0]):
        direction[d] = gradient[d] * free[d]
    for back in range(stored):
        k = (newest - back) % MEMORY
        curvature, length, along = _products(moves[k], changes[k], free, direction)
        if curvature <= 1e-10 * length:  # none left over these coordinates
            continue
        product[k], weight[k] = curvature, along / curvature
        _add_free(-weight[k], changes[k], free, direction)
        if shrink == 1.0:
            shrink = curvature / length
    for d in range(gradient.shape[0]):
        direction[d] *= shrink
    for back in range(stored - 1, -1, -1):
        k = (newest - back) % MEMORY
        if product[k] > 0.0:
            _add_free(weight[k] - _dot(changes[k], direction) / product[k], moves[k], free, direction)


@numba.njit(**_options)
def _begin(climbs, s, start):  # type: ignore[no-untyped-def]
    climbs.trial[s] = start
    climbs.gains[s] = np.inf
    climbs.evaluations[s], climbs.stored[s], climbs.newest[s] = 0, 0, MEMORY - 1


@numba.njit(**_options)
def _try(climbs, s, ground):  # type: ignore[no-untyped-def]
    """Set the trial point: the fraction of the direction, projected into the box; False if it is hardly a move."""
    x, trial, direction, slope = climbs.x[s], climbs.trial[s], climbs.direction[s], climbs.slope[s]
    promise, moved = 0.0, 0.0
    for d in range(x.shape[0]):
        target = x[d] + climbs.fraction[s] * direction[d] * ground.scale[d]
        trial[d] = min(max(target, ground.lower[d]), ground.upper[d])
        move = (trial[d] - x[d]) / ground.scale[d]
        promise += move * slope[d]
        moved = max(moved, abs(move))
    climbs.promise[s] = promise
    return moved >= 1e-9


@numba.njit(**_options)
def _free(climbs, s, ground):  # type: ignore[no-untyped-def]
    """Mark the coordinates that no bound holds; the steepest slope along one."""
    x, slope, free = climbs.x[s], climbs.slope[s], climbs.free[s]
    steepest = 0.0
    for d in range(x.shape[0]):
        held = (x[d] <= ground.lower[d] and slope[d] < 0.0) or (x[d] >= ground.upper[d] and slope[d] > 0.0)
        free[d] = 0.0 if held else 1.0
        steepest = max(steepest, free[d] * abs(slope[d]))
    return steepest


@numba.njit(**_options)
def _aim(climbs, s, ground):  # type: ignore[no-untyped-def]
    """Choose the direction and how much of it is tried first; False where it does not rise."""
    x, slope, direction = climbs.x[s], climbs.slope[s], climbs.direction[s]
    _direction(slope, climbs.free[s], climbs.moves[s], climbs.changes[s], climbs.stored[s], climbs.newest[s], direction)
    longest, squares, rise = 0.0, 0.0, 0.0
    for d in range(x.shape[0]):
        target = min(max(x[d] + direction[d] * ground.scale[d], ground.lower[d]), ground.upper[d])
        squares += ((target - x[d]) / ground.scale[d]) ** 2
        longest = max(longest, abs(direction[d]))
        rise += direction[d] * slope[d]
    if rise <= 0.0 or squares == 0.0:
        return False
    if x.shape[0] <= SHORT_DIM:
        climbs.fraction[s] = min(1.0, SHORT / np.sqrt(squares))
    else:
        climbs.fraction[s] = min(1.0, (LONGEST_FIRST if climbs.stored[s] == 0 else LONGEST) / longest)
    return _try(climbs, s, ground)


@numba.njit(**_options)
def _go_on(climbs, s, ground, best, accuracy):  # type: ignore[no-untyped-def]
    """Set the next trial point from x; False where the climb is over."""
    if _free(climbs, s, ground) <= 1e-3 * np.sqrt(accuracy) * ground.unit:
        return False
    outlook = (OUTLOOK + OUTLOOK_PER_DIMENSION * ground.scale.shape[0]) * (climbs.gains[s, 0] + climbs.gains[s, 1])
    if climbs.evaluations[s] > 8 and climbs.height[s] + outlook < best:
        return False
    if _aim(climbs, s, ground):
        return True
    if climbs.stored[s] == 0:
        return False
    climbs.stored[s] = 0  # once more along the slope
    return _aim(climbs, s, ground)


@numba.njit(**_options)
def _accept(climbs, s, value, gradient, ground):  # type: ignore[no-untyped-def]
    """Move to the trial point, and remember what changed."""
    x, slope, trial = climbs.x[s], climbs.slope[s], climbs.trial[s]
    newest = (climbs.newest[s] + 1) % MEMORY
    move, change = climbs.moves[s, newest], climbs.changes[s, newest]
    for d in range(x.shape[0]):
        new = gradient[d] * ground.scale[d]
        move[d] = (trial[d] - x[d]) / ground.scale[d]
        change[d] = slope[d] - new
        x[d], slope[d] = trial[d], new
    climbs.newest[s], climbs.stored[s] = newest, min(climbs.stored[s] + 1, MEMORY)
    climbs.gains[s, 1] = climbs.gains[s, 0]
    climbs.gains[s, 0] = value - climbs.height[s]
    climbs.height[s] = value


@numba.njit(**_options)
def _receive(climbs, s, value, gradient, ground, best, accuracy):  # type: ignore[no-untyped-def]
    """Go on from the evaluation at the trial point; False where the climb is over."""
    climbs.evaluations[s] += 1
    if climbs.evaluations[s] == 1:
        climbs.x[s], climbs.slope[s], climbs.height[s] = climbs.trial[s], gradient * ground.scale, value
        return _go_on(climbs, s, ground, best, accuracy)
    gain, promise = value - climbs.height[s], climbs.promise[s]
    accepted = gain > 0.0 and gain >= 1e-4 * promise
    if accepted:
        _accept(climbs, s, value, gradient, ground)
    if climbs.evaluations[s] >= MOST or (accepted and gain <= accuracy * ground.unit):
        return False
    if accepted:
        return _go_on(climbs, s, ground, best, accuracy)
    # The top of the parabola through what is known, kept within bounds.
    curve = 2.0 * (promise - gain)
    climbs.fraction[s] *= min(0.5, max(0.1, promise / curve)) if curve > 0.0 else 0.25
    if _try(climbs, s, ground):
        return True
    if climbs.stored[s] == 0:
        return False
    climbs.stored[s] = 0
    return _go_on(climbs, s, ground, best, accuracy)


@njit(**_options)
def climb_together(starts, which, ground, best, accuracy, fewest, tops, heights, over):  # type: ignore[no-untyped-def]
    """Climb from every start, until fewer climbs than `fewest` are under way.

    Args:
        starts: `S x D`, inside the box.
        which: `S`, the path that is climbed from each.
        ground: a `Ground`.
        best: `N`, heights reached on each path, raised with every evaluation: climbs that will not come near are
            given up.
        accuracy: gain, in units, that is not worth a step.
        fewest: below so many a batch is slow; 0 to go on to the end.
        tops: `S x D`, overwritten with where each climb is in the end.
        heights: `S`, overwritten.
        over: `S`, overwritten with whether each climb has ended.

    Returns:
        The number of evaluations.
    """
    number, dim = starts.shape
    slots = min(SLOTS, number)
    climbs = _room(slots, dim)
    climb, active = np.full(slots, -1), np.empty(slots, dtype=np.int64)
    X, path = np.empty((slots, dim)), np.empty(slots, dtype=np.int64)
    values, gradients = np.empty(slots), np.empty((slots, dim))
    over[:] = False
    begun, evaluations = 0, 0
    while True:
        size = 0
        for s in range(slots):
            if climb[s] < 0 and begun < number:
                climb[s] = begun
                _begin(climbs, s, starts[begun])
                begun += 1
            if climb[s] >= 0:
                active[size], X[size], path[size] = s, climbs.trial[s], which[climb[s]]
                size += 1
        if size == 0 or (begun == number and size < fewest):
            break
        evaluate_batch(X[:size], path[:size], ground.paths, values[:size], gradients[:size])
        evaluations += size
        for i in range(size):
            s, p = active[i], path[i]
            under_way = _receive(climbs, s, values[i], gradients[i], ground, best[p], accuracy)
            best[p] = max(best[p], climbs.height[s])
            if not under_way:
                tops[climb[s]], heights[climb[s]], over[climb[s]] = climbs.x[s], climbs.height[s], True
                climb[s] = -1
    for s in active[:size]:
        tops[climb[s]], heights[climb[s]] = climbs.x[s], climbs.height[s]
    return evaluations
