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

from scorebo.search._ascent import TINY, Array, Starts, proceed


def ascend(
    function: Callable[[Array], tuple[Array, Array]],
    x: Array,
    maxiter: int,
    first_step: float,
    tolerance: float = 0.0,
    more: Callable[[Array, Array], Array] | None = None,
    few: int = 0,
) -> tuple[Array, Array]:
    """Maximize `function` over the unit box from every start.

    Args:
        function: `b x D` -> values `b` and gradients `b x D`; a trial where either is not finite is not taken.
        x: `b x D`, the starts, in the unit box.
        maxiter: most steps a start takes.
        first_step: length of the first step tried.
        tolerance: a start below the best also ends where neither its last step nor its next rises by more than this
            fraction of its value; 0 for none but the tops themselves.
        more: where the starts are, `b x D`, and their values, `b` -> further starts, `S x D`; they are climbed with
            those still running. The ascent ends when there are neither.
        few: with so many starts running `more` is asked.

    Returns:
        The points reached, `b x D`, and their values, `b`; for a dropped start, where it was dropped.
    """
    starts, running = _begin(x[:0], x[:0, 0], x[:0], first_step), np.arange(0)
    trial, new = x[:0], x
    # Three trials a step are rarely needed; the limit is for a function that never settles.
    for _ in range(3 * maxiter):
        if len(trial) + len(new) == 0:
            break
        value, gradient = (np.ascontiguousarray(part) for part in function(np.concatenate([trial, new])))
        tried = len(trial)
        if len(new) > 0:
            begun = _begin(new, value[tried:], gradient[tried:], first_step)
            finite = np.isfinite(begun.value) & np.isfinite(begun.gradient).all(axis=-1)
            running = np.concatenate([running, len(starts.x) + finite.nonzero()[0]])
            starts = Starts(*(np.concatenate(pair) for pair in zip(starts, begun, strict=True)))
        running, trial = proceed(running, trial, value[:tried], gradient[:tried], maxiter, float(tolerance), *starts)
        new = more(starts.x, starts.value) if more is not None and len(running) <= few else x[:0]
    return starts.x, starts.value


def _begin(x: Array, value: Array, gradient: Array, first_step: float) -> Starts:
    scale = first_step / np.maximum(np.linalg.norm(gradient, axis=-1), TINY)
    return Starts(
        x=x,
        value=value,
        gradient=gradient,
        inverse_hessian=scale[:, None, None] * np.eye(x.shape[-1]),
        direction=np.zeros(x.shape),
        predicted=np.zeros(len(x)),
        step=np.ones(len(x)),
        gain=np.full(len(x), np.inf),
        taken=np.zeros(len(x), dtype=np.intp),
    )
