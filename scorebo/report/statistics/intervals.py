"""Mean and interquartile mean of paired differences, with 95 % intervals that hold what they say for few seeds.

Percentile and BCa bootstrap intervals of a mean of five values cover 73-85 % instead of 95 %
(`scripts/validation/interval_coverage.py`: normal, t, exponential, lognormal), so the bootstrap is studentized: the
distribution of (estimate − truth)/(standard error) is resampled, not that of the estimate; it covers 89-95 %. A rare
second mode that five values do not show is missed by all of them.

From fewer than five values too few different resamples can be drawn, and the interquartile mean of fewer than
ten has resamples without any spread, which have no standard error: Student's t is taken there (for the interquartile
mean Tukey and McLaughlin's).

Efron, Tibshirani. An introduction to the bootstrap. 1993, chapter 12. Tukey, McLaughlin. Sankhyā 1963.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scorebo.seeds import generator

LEVEL = 0.05
RESAMPLES = 2000
FEWEST = 3  # values: fewer have no interval
FEW = {"mean": 5, "iqm": 10}  # values, below which the interval is not resampled

Moments = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95 % interval; the interval is NaN where there are too few values for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def side(self) -> int:
        """−1 or 1 if the whole interval lies below or above 0; 0 if it does not, or if there is none."""
        return -1 if self.high < 0 else 1 if self.low > 0 else 0


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the last axis."""
    return values.mean(-1), values.std(-1, ddof=1) / math.sqrt(values.shape[-1])


def interquartile_mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the middle half (the quarter at each end rounded down), and its standard error by winsorizing."""
    count = values.shape[-1]
    cut = count // 4
    ordered = np.sort(values, -1)
    winsorized = np.clip(ordered, ordered[..., cut, None], ordered[..., count - 1 - cut, None])
    kept = count - 2 * cut
    error = np.sqrt(winsorized.var(-1, ddof=1) * (count - 1) / (kept * (kept - 1)))
    return ordered[..., cut : count - cut].mean(-1), error


def mean(groups: Sequence[np.ndarray]) -> Estimate:
    """The mean over groups (tasks) of the mean over their values (seeds), with its interval; see `_interval`."""
    return _interval(groups, mean_and_error, FEW["mean"], lambda count: count - 1)


def interquartile_mean(groups: Sequence[np.ndarray]) -> Estimate:
    """The same for the interquartile mean within each group."""
    return _interval(groups, interquartile_mean_and_error, FEW["iqm"], lambda count: count - 2 * (count // 4) - 1)


def proportion(successes: float, count: int) -> Estimate:
    """A proportion with Wilson's interval, which is right for few values and at 0 and 1; ties may count half."""
    from scipy import stats

    if not count:
        return Estimate(math.nan)
    share, z = successes / count, float(stats.norm.isf(LEVEL / 2))
    center = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return Estimate(share, max(0.0, center - half), min(1.0, center + half))


def _interval(groups: Sequence[np.ndarray], moments: Moments, few: int, freedom: Callable[[int], int]) -> Estimate:
    """The mean of the groups' estimates; values are resampled within their group, each group a stratum of its own.

    Args:
        groups: values of each group, of any length.
        moments: estimate and standard error over the last axis.
        few: number of values of a group below which Student's t replaces resampling.
        freedom: degrees of freedom of a group's t statistic.
    """
    groups = [np.asarray(group, dtype=float) for group in groups if len(group)]
    if not groups:
        return Estimate(math.nan)
    estimates, errors = zip(*(_moments(group, moments) for group in groups), strict=True)
    value, error = float(np.mean(estimates)), math.hypot(*errors) / len(groups)
    if min(map(len, groups)) < FEWEST or not math.isfinite(error):
        return Estimate(value)
    scale = max(float(np.abs(group).max()) for group in groups)
    if error <= 1e-12 * scale:  # values that do not vary
        return Estimate(value, value, value)
    if min(map(len, groups)) < few:
        low, high = _student(errors, [freedom(len(group)) for group in groups])
    else:
        low, high = _studentized(groups, moments, value, scale)
    return Estimate(value, value + low * error, value + high * error)


def _moments(group: np.ndarray, moments: Moments) -> tuple[float, float]:
    if len(group) == 1:
        return float(group[0]), math.nan
    estimate, error = moments(group)
    return float(estimate), float(error)


def _studentized(groups: list[np.ndarray], moments: Moments, value: float, scale: float) -> tuple[float, float]:
    """Quantiles of (value − estimate)/error over resamples."""
    rng = generator("bootstrap", *(len(group) for group in groups))
    total, variance = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for group in groups:
        estimate, error = moments(group[rng.integers(0, len(group), (RESAMPLES, len(group)))])
        total += estimate
        variance += error**2
    error = np.sqrt(variance) / len(groups)
    usable = error > 1e-12 * scale  # a resample of one value repeated has none
    t = (value - total[usable] / len(groups)) / error[usable]
    low, high = np.quantile(t, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _student(errors: Sequence[float], freedom: list[int]) -> tuple[float, float]:
    """Quantiles of Student's t with Welch and Satterthwaite's degrees of freedom."""
    from scipy import stats

    squares = np.square(errors)
    effective = squares.sum() ** 2 / (squares**2 / np.asarray(freedom)).sum()
    critical = float(stats.t.isf(LEVEL / 2, effective))
    return -critical, critical
