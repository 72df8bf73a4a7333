"""The kinds of statements claims are made of, each tested on outcomes `seeds x methods` of one or several tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scorebo.report.claims.base import CONTRADICTED, SUPPORTED, UNDECIDED, MissingRunsError, Part, no_runs_on
from scorebo.report.claims.order_tests import LEVEL, SHORTFALL, Below, BestCount, Order
from scorebo.report.statistics import Estimate, intervals
from scorebo.report.statistics.comparison import paired_differences
from scorebo.report.statistics.power import seeds_for_effect, seeds_needed
from scorebo.seeds import generator

RESAMPLES = 2000
FEWEST = 5  # seeds: fewer decide nothing, resampled or not
# A sample of which this share of resamples agree is decided with a probability of 0.8: for a normal statistic that is
# 1.96 + 0.84 standard errors.
PLANNED = 0.9975
LARGEST = 64  # times as many seeds as there are: further ahead nothing is said

Frames = Sequence[pd.DataFrame]
Statistic = Callable[[list[np.ndarray]], np.ndarray]


def greater(words: str, frame: pd.DataFrame, larger: str, smaller: str) -> Part:
    """The mean of one column is above that of another, paired by seed."""
    return positive(words, paired_differences(require(frame, [larger, smaller]), larger, smaller))


def positive(words: str, values: np.ndarray) -> Part:
    """The mean of values, one a seed, is above 0."""
    estimate = intervals.mean([values])
    verdict = {1: SUPPORTED, -1: CONTRADICTED, 0: UNDECIDED}[estimate.side]
    return _enough(Part(words, estimate, len(values), verdict, seeds_needed(values)))


def absent(tasks: Sequence[str]) -> list[Part]:
    """A statement on each of several tasks that cannot be made, since these have no runs; none if all have."""
    if not tasks:
        return []
    return [Part(no_runs_on(tasks), Estimate(math.nan), 0, UNDECIDED, lacking=tuple(tasks))]


def alike(words: str, frames: Frames, first: str, second: str, margin: float, missing: Sequence[str] = ()) -> Part:
    """The mean difference, averaged over tasks, is smaller than `margin` either way, and larger on no task.

    `missing` is as for `holds`. A large difference on some tasks, cancelled by that on others, is not alike.
    """
    groups = [paired_differences(require(frame, [first, second]), first, second) for frame in frames]
    part = within(f"{words} (alike: within ±{margin:g})", groups, margin)
    beyond = sum(_beyond(group, margin, len(groups)) for group in groups)
    if beyond and len(groups) > 1:
        part = replace(part, words=f"{part.words}, beyond on {beyond} of {len(groups)} tasks", verdict=CONTRADICTED)
    return _incomplete(part, missing)


def _beyond(values: np.ndarray, margin: float, tasks: int) -> bool:
    """Whether the mean of one task's values is further from 0 than `margin`, by a t test corrected for all tasks."""
    from scipy import stats

    if len(values) < FEWEST:
        return False
    mean, error = intervals.mean_and_error(values)
    return bool(abs(mean) - margin > stats.t.isf(LEVEL / tasks, len(values) - 1) * error)


def within(words: str, groups: Sequence[np.ndarray], margin: float) -> Part:
    """The mean over groups of the mean of their values, one a seed, is nearer to 0 than `margin`."""
    estimate = intervals.mean(groups)
    inside = -margin < estimate.low and estimate.high < margin
    outside = estimate.low > margin or estimate.high < -margin
    verdict = SUPPORTED if inside else CONTRADICTED if outside else UNDECIDED
    room = abs(margin - abs(estimate.value))
    spread = math.sqrt(float(np.mean([group.var(ddof=1) for group in groups if len(group) > 1] or [math.nan])))
    spread /= math.sqrt(len(groups))
    needed = seeds_for_effect(room / spread) if spread > 0 else None
    return _enough(Part(words, estimate, min(map(len, groups)), verdict, needed))


def _enough(part: Part) -> Part:
    """The statement, which a few seeds do not decide: a claim has many, and one that is contradicted decides it."""
    if part.seeds >= FEWEST:
        return part
    return replace(part, verdict=UNDECIDED, needed=max(FEWEST, part.needed or 0) if part.seeds else None)


