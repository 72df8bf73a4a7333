"""Batched projected BFGS: many local ascents in a box, all advanced by the same evaluations.

Evaluating a GP acquisition at twenty points costs little more than at one, so what counts is the number of evaluations
in a row. Each one gives every start still running one trial of its line search. Starts that have converged, that have
run into a better one or that cannot catch up with the best are dropped on the way: the batch never waits for its
slowest member.

Bertsekas. Projected Newton methods for optimization problems with simple constraints. SIAM J. Control Optim. 1982.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scorebo.search._ascent import TINY, Array, Starts, advance, aim, trials, worth_continuing


def ascend(
    function: Callable[[Array], tuple[Array, Array]],
    x: Array,
    maxiter: int,
    first_step: float,
    best: float = -np.inf,
    tolerance: float = 0.0,
) -> tuple[Array, Array]:
    """Maximize `function` over the unit box from every start.

    Args:
        function: `b x D` -> values `b` and gradients `b x D`; a trial where either is not finite is not taken.
        x: `b x D`, the starts, in the unit box.
        maxiter: most steps a start takes.
        first_step: length of the first step tried.
        best: a value known from elsewhere; a start that cannot catch up with it is dropped.
        tolerance: a start also ends where neither its last step nor its next rises by more than this fraction of its
            value; 0 for none but the tops themselves.

    Returns:
        The points reached, `b x D`, and their values, `b`; for a dropped start, where it was dropped.
    """
    if len(x) == 0:
        return x, np.empty(0)
    value, gradient = function(x)
    scale = first_step / np.maximum(np.linalg.norm(gradient, axis=-1), TINY)
    starts = Starts(
        x=np.array(x, order="C"),
        value=np.array(value, order="C"),
        gradient=np.array(gradient, order="C"),
        inverse_hessian=scale[:, None, None] * np.eye(x.shape[-1]),
        direction=np.zeros(x.shape),
        predicted=np.zeros(len(x)),
        step=np.ones(len(x)),
        gain=np.full(len(x), np.inf),
        taken=np.zeros(len(x), dtype=np.intp),
    )
    running = (np.isfinite(value) & np.isfinite(gradient).all(axis=-1)).nonzero()[0]
    # Three trials a step are rarely needed; the limit is for a function that never settles.
    for _ in range(3 * maxiter):
        aim(starts, running)
        running = worth_continuing(starts, running, max(best, np.nanmax(starts.value)), maxiter, tolerance)
        if len(running) == 0:
            break
        trial = trials(starts, running)
        value, gradient = function(trial)
        advance(starts, running, trial, np.ascontiguousarray(value), np.ascontiguousarray(gradient))
    return starts.x, starts.value
