"""Statements on the order of methods' means: each pair is tested, and the tests are joined.

Resampling cannot decide them. The lowest of several means is lower still in a resample, so that of methods that hardly
differ each is "not the best" in most resamples: a method that is best on all six tasks, by a tenth of a standard
deviation, would be contradicted in four of ten studies. Here every pair has a one-sided paired t test. That all of
several orders hold is shown where each is (Berger. Technometrics 1982), that at least u of T do where (T−u+1) times the
u-th smallest p-value is small (Benjamini, Heller. Biometrics 2008; for u = 1 that is Bonferroni's correction).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.025  # either side
# In standard errors: how far an estimate falls short in the unluckiest fifth of studies.
SHORTFALL = 0.8416

Values = Sequence[np.ndarray]  # a task each, seeds x methods


class Order(ABC):
    """A statistic of the order of means that is above 0 where the statement holds."""

    @abstractmethod
    def __call__(self, values: list[np.ndarray]) -> np.ndarray:
        """The statistic of `resamples x seeds x methods` of each task, one a resample."""

    @abstractmethod
    def bounds(self, values: Values, times: int = 1, shortfall: float = 0.0) -> tuple[float, float]:
        """A 95 % interval of the statistic.

        Args:
            values: of each task.
            times: with that many times the seeds, all else as it is.
            shortfall: standard errors by which every bound is further off.
        """


@dataclass(frozen=True)
class Below(Order):
    """By how much the lowest mean over tasks of the others lies above the highest of one's own.

    `negated`: of the statement that it does not, its negative.
    """

    own: tuple[int, ...]
    others: tuple[int, ...]
    negated: bool = False

    def __call__(self, values: list[np.ndarray]) -> np.ndarray:
        means = np.mean([part.mean(axis=1) for part in values], axis=0)  # resamples x methods
        gap = means[:, list(self.others)].min(axis=1) - means[:, list(self.own)].max(axis=1)
        return -gap if self.negated else gap

    def bounds(self, values: Values, times: int = 1, shortfall: float = 0.0) -> tuple[float, float]:
        from scipy import stats

        pairs = [(own, other) for own in self.own for other in self.others]
        gap, error, freedom = np.array([_gap(values, *pair, times) for pair in pairs]).T
        low = (gap - (stats.t.isf(LEVEL, freedom) + shortfall) * error).min()
        high = (gap + (stats.t.isf(LEVEL / len(pairs), freedom) + shortfall) * error).min()
        return (-float(high), -float(low)) if self.negated else (float(low), float(high))


@dataclass(frozen=True)
class BestCount(Order):
    """On how many tasks the mean of a method (by its column) is below all others', less `least` − ½."""

    own: int
    least: int

    def __call__(self, values: list[np.ndarray]) -> np.ndarray:
        means = np.stack([part.mean(axis=1) for part in values])  # tasks x resamples x methods
        ahead = means[..., self.own] < np.delete(means, self.own, axis=-1).min(axis=-1)
        return ahead.sum(axis=0) - self.least + 0.5

    def bounds(self, values: Values, times: int = 1, shortfall: float = 0.0) -> tuple[float, float]:
        best, not_best = [], []
        for part in values:
            others = [k for k in range(part.shape[1]) if k != self.own]
            below, above = _p_values([_gap([part], self.own, other, times) for other in others], shortfall)
            best.append(below.max())
            not_best.append(len(others) * above.min())
        shift = 0.5 - self.least
        return _most_shown(best) + shift, len(best) - _most_shown(not_best) + shift


@dataclass(frozen=True)
class Ahead(Order):
    """How many others are, on any task, ahead of a method (by its column): at most `most`, plus ½, less that number."""

    own: int
    most: int

    def __call__(self, values: list[np.ndarray]) -> np.ndarray:
        means = np.stack([part.mean(axis=1) for part in values])
        ahead = (np.delete(means, self.own, axis=-1) < means[..., [self.own]]).sum(axis=-1)
        return self.most + 0.5 - ahead.max(axis=0)

    def bounds(self, values: Values, times: int = 1, shortfall: float = 0.0) -> tuple[float, float]:
        ahead_at_least, ahead_at_most = [], []
        for part in values:
            others = [k for k in range(part.shape[1]) if k != self.own]
            below, above = _p_values([_gap([part], other, self.own, times) for other in others], shortfall)
            ahead_at_least.append(_most_shown(below, tasks=len(values)))  # of some task: corrected for all
            ahead_at_most.append(len(others) - _most_shown(above))
        return self.most + 0.5 - max(ahead_at_most), self.most + 0.5 - max(ahead_at_least)


def _gap(values: Values, lower: int, upper: int, times: int) -> tuple[float, float, float]:
    """Mean over tasks of the paired difference of two methods, its standard error and degrees of freedom (Welch)."""
    differences = [part[:, upper] - part[:, lower] for part in values]
    gap = float(np.mean([each.mean() for each in differences]))
    squares = np.array([each.var(ddof=1) / (times * len(each)) for each in differences])
    total = float(squares.sum())
    if math.sqrt(total) <= 1e-12 * max(float(np.abs(part).max()) for part in values):
        return gap, 0.0, 1.0
    freedom = total**2 / float((squares**2 / [times * len(each) - 1 for each in differences]).sum())
    return gap, math.sqrt(total) / len(values), freedom


def _p_values(gaps: Sequence[tuple[float, float, float]], shortfall: float) -> tuple[np.ndarray, np.ndarray]:
    """Of "the lower is below" and of "it is not", for each pair; values that do not vary are sure, and a tie is not."""
    from scipy import stats

    gap, error, freedom = np.array(gaps).T
    sure = np.where(gap > 0, np.inf, -np.inf)
    statistic = np.divide(gap, error, out=sure, where=error > 0)
    return stats.t.sf(statistic - shortfall, freedom), stats.t.sf(-statistic - shortfall, freedom)


def _most_shown(p_values: Sequence[float] | np.ndarray, tasks: int = 1) -> int:
    """The largest u for which it is shown that at least u of the statements hold."""
    ordered = np.sort(np.asarray(p_values))
    count = len(ordered)
    shown = [u for u in range(1, count + 1) if tasks * (count - u + 1) * ordered[u - 1] <= LEVEL]
    return max(shown, default=0)
