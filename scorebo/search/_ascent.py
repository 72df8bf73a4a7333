"""The books of a batched ascent, compiled: where each start goes next, which starts go on, what a step taught.

The arrays are small, and a step needs some sixty operations on them: as calls of NumPy these cost more than the
function that is climbed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebo._numba.cache import njit

Array = NDArray[np.float64]

# A start gives up when this many times its expected gain would not lift it to the best ...
PATIENCE = 20.0
# ... but not before it has made this many steps.
TRIAL_STEPS = 2
# Two starts climb the same hill if they are this close in every coordinate of the unit box ...
MERGE_DISTANCE = 5e-3
# ... or this close and both about to come closer by this factor.
NEIGHBOR_DISTANCE = 0.2
CONTRACTION = 0.5
# Longest step in any coordinate: a longer one leaves the hill.
LONGEST_STEP = 0.25
# A quasi-Newton step of which only this fraction could be taken was far too long.
SHORT_STEP = 0.2
# A line search ends here.
LEAST_STEP = 1e-9
RELATIVE_TOLERANCE = 1e-10
TINY = 1e-300

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


class Starts(NamedTuple):
    """Where every start is; of those that were dropped, where they were then.

    Attributes:
        x: `b x D`.
        value: `b`, f(x).
        gradient: `b x D`.
        inverse_hessian: `b x D x D`, of −f.
        direction: `b x D`, to the top of the quadratic model.
        predicted: `b`, the rise of the quadratic model along it.
        step: `b`, the fraction of it to be tried.
        gain: `b`, the rise of the last step; infinite before the first and after one through a convex region.
        taken: `b`, number of steps taken.
    """

    x: Array
    value: Array
    gradient: Array
    inverse_hessian: Array
    direction: Array
    predicted: Array
    step: Array
    gain: Array
    taken: NDArray[np.intp]


@njit(**_options)
def proceed(running, trial, value, gradient, maxiter, tolerance, *starts):  # type: ignore[no-untyped-def]
    """Take the steps of the first of the starts `running` to `trial`; which starts go on, and their next trials.

    `starts` are the fields of `Starts`: to look up the type of a named tuple takes Numba longer than all of this.
    """
    starts = Starts(*starts)
    _advance(starts, running[: len(trial)], trial, value, gradient)
    _aim(starts, running)
    running = _worth_continuing(starts, running, np.nanmax(starts.value), maxiter, tolerance)
    return running, _trials(starts, running)


@njit(**_options)
def _aim(starts, running):  # type: ignore[no-untyped-def]
    """Set the quasi-Newton direction within the free coordinates."""
    dim = starts.x.shape[1]
    for s in running:
        direction, gradient, x = starts.direction[s], starts.gradient[s], starts.x[s]
        direction[:] = 0.0
        for i in range(dim):
            if _is_free(x[i], gradient[i]):
                _add_multiple(direction, gradient[i], starts.inverse_hessian[s, i])
        longest = LONGEST_STEP
        for i in range(dim):
            if not _is_free(x[i], gradient[i]):
                direction[i] = 0.0
            longest = max(longest, abs(direction[i]))
        shorter = LONGEST_STEP / longest
        slope = 0.0
        for i in range(dim):
            direction[i] *= shorter
            slope += gradient[i] * direction[i]
        # The rise of the quadratic model, along as much of the step as is taken.
        starts.predicted[s] = (1.0 - 0.5 * shorter) * slope


@njit(**_options)
def _worth_continuing(starts, running, best, maxiter, tolerance):  # type: ignore[no-untyped-def]
    """Those of the starts `running` that are not at their top, have a chance, and are alone on their hill."""
    going_on = np.empty(len(running), dtype=np.bool_)
    for k, s in enumerate(running):
        expected = max(starts.predicted[s], starts.gain[s])
        # Near the top a small predicted rise is enough; on the way there the last step must have been small, too.
        settled = starts.predicted[s] <= RELATIVE_TOLERANCE * abs(starts.value[s]) or starts.step[s] < LEAST_STEP
        settled = settled or (starts.value[s] < best and expected <= tolerance * abs(starts.value[s]))
        behind = starts.taken[s] >= TRIAL_STEPS and starts.value[s] + PATIENCE * expected < best
        going_on[k] = not settled and not behind and starts.taken[s] < maxiter
    for k, s in enumerate(running):
        for other in running:
            # By value, then by position, so that of two equal starts one remains.
            better = starts.value[other] > starts.value[s] or (starts.value[other] == starts.value[s] and other < s)
            if going_on[k] and better and _on_one_hill(starts, s, other):
                going_on[k] = False
    return running[going_on]


@njit(**_options)
def _trials(starts, running):  # type: ignore[no-untyped-def]
    """Where the function is to be evaluated next, one point for each start. `len(running) x D`."""
    points = np.empty((len(running), starts.x.shape[1]))
    for k, s in enumerate(running):
        for i in range(points.shape[1]):
            points[k, i] = _clipped(starts.x[s, i] + starts.step[s] * starts.direction[s, i])
    return points


@njit(**_options)
def _advance(starts, running, trial, value, gradient):  # type: ignore[no-untyped-def]
    """Take the steps that rise enough (Armijo), shorten the others."""
    for k, s in enumerate(running):
        moved = trial[k] - starts.x[s]
        slope = 0.0
        usable = np.isfinite(value[k])
        for i in range(len(moved)):
            slope += starts.gradient[s, i] * moved[i]
            usable = usable and np.isfinite(gradient[k, i])
        rise = value[k] - starts.value[s]
        if not (usable and rise >= 1e-4 * slope and slope > 0.0):
            # To the top of the parabola through both values and the slope, kept between a tenth and a half of the step.
            top = 0.5 * slope / (slope - rise) if usable and slope > rise else 0.0
            starts.step[s] *= min(max(top, 0.1), 0.5)
            continue
        concave = _learn(starts, s, moved, gradient[k])
        # What a climb through a convex region will gain cannot be told from its last step.
        starts.gain[s] = rise if concave else np.inf
        starts.x[s] = trial[k]
        starts.value[s] = value[k]
        starts.gradient[s] = gradient[k]
        starts.step[s] = 1.0
        starts.taken[s] += 1


@njit(**_options)
def _learn(starts, s, moved, gradient):  # type: ignore[no-untyped-def]
    """BFGS update of the inverse Hessian of −f by a step to a point of this gradient, in the free coordinates.

    Returns:
        Whether f is concave along the step.
    """
    dim = len(moved)
    change = np.zeros(dim)
    curvature, square, length = 0.0, 0.0, 0.0
    for i in range(dim):
        if _is_free(starts.x[s, i], starts.gradient[s, i]):
            change[i] = starts.gradient[s, i] - gradient[i]
            curvature += moved[i] * change[i]
            square += moved[i] * moved[i]
            length += change[i] * change[i]
        else:
            moved[i] = 0.0
    inverse = starts.inverse_hessian[s]
    concave = curvature > 1e-10 * np.sqrt(square * length)
    # A step that had to be cut this much says that the scale was wrong in every direction.
    scale = starts.step[s] if starts.step[s] < SHORT_STEP else 1.0
    if not concave:
        # There is nothing to learn but to go further.
        inverse *= 4.0 * scale
        return False
    if starts.taken[s] == 0:
        # The first pair sets the scale, which the first step only guessed.
        inverse[:] = 0.0
        for i in range(dim):
            inverse[i, i] = curvature / max(length, TINY)
    else:
        inverse *= scale
    product = np.zeros(dim)
    for i in range(dim):
        _add_multiple(product, change[i], inverse[i])
    weight = 0.0
    for i in range(dim):
        weight += change[i] * product[i]
    weight = (1.0 + weight / curvature) / curvature
    half = 0.5 * weight * moved - product / curvature
    for i in range(dim):
        _add_multiple(inverse[i], half[i], moved)
        _add_multiple(inverse[i], moved[i], half)
    return True


@njit(**_options)
def _on_one_hill(starts, s, other):  # type: ignore[no-untyped-def]
    """Whether two starts are about to arrive at the same top."""
    distance, distance_of_targets = 0.0, 0.0
    for i in range(starts.x.shape[1]):
        distance = max(distance, abs(starts.x[s, i] - starts.x[other, i]))
        if distance >= NEIGHBOR_DISTANCE:
            return False
        target = _clipped(starts.x[s, i] + starts.direction[s, i])
        target_of_other = _clipped(starts.x[other, i] + starts.direction[other, i])
        distance_of_targets = max(distance_of_targets, abs(target - target_of_other))
    both_concave = np.isfinite(starts.gain[s]) and np.isfinite(starts.gain[other])
    return distance < MERGE_DISTANCE or (both_concave and distance_of_targets < CONTRACTION * distance)


@njit(**_options)
def _is_free(x, slope):  # type: ignore[no-untyped-def]
    """Whether the gradient does not press a coordinate against a bound."""
    return not ((x <= 0.0 and slope < 0.0) or (x >= 1.0 and slope > 0.0))


@njit(**_options)
def _clipped(x):  # type: ignore[no-untyped-def]
    return min(max(x, 0.0), 1.0)


@njit(**_options)
def _add_multiple(total, factor, row):  # type: ignore[no-untyped-def]
    for j in range(len(total)):
        total[j] += factor * row[j]
