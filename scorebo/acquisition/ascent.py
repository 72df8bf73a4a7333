"""Batched projected BFGS: many local ascents in a box, all advanced by the same evaluations.

Evaluating a GP acquisition at twenty points costs little more than at one, so what counts is the number of evaluations
in a row. Each one gives every start still running one trial of its line search. Starts that have converged, that have
run into a better one or that cannot catch up with the best are dropped on the way: the batch never waits for its
slowest member. The arrays are small, so NumPy, whose calls cost less than PyTorch's, keeps the books.

Bertsekas. Projected Newton methods for optimization problems with simple constraints. SIAM J. Control Optim. 1982.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A start gives up when this many times its expected gain would not lift it to the best ...
PATIENCE = 20.0
# ... but not before it has made this many steps.
TRIAL_STEPS = 2
# Two starts climb the same hill if they are this close in every coordinate of the unit box ...
MERGE_DISTANCE = 5e-3
# ... or this close and both about to come closer by this factor.
NEIGHBOUR_DISTANCE = 0.2
CONTRACTION = 0.5
# Longest step in any coordinate: a longer one leaves the hill.
LONGEST_STEP = 0.25
# A quasi-Newton step of which only this fraction could be taken was far too long.
SHORT_STEP = 0.2
RELATIVE_TOLERANCE = 1e-10
TINY = 1e-300


@dataclass
class _Starts:
    """The starts still running; the first dimension of every array."""

    index: NDArray[np.intp]
    x: Array
    value: Array
    gradient: Array
    inverse_hessian: Array
    direction: Array
    predicted: Array
    step: Array
    gain: Array
    taken: NDArray[np.intp]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        if mask.all():
            return
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[mask])


def ascend(
    function: Callable[[Array], tuple[Array, Array]], x: Array, maxiter: int, first_step: float
) -> tuple[Array, Array]:
    """Maximise `function` over the unit box from every start.

    Args:
        function: `b x D` -> values `b` and gradients `b x D`; a trial where either is not finite is not taken.
        x: `b x D`, the starts, in the unit box.
        maxiter: most steps a start takes.
        first_step: length of the first step tried.

    Returns:
        The points reached, `b x D`, and their values, `b`; for a dropped start, where it was dropped.
    """
    if len(x) == 0:
        return x, np.empty(0)
    value, gradient = function(x)
    reached, height = x.copy(), value.copy()
    scale = first_step / np.maximum(np.linalg.norm(gradient, axis=-1), TINY)
    starts = _Starts(
        index=np.arange(len(x)),
        x=x,
        value=value,
        gradient=gradient,
        inverse_hessian=scale[:, None, None] * np.eye(x.shape[-1]),
        direction=np.zeros_like(x),
        predicted=np.zeros(len(x)),
        step=np.ones(len(x)),
        gain=np.full(len(x), np.inf),
        taken=np.zeros(len(x), dtype=np.intp),
    )
    starts.keep(np.isfinite(value) & np.isfinite(gradient).all(axis=-1))
    # Three trials a step are rarely needed; the limit is for a function that never settles.
    for _ in range(3 * maxiter):
        _aim(starts)
        starts.keep(_worth_continuing(starts, float(np.nanmax(height)), maxiter))
        if len(starts.x) == 0:
            break
        trial = np.clip(starts.x + starts.step[:, None] * starts.direction, 0.0, 1.0)
        _advance(starts, trial, *function(trial))
        reached[starts.index], height[starts.index] = starts.x, starts.value
    return reached, height


def _free(starts: _Starts) -> NDArray[np.bool_]:
    """The coordinates that the gradient does not press against a bound."""
    return ~(((starts.x <= 0.0) & (starts.gradient < 0)) | ((starts.x >= 1.0) & (starts.gradient > 0)))


def _aim(starts: _Starts) -> None:
    """Set the quasi-Newton direction within the free coordinates."""
    free = _free(starts)
    direction = free * (starts.inverse_hessian @ (free * starts.gradient)[:, :, None])[:, :, 0]
    longest = np.abs(direction).max(axis=-1, keepdims=True)
    shorter = LONGEST_STEP / np.maximum(longest, LONGEST_STEP)
    # The rise of the quadratic model, along as much of the step as is taken.
    starts.direction = direction * shorter
    starts.predicted = (1.0 - 0.5 * shorter[:, 0]) * (starts.gradient * starts.direction).sum(axis=-1)


def _worth_continuing(starts: _Starts, best: float, maxiter: int) -> NDArray[np.bool_]:
    settled = (starts.predicted <= RELATIVE_TOLERANCE * np.abs(starts.value)) | (starts.step < 1e-9)
    expected = np.maximum(starts.predicted, starts.gain)
    behind = (starts.taken >= TRIAL_STEPS) & (starts.value + PATIENCE * expected < best)
    # The order is by value, then by position, so that of two equal starts one remains.
    rank = np.lexsort((starts.index, -starts.value)).argsort()
    distance = np.abs(starts.x[:, None] - starts.x).max(axis=-1)
    target = np.clip(starts.x + starts.direction, 0.0, 1.0)
    contracting = np.abs(target[:, None] - target).max(axis=-1) < CONTRACTION * distance
    concave = np.isfinite(starts.gain)
    approaching = contracting & (distance < NEIGHBOUR_DISTANCE) & concave & concave[:, None]
    same = (distance < MERGE_DISTANCE) | approaching
    merged = (same & (rank < rank[:, None])).any(axis=-1)
    return ~(settled | behind | merged) & (starts.taken < maxiter)


def _advance(starts: _Starts, trial: Array, value: Array, gradient: Array) -> None:
    """Take the steps that rise enough (Armijo), shorten the others."""
    moved = trial - starts.x
    slope = (starts.gradient * moved).sum(axis=-1)
    rise = value - starts.value
    usable = np.isfinite(value) & np.isfinite(gradient).all(axis=-1)
    taken = usable & (rise >= 1e-4 * slope) & (slope > 0)
    # The top of the parabola through both values and the slope, kept between a tenth and a half of the step.
    fall = np.where(usable & (slope > rise), slope - rise, np.inf)
    tried = starts.step
    starts.step = np.where(taken, 1.0, tried * np.clip(0.5 * slope / fall, 0.1, 0.5))
    concave = _learn(starts, moved, np.where(usable[:, None], gradient, 0.0), taken, tried)
    # What a climb through a convex region will gain cannot be told from its last step.
    starts.gain = np.where(taken, np.where(concave, rise, np.inf), starts.gain)
    starts.x = np.where(taken[:, None], trial, starts.x)
    starts.value = np.where(taken, value, starts.value)
    starts.gradient = np.where(taken[:, None], gradient, starts.gradient)
    starts.taken = starts.taken + taken


def _learn(starts: _Starts, moved: Array, gradient: Array, taken: NDArray[np.bool_], step: Array) -> NDArray[np.bool_]:
    """BFGS update of the inverse Hessian of −f, in the free coordinates, by the steps taken.

    Returns:
        Where f is concave along the step, `b`.
    """
    free = _free(starts)
    moved, change = free * moved, free * (starts.gradient - gradient)
    curvature = (moved * change).sum(axis=-1)
    length = (change * change).sum(axis=-1)
    concave = curvature > 1e-10 * np.sqrt((moved * moved).sum(axis=-1) * length)
    update = taken & concave
    safe = np.where(update, curvature, 1.0)
    # A step that had to be cut this much says that the scale was wrong in every direction.
    scale_down = np.where(taken & (step < SHORT_STEP), step, 1.0)
    # Where f is convex along the step there is nothing to learn but to go further.
    further = np.where(taken & ~concave, 4.0, 1.0)
    # In place: the matrices of a hundred starts in 388 dimensions are 130 MB, and so is every copy.
    inverse = starts.inverse_hessian
    inverse *= (scale_down * further)[:, None, None]
    # The first pair sets the scale, which the first step only guessed.
    first = update & (starts.taken == 0)
    if first.any():
        scale = safe / np.maximum(length, TINY)
        inverse[first] = scale[first, None, None] * np.eye(moved.shape[-1])
    product = (inverse @ change[:, :, None])[:, :, 0]
    weight = (1.0 + (change * product).sum(axis=-1) / safe) / safe
    half = np.where(update[:, None], 0.5 * weight[:, None] * moved - product / safe[:, None], 0.0)
    cross = half[:, :, None] * moved[:, None, :]
    inverse += cross
    inverse += cross.swapaxes(-1, -2)
    return concave
