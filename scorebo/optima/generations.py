"""The search in many dimensions: generations of climbs, each from combinations of the tops of those before.

Tops of a path lie together: what two of them share is mostly part of a higher one. A climb from a combination of two is
short, and ends higher than one from a raw point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebo.optima._batch import in_blocks
from scorebo.optima._lbfgs import Ground, climb_together
from scorebo.optima._search import choose_starts
from scorebo.optima.raw import MANY_DIMENSIONS
from scorebo.optima.structured import Arrays, no_structure

Floats = NDArray[np.float64]

# Generations after the first, at most, and climbs of each path in one. In many dimensions there are too many tops: the
# combinations of few lead to the highest no sooner than as many climbs from raw points.
GENERATIONS, CHILDREN = 12, 8
# A path that so many generations leave as high as it was has its maximum; less of a gain, in units, is none.
PATIENCE = 3
NEWS = 1e-2
# Fewer climbs than these wait for the next generation, whose batches are full again.
FEWEST = 24
# Parents are among this many of the highest tops; tops with heights closer than NEWS are the same.
PARENTS = 6
# Coordinates of a child that neither parent gave.
MUTATION = 0.05
# Gains, in units, that are not worth a step: of a climb in single precision, of one with no generation after it, of the
# last ones, and in double precision.
ROUGH, ROUGH_ALONE, FINE, EXACT = 1e-4, 1e-5, 1e-6, 1e-9
# Highest tops of a path that are climbed on from to the fine accuracy.
FINALISTS = 4


def search_set(
    points: Floats, values: Floats, candidates: NDArray[np.int64], tolerance: Floats, count: int, paths: tuple,
    single: tuple, scale: Floats, lower: Floats, upper: Floats, unit: float, optimal: Floats,
    structures: tuple[Arrays | None, Arrays | None], generator: np.random.Generator,
) -> tuple[int, int]:  # fmt: skip
    """Maximize every path of one set; arguments and results as in `_search.search_set`.

    `count` is the number of climbs of the first generation; the `structures` of the frequencies, where they have
    one, are in double and in single precision; the `generator` mixes the parents of the later generations.
    """
    rough, exact = (Ground(part, scale, lower, upper, unit) for part in map(prepare, (single, paths), structures[::-1]))
    best = np.full(len(values), -np.inf)
    pools = [_Pool(lower, upper, NEWS * unit) for _ in values]
    starts = [points[choose_starts(points, candidates[p], scale, count)] for p in range(len(values))]
    stale = np.zeros(len(values), dtype=int)
    roughly = 0
    last, accuracy = (GENERATIONS, ROUGH) if len(scale) <= MANY_DIMENSIONS else (0, ROUGH_ALONE)
    for generation in range(1 + last):
        before = best.copy()
        tops, heights, over, used = _climb_each(starts, rough, best, accuracy, to_the_end=generation == last)
        roughly += used
        stale = np.where(best > before + NEWS * unit, 0, stale + 1)
        for p, pool in enumerate(pools):
            pool.add(tops[p][over[p]], heights[p][over[p]])
            children = pool.children(CHILDREN if stale[p] < PATIENCE else 0, generator)
            starts[p] = np.concatenate([tops[p][~over[p]], children])
        if not any(len(part) for part in starts):
            break
    tops, heights, _, used = _climb_each([pool.tops[:FINALISTS] for pool in pools], rough, best, FINE)
    highest = [x[[h.argmax()]] for x, h in zip(tops, heights, strict=True)]
    return roughly + used, _finish(highest, points, values, tolerance, exact, optimal)


def prepare(paths: tuple, structure: Arrays | None) -> tuple:
    """The paths of a set as `evaluate_batch` wants them, their waves by their structure where there is one."""
    kernel, omega, a, b, *rest = paths
    if structure is not None:
        omega, a, b = (part[:, :0] for part in (omega, a, b))
    return kernel, *in_blocks(omega, a, b), *rest, no_structure(omega.dtype) if structure is None else structure


class _Pool:
    """The distinct tops of a path, the highest first."""

    def __init__(self, lower: Floats, upper: Floats, news: float) -> None:
        self.lower, self.upper, self.news = lower, upper, news
        self.tops, self.heights = np.empty((0, len(lower))), np.empty(0)

    def add(self, tops: Floats, heights: Floats) -> None:
        """Keep the highest, of equally high ones one."""
        tops, heights = np.concatenate([self.tops, tops]), np.concatenate([self.heights, heights])
        order = np.argsort(-heights, kind="stable")
        kept: list[int] = []
        for i in order:
            if len(kept) < PARENTS and (not kept or heights[kept[-1]] - heights[i] > self.news):
                kept.append(i)
        self.tops, self.heights = tops[kept], heights[kept]

    def children(self, count: int, generator: np.random.Generator) -> Floats:
        """By turns the highest top crossed with another, and one of the tops drawn halfway to the center of the box."""
        if len(self.tops) == 0:
            return np.empty((0, len(self.lower)))
        center, width = 0.5 * (self.lower + self.upper), self.upper - self.lower
        children = np.empty((count, len(self.lower)))
        for i, child in enumerate(children):
            other = self.tops[generator.integers(1 if i % 2 == 0 and len(self.tops) > 1 else 0, len(self.tops))]
            if i % 2 == 0:
                child[:] = np.where(generator.random(len(child)) < 0.5, self.tops[0], other)
            else:
                child[:] = 0.5 * (center + other)
            fresh = generator.random(len(child)) < MUTATION
            child[fresh] = (self.lower + width * generator.random(len(child)))[fresh]
        return children


def _climb_each(
    starts: list[Floats], ground: Ground, best: Floats, accuracy: float, to_the_end: bool = True
) -> tuple[list[Floats], list[Floats], list[NDArray[np.bool_]], int]:
    """Climb every path from its own starts: of each tops, heights and which climbs are over; number of evaluations.

    The first start of every path comes before the second of any, so that all soon know a good height.
    """
    rank = np.concatenate([np.arange(len(part)) for part in starts])
    order = np.argsort(rank, kind="stable")
    which = np.repeat(np.arange(len(starts)), [len(part) for part in starts])[order]
    joined = np.ascontiguousarray(np.concatenate(starts)[order])
    tops, heights, over = np.empty_like(joined), np.empty(len(joined)), np.ones(len(joined), dtype=bool)
    fewest = 0 if to_the_end else min(FEWEST, len(joined) // 4)
    used = climb_together(joined, which, ground, best, accuracy, fewest, tops, heights, over) if len(joined) else 0
    mine = [which == p for p in range(len(starts))]
    return [tops[rows] for rows in mine], [heights[rows] for rows in mine], [over[rows] for rows in mine], used


def _finish(
    highest: list[Floats], points: Floats, screened: Floats, tolerance: Floats, exact: Ground, optimal: Floats
) -> int:
    """Climb on in double precision, also from raw points that may be higher; the number of evaluations."""
    best = np.full(len(highest), -np.inf)
    tops, heights, _, used = _climb_each(highest, exact, best, EXACT)
    higher = [points[row >= best[p] - tolerance[p]] for p, row in enumerate(screened)]
    others, their_heights, _, again = _climb_each(higher, exact, best, EXACT)
    for p, (x, height) in enumerate(zip(others, their_heights, strict=True)):
        every, heights_of_all = np.concatenate([tops[p], x]), np.concatenate([heights[p], height])
        optimal[p] = every[heights_of_all.argmax()]
    return used + again
