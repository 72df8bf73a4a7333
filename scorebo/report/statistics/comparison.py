"""Methods compared in pairs that share their seed, and so their initial design and noise: per task, and over all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scorebo.errors import InputError, check_choice
from scorebo.report.statistics import intervals
from scorebo.report.statistics.final_values import TaskFinals, finals_by_task
from scorebo.report.statistics.intervals import Estimate
from scorebo.report.statistics.power import seeds_needed
from scorebo.report.statistics.rank_test import RankTest, rank_test
from scorebo.report.statistics.significance import holm, probability_of_improvement, wilcoxon
from scorebo.report.style import method_order
from scorebo.store.schema import METRICS


@dataclass(frozen=True)
class Difference:
    """A method minus another, pair by pair; negative is better.

    Args:
        pairs: how many seeds (pairs of task and seed) both have.
        mean: of the differences.
        iqm: their interquartile mean.
        improvement: probability that the method is the better one of a pair.
        p_value: of the signed-rank test.
        p_holm: corrected for the other comparisons of the same task and kind.
        seeds_needed: in all, to see such a difference (see `power`); None if it cannot be said.
    """

    pairs: int
    mean: Estimate
    iqm: Estimate
    improvement: Estimate
    p_value: float
    p_holm: float
    seeds_needed: int | None


@dataclass(frozen=True)
class Pair:
    """Two methods on one task (None: over all), by the final value and by the area under the curve."""

    task: str | None
    method: str
    baseline: str
    final: Difference
    area: Difference


@dataclass(frozen=True)
class Comparison:
    """All that `compare` finds."""

    metric: str
    pairs: tuple[Pair, ...]
    ranks: dict[str, RankTest]  # by task; "" over all
    horizons: dict[str, int]
    notes: tuple[str, ...]


def compare(table: pd.DataFrame, metric: str, baseline: str | None = None, challenger: str | None = None) -> Comparison:
    """Compare the methods of a table by a metric: with a baseline, a challenger with each other, or each with each."""
    found = finals_by_task(table, metric)
    methods = method_order({str(method) for task in found for method in task.final.columns})
    if len(methods) < 2:
        raise InputError(f"There is nothing to compare: the runs are all of {', '.join(methods)}.")
    if baseline is not None:
        check_choice("baseline", baseline, methods)
        couples = [(method, baseline) for method in methods if method != baseline]
    elif challenger is not None:
        couples = _against(challenger, methods)
    else:
        couples = list(itertools.combinations(methods, 2))
    pairs = [pair for task in found for pair in _compare(task.task, [task], couples, True)]
    if len(found) > 1:
        pairs += _compare(None, found, couples, METRICS[metric].common_unit)
    ranks = {task.task: _ranks([task], methods) for task in found} | {"": _ranks(found, methods)}
    notes = [note for task in found for note in task.notes]
    few = sorted({pair.task or "all" for pair in pairs if 0 < pair.final.pairs < intervals.FEWEST})
    if few:
        notes.append(f"No interval from fewer than {intervals.FEWEST} shared seeds.")
    return Comparison(metric, tuple(pairs), ranks, {task.task: task.horizon for task in found}, tuple(notes))


def _against(challenger: str, methods: list[str]) -> list[tuple[str, str]]:
    """The challenger with each other method; where it has runs under several models, with those under the same one."""
    check_choice("challenger", challenger, {method.partition("@")[0] for method in methods})
    own = [method for method in methods if method.partition("@")[0] == challenger]
    others = [method for method in methods if method not in own]
    couples = []
    for method in own:
        model = method.partition("@")[2]
        couples += [(method, o) for o in others if o.partition("@")[2] in ("", model) or not model]
    return couples


def paired_differences(frame: pd.DataFrame, method: str, baseline: str) -> np.ndarray:
    """Method minus baseline for the seeds that both have."""
    if method not in frame or baseline not in frame:
        return np.empty(0)
    return (frame[method] - frame[baseline]).dropna().to_numpy()


def _compare(
    task: str | None, found: Sequence[TaskFinals], couples: Sequence[tuple[str, str]], averaged: bool
) -> list[Pair]:
    sides = []
    for kind in ("final", "area"):
        groups = [[paired_differences(getattr(part, kind), *couple) for part in found] for couple in couples]
        p_values = [wilcoxon(_pooled(group)) for group in groups]
        adjusted = holm(p_values)
        sides.append([_difference(g, p, a, averaged) for g, p, a in zip(groups, p_values, adjusted, strict=True)])
    return [Pair(task, *couple, *both) for couple, both in zip(couples, zip(*sides, strict=True), strict=True)]


def _difference(groups: list[np.ndarray], p_value: float, adjusted: float, averaged: bool) -> Difference:
    groups = [group for group in groups if len(group)]
    pooled = np.concatenate(groups) if groups else np.empty(0)
    nothing = Estimate(math.nan)
    return Difference(
        pairs=len(pooled),
        mean=intervals.mean(groups) if averaged else nothing,
        iqm=intervals.interquartile_mean(groups) if averaged else nothing,
        improvement=intervals.proportion(probability_of_improvement(pooled) * len(pooled), len(pooled)),
        p_value=p_value,
        p_holm=float(adjusted),
        seeds_needed=seeds_needed(pooled) if len(groups) == 1 else None,
    )


def _pooled(groups: list[np.ndarray]) -> np.ndarray:
    """All differences; those of several tasks each in units of its task's own, so that none drowns the others."""
    if len(groups) == 1:
        return groups[0]
    scaled = [group / (math.sqrt(float(np.mean(group**2))) or 1.0) for group in groups if len(group)]
    return np.concatenate(scaled) if scaled else np.empty(0)


def _ranks(found: Sequence[TaskFinals], methods: list[str]) -> RankTest:
    """Ranks of the final values among all methods, over the seeds that every method has."""
    blocks = [task.final.reindex(columns=methods).dropna().to_numpy() for task in found]
    values = np.concatenate(blocks)
    if not len(values):
        return RankTest(tuple(methods), (math.nan,) * len(methods), 0, math.nan, math.nan)
    return rank_test(values, tuple(methods))
