"""Average ranks and the difference between them that is more than chance.

Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 2006: Friedman's test (in Iman and
Davenport's form), and Nemenyi's critical difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05


@dataclass(frozen=True)
class RankTest:
    """Methods ranked within blocks (1 is best).

    Args:
        methods: their names.
        ranks: average rank of each.
        blocks: over how many blocks (pairs of task and seed) the ranks are averaged.
        p_value: of the hypothesis that all methods are alike (Iman and Davenport); NaN where it cannot be computed.
        critical_difference: average ranks further apart than this differ (Nemenyi, 95 %).
    """

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    blocks: int
    p_value: float
    critical_difference: float

    def groups(self) -> list[tuple[str, ...]]:
        """The largest sets of methods, in the order of their ranks, that are not told apart."""
        order = sorted(range(len(self.methods)), key=lambda i: (self.ranks[i], self.methods[i]))
        groups: list[tuple[int, ...]] = []
        for first in range(len(order)):
            near = [i for i in order[first:] if self.ranks[i] - self.ranks[order[first]] <= self.critical_difference]
            if len(near) > 1 and not any(set(near) <= set(group) for group in groups):
                groups.append(tuple(near))
        return [tuple(self.methods[i] for i in group) for group in groups]


def rank_test(values: np.ndarray, methods: tuple[str, ...]) -> RankTest:
    """Rank `values`, `blocks x methods` and lower is better, within each block; ties share."""
    from scipy import stats

    values = np.asarray(values, dtype=float)
    blocks, count = values.shape
    ranks = stats.rankdata(values, axis=1)
    average = ranks.mean(axis=0)
    p_value = math.nan
    if blocks > 1 and count > 1:
        # Friedman's χ² as the share of the ranks' variation that lies between the methods; right with ties too.
        total = float(((ranks - (count + 1) / 2) ** 2).sum())
        between = blocks * float(((average - (count + 1) / 2) ** 2).sum())
        if total == 0.0:
            p_value = 1.0
        elif between >= total * (1 - 1e-12):
            p_value = _all_agree(ranks[0], blocks)  # F would be infinite, which few blocks do not warrant
        else:
            f = (blocks - 1) * between / (total - between)
            p_value = float(stats.f.sf(f, count - 1, (count - 1) * (blocks - 1)))
    return RankTest(methods, tuple(average.tolist()), blocks, p_value, critical_difference(count, blocks))


def _all_agree(ranks: np.ndarray, blocks: int) -> float:
    """The probability that all blocks order the methods alike by chance; ties leave fewer orders."""
    _, ties = np.unique(ranks, return_counts=True)
    orders = math.factorial(len(ranks)) / math.prod(map(math.factorial, ties.tolist()))
    return float(orders ** (1 - blocks))


def critical_difference(methods: int, blocks: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference q·√(k(k+1)/(6N)) of average ranks of k methods over N blocks."""
    from scipy import stats

    if methods < 2 or blocks < 1:
        return math.nan
    quantile = float(stats.studentized_range.isf(level, methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(methods * (methods + 1) / (6.0 * blocks))
