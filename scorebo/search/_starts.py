"""The choice among raw points, compiled: of most pairs the distance need not be known."""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit


@njit(error_model="numpy")
def hilltops(points, distance):  # type: ignore[no-untyped-def]
    """Indices of the points, `N x D` in order, that are at least so far from every point before them."""
    order, found = np.arange(len(points)), np.empty(len(points), dtype=np.bool_)
    for i in order:
        found[i] = _is_far(points, i, order[:i], distance)
    return found.nonzero()[0]


@njit(error_model="numpy")
def fill_up(points, chosen, count, distance):  # type: ignore[no-untyped-def]
    """`chosen` indices and, in order, those of the points at least so far from all chosen before, up to `count`."""
    result = np.empty(count, dtype=np.intp)
    result[: len(chosen)] = chosen
    size = len(chosen)
    for i in range(len(points)):
        if size == count:
            break
        if _is_far(points, i, result[:size], distance):
            result[size] = i
            size += 1
    return result[:size]


@njit(error_model="numpy")
def _is_far(points, i, others, distance):  # type: ignore[no-untyped-def]
    for j in others:
        total = 0.0
        for d in range(points.shape[1]):
            total += (points[i, d] - points[j, d]) ** 2
        if total < distance * distance:
            return False
    return True
