"""The methods' relative ranking throughout the runs, averaged over seeds and tasks on a common time axis."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scorebo.report.style import method_order, task_order
from scorebo.seeds import generator

TIME = np.arange(101.0)  # per cent of a run
RESAMPLES = 200
MIN_SEEDS = 3
WINDOW = 11  # points of the time axis in the moving average: ±5 %


@dataclass(frozen=True)
class Ranking:
    """Average ranks (1 is best) of each method at each `TIME`, and what they are averaged over."""

    ranks: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]  # standard errors by resampling seeds; NaN where fewer than three
    seeds: dict[str, int]  # task -> number of seeds that every method has


def ranking(rows: pd.DataFrame, metric: str, window: int = WINDOW, *, sort_indices: bool = False) -> Ranking | None:
    """Rank the methods by the metric (lower is better), per task, seed and number of observations.

    A rank is among all methods of the table, so only seeds, and numbers of observations of a seed, that every method
    has take part. Ties share the mean of their ranks. The mean over seeds is put on a time axis from the task's first
    model (0 %) to its last (100 %); then the mean over tasks and a centered moving average are taken.

    With `sort_indices` a method has not its rank but what stands at its place in the order that sorts the methods (from
    1), as in the authors' plots: the inverse of the ranks as a permutation, which of three or more methods is another.

    Returns:
        None where there are fewer than two methods, or no seed that all of them share.
    """
    methods = method_order(rows["acquisition"].unique())
    per_task, resampled, seeds = [], [], {}
    for benchmark in task_order(rows["benchmark"].unique()):
        ranks = _ranks(rows[rows["benchmark"] == benchmark], metric, methods, sort_indices)
        if not ranks.empty:
            seeds[benchmark] = ranks.index.get_level_values("seed").nunique()
            observed = rows.loc[rows["benchmark"] == benchmark, "num_observations"]
            per_task.append(_on_time_axis(ranks, observed.min(), observed.max()))
            resampled.append(_resample(ranks, observed.min(), observed.max()))
    if len(methods) < 2 or not per_task:
        return None
    stacked = pd.concat(per_task).groupby(level=0).mean()
    smooth = stacked.rolling(window, center=True, min_periods=1).mean().where(stacked.notna())
    errors = _standard_errors(resampled, window, min(seeds.values()) >= MIN_SEEDS)
    return Ranking(
        {method: smooth[method].to_numpy() for method in methods}, dict(zip(methods, errors.T, strict=True)), seeds
    )


def _ranks(task: pd.DataFrame, metric: str, methods: list[str], sort_indices: bool) -> pd.DataFrame:
    """Ranks of one task, a row per (seed, num_observations) that every method has, a column per method."""
    wide = task.pivot(index=["seed", "num_observations"], columns="acquisition", values=metric)
    complete = wide.reindex(columns=methods).dropna()
    if not sort_indices:
        return complete.rank(axis=1, method="average")
    order = np.argsort(complete.to_numpy(), axis=1, kind="stable") + 1.0
    return pd.DataFrame(order, complete.index, complete.columns)


def _on_time_axis(ranks: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """The mean over seeds, linearly interpolated at `TIME`; missing outside the part of the run that is there."""
    mean = ranks.groupby(level="num_observations").mean()
    time = 100 * (mean.index.to_numpy() - first) / max(1, last - first)
    return pd.DataFrame(
        {m: np.interp(TIME, time, mean[m].to_numpy(), left=np.nan, right=np.nan) for m in mean.columns}, index=TIME
    )


def _resample(ranks: pd.DataFrame, first: int, last: int) -> np.ndarray:
    """Ranks at `TIME` averaged over seeds drawn with replacement, `resamples x time x methods`."""
    seeds = ranks.index.get_level_values("seed").unique()
    each = np.stack([_on_time_axis(ranks.loc[[seed]], first, last) for seed in seeds])
    rng = generator("ranking", len(seeds))
    weights = rng.multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), RESAMPLES).astype(float)
    there = np.isfinite(each)
    with np.errstate(invalid="ignore"):  # 0/0 where no seed that was drawn has come so far
        return np.tensordot(weights, np.where(there, each, 0.0), 1) / np.tensordot(weights, there.astype(float), 1)


def _standard_errors(resampled: list[np.ndarray], window: int, enough: bool) -> np.ndarray:
    """Standard deviation over resamples of the smoothed mean over tasks, `time x methods`."""
    half = window // 2
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # the mean of nothing is NaN
        mean = np.nanmean(np.stack(resampled), axis=0)
        padded = np.pad(mean, ((0, 0), (half, half), (0, 0)), constant_values=np.nan)
        smooth = np.nanmean(np.lib.stride_tricks.sliding_window_view(padded, window, axis=1), axis=-1)
    return np.where(np.isfinite(mean).all(axis=0) & enough, smooth.std(axis=0, ddof=1), np.nan)