def holds(
    words: str, frames: Frames, methods: Sequence[str], statistic: Statistic, missing: Sequence[str] = ()
) -> Part:
    """A statistic of the outcomes of several tasks is above 0.

    Its interval is that of an order, or comes from resampling the seeds of each task.

    Args:
        words: the statistic.
        frames: a task each.
        methods: the columns that are needed; seeds that lack one are left out.
        statistic: from a list of `resamples x seeds x methods` to `resamples`.
        missing: the tasks without runs, without which the statement cannot be decided.
    """
    values = [require(frame, methods)[list(methods)].dropna().to_numpy() for frame in frames]
    seeds = min(map(len, values), default=0)
    if not seeds:
        raise MissingRunsError(f"no seed with runs of {', '.join(methods)}")
    value = float(statistic([part[None] for part in values])[0])
    if seeds < FEWEST:
        return _incomplete(Part(words, Estimate(value), seeds, UNDECIDED, FEWEST), missing)
    if isinstance(statistic, Order):
        bounds = statistic.bounds(values)
        estimate, verdict = Estimate(value, *bounds), _side(*bounds)
    else:
        found = _resampled(values, statistic, 1)
        tail = expanded_tail(seeds)
        estimate = Estimate(value, *(float(q) for q in np.quantile(found, [tail, 1 - tail])))
        share = float(np.mean(found > 0))
        verdict = SUPPORTED if share >= 1 - tail else CONTRADICTED if share <= tail else UNDECIDED
    if missing:
        return _incomplete(Part(words, estimate, seeds, verdict), missing)
    needed = _seeds_to_decide(values, statistic, seeds) if verdict == UNDECIDED else None
    return Part(words, estimate, seeds, verdict, needed)


def _side(low: float, high: float) -> str:
    """What an interval says of "above 0": values that do not vary may be 0 exactly, which is not above."""
    return SUPPORTED if low > 0 else CONTRADICTED if high <= 0 else UNDECIDED


def _incomplete(part: Part, missing: Sequence[str]) -> Part:
    """A statement over several tasks, which is undecided if some of them have no runs."""
    if not missing:
        return part
    words = f"{part.words} ({no_runs_on(missing)})"
    return replace(part, words=words, verdict=UNDECIDED, needed=None, lacking=tuple(missing))


def expanded_tail(seeds: int) -> float:
    """The share of resamples beyond either end of a 95 % interval.

    Resamples of n values vary less than the values' mean does, by (n−1)/n, and have the normal's tails, not Student's;
    an interval of smaller tails makes up for both (Hesterberg. What teachers should know about the bootstrap. 2015).
    """
    from scipy import stats

    return float(stats.norm.sf(math.sqrt(seeds / (seeds - 1)) * stats.t.isf(0.025, seeds - 1)))


def require(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The frame, if it has these columns."""
    lacking = [method for method in methods if method not in frame.columns]
    if lacking:
        where = f" on {frame.attrs['task']}" if "task" in frame.attrs else ""
        raise MissingRunsError(f"no runs of {', '.join(lacking)}{where}")
    return frame


def _resampled(values: list[np.ndarray], statistic: Statistic, times: int) -> np.ndarray:
    rng = generator("claims", times, *(len(part) for part in values))
    draws = [part[rng.integers(0, len(part), (RESAMPLES // (1 + times // 8), times * len(part)))] for part in values]
    return statistic(draws)


def _seeds_to_decide(values: list[np.ndarray], statistic: Statistic, seeds: int) -> int | None:
    """Seeds (a multiple of those there are) with which the statement would be decided, taking these for all."""
    times = 1
    while times <= LARGEST:
        if _would_decide(values, statistic, times):
            return times * seeds
        times *= 2
    return None


def _would_decide(values: list[np.ndarray], statistic: Statistic, times: int) -> bool:
    if isinstance(statistic, Order):
        return _side(*statistic.bounds(values, times, SHORTFALL)) != UNDECIDED
    share = float(np.mean(_resampled(values, statistic, times) > 0))
    return max(share, 1 - share) >= PLANNED


def best_count(own: int, least: int) -> Order:
    """On how many tasks the mean of a method (by its column) is below all others', less `least` − ½."""
    return BestCount(own, least)


def below_others(own: Sequence[int], others: Sequence[int]) -> Order:
    """By how much the lowest mean over tasks of the others lies above the highest of one's own."""
    return Below(tuple(own), tuple(others))
