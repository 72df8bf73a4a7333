"""The choice among raw points, compiled: of most pairs the distance need not be known."""

from __future__ import annotations

import numpy as np

from scorebo._numba.cache import njit


@njit(error_model="numpy")
def hilltops(points, distance):  # type: ignore[no-untyped-def]
    """Indices of the points, `N x D` in order, that are at least so far from every point before them."""
    found = np.empty(len(points), dtype=np.bool_)
    for i in range(len(points)):
        found[i] = True
        for j in range(i):
            if _squared_distance(points, i, j) < distance * distance:
                found[i] = False
                break
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
        far = True
        for k in range(size):
            if _squared_distance(points, i, result[k]) < distance * distance:
                far = False
                break
        if far:
            result[size] = i
            size += 1
    return result[:size]


@njit(error_model="numpy")
def _squared_distance(points, i, j):  # type: ignore[no-untyped-def]
    total = 0.0
    for d in range(points.shape[1]):
        total += (points[i, d] - points[j, d]) ** 2
    return total
