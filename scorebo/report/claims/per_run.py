"""From records to one number a run: final values, ranks within a stretch of the run, fluctuation, hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorebo.report.claims.base import MissingRunsError
from scorebo.report.statistics import finals_by_task
from scorebo.report.statistics.final_values import compared_column, horizon_of, method_names
from scorebo.report.statistics.regrets import LEAST, measured_rows
from scorebo.report.style import method_order
from scorebo.store.moments import MEAN, SAMPLES, STD

# Metrics that are shown beside the paper's, by the column that has them in place of its.
BESIDE = {
    "negative_mll": ("in task units", "negative_mll_task_units"),
    "best_observed": ("best noiseless value", "best_noiseless"),
}


def with_beside(table: pd.DataFrame, metric: str) -> tuple[str, pd.DataFrame] | None:
    """What the metric beside a paper's is called, and the table with it in place of the paper's; None without values.

    The two are read alike: they have one sense and one kind of unit.
    """
    name, column = BESIDE[metric]
    if column not in table or not np.isfinite(table[column].astype(float)).any():
        return None
    return name, table.assign(**{metric: table[column]})


def finals(table: pd.DataFrame, metric: str) -> dict[str, pd.DataFrame]:
    """Task -> final values, `seeds x methods`, smaller is better."""
    if metric not in table or not np.isfinite(table[metric].astype(float)).any():
        raise MissingRunsError(f"no values of {metric}")
    return {found.task: _of_task(found.task, found.final) for found in finals_by_task(table, metric)}


def average_ranks(table: pd.DataFrame, metric: str, start: float = 0.0, end: float = 1.0) -> dict[str, pd.DataFrame]:
    """Task -> a run's mean rank among all methods between two fractions of it, `seeds x methods`; ties share."""
    frames = {}
    for task, wide in _curves(table, metric).items():
        complete = wide.dropna()
        if not len(complete):
            raise MissingRunsError(f"no seed of {task} that all methods have")
        at = complete.index.get_level_values("num_observations")
        time = (at - at.min()) / max(1, at.max() - at.min())
        inside = complete[(time >= start) & (time <= end)]
        frames[task] = _of_task(task, inside.rank(axis=1).groupby(level="seed").mean())
    return frames


def _of_task(task: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, which says of which task it is where a method is missing in it."""
    frame.attrs["task"] = task
    return frame


def fluctuation(table: pd.DataFrame, metric: str, task: str) -> pd.DataFrame:
    """How much a run's metric jumps from model to model in its second half: log10 of the mean absolute change."""
    wide = _curves(table, metric).get(task)
    if wide is None:
        raise MissingRunsError(f"no runs on {task}")
    at = wide.index.get_level_values("num_observations")
    late = wide[at >= at.min() + 0.5 * (at.max() - at.min())]
    jumps = late.groupby(level="seed").diff().abs().groupby(level="seed").mean()
    return jumps.clip(lower=LEAST).apply(np.log10)


def _curves(table: pd.DataFrame, metric: str) -> dict[str, pd.DataFrame]:
    """Task -> the metric by (seed, num_observations) and method, up to the horizon."""
    column = compared_column(metric)
    rows = measured_rows(table, [column])
    rows["method"] = method_names(rows)
    rows = rows[np.isfinite(rows[column])]
    if rows.empty:
        raise MissingRunsError(f"no values of {metric}")
    frames = {}
    for task, part in rows.groupby("benchmark"):
        part = part[part["num_observations"] <= horizon_of(part)]
        wide = part.pivot(index=["seed", "num_observations"], columns="method", values=column)
        frames[str(task)] = wide.reindex(columns=method_order(map(str, wide.columns)))
    return frames


def log_hyperparameters(table: pd.DataFrame, task: str) -> pd.DataFrame:
    """Mean and spread of log10 of the hyperparameters over the sets of each model.

    Returns:
        Index (method, seed, num_observations); columns (parameter, "mean" or "std").
    """
    rows = table[table["benchmark"] == task]
    if rows.empty:
        raise MissingRunsError(f"no runs on {task}")
    mean, std = log_moments(rows, [rows["acquisition"].rename("method"), rows["seed"], rows["num_observations"]])
    return pd.concat({"mean": mean, "std": std}, axis=1).swaplevel(axis=1)


def log_moments(table: pd.DataFrame, keys: list[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean and standard deviation of log10 of each hyperparameter over all samples of each group.

    Args:
        table: of `hyperparameter_table`: samples, or their moments, from which those of groups follow.
        keys: series that say which group a row belongs to.
    """
    names = [name for name in parameter_names(table) if table[_column(table, name)].notna().any()]
    if SAMPLES in table:
        return _pooled(table, names, keys)
    logs = pd.DataFrame(np.log10(table[names].astype(float).clip(lower=1e-300)), columns=names)
    groups = logs.groupby(keys)
    return groups.mean(), groups.std()


def _pooled(table: pd.DataFrame, names: list[str], keys: list[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Those of groups whose rows are moments of some samples each."""
    means = table[[MEAN + name for name in names]].set_axis(names, axis=1)
    stds = table[[STD + name for name in names]].set_axis(names, axis=1).fillna(0.0)  # of one sample there is none
    count = means.notna().mul(table[SAMPLES].astype(float), axis=0)
    sums, counts = (means.fillna(0.0) * count).groupby(keys), count.groupby(keys)
    center = sums.transform("sum") / counts.transform("sum")
    squares = ((count - 1.0).clip(lower=0.0) * stds**2 + count * (means - center).fillna(0.0) ** 2).groupby(keys).sum()
    total = counts.sum()
    return sums.sum() / total, (squares / (total - 1.0).where(total > 1.0)).pow(0.5)


def moment(summary: pd.DataFrame, which: str) -> pd.DataFrame:
    """The means, or the standard deviations, of `log_hyperparameters`: one column a parameter."""
    return pd.DataFrame(summary.xs(which, axis=1, level=1))


def parameter_names(table: pd.DataFrame) -> list[str]:
    """Lengthscales by number, outputscale, noise: those the table has."""
    names = [str(name).removeprefix(MEAN) for name in table.columns]
    lengthscales = [name for name in names if name.startswith("lengthscale_")]
    return [*lengthscales, *(name for name in ("outputscale", "noise") if name in names)]


def _column(table: pd.DataFrame, name: str) -> str:
    return MEAN + name if SAMPLES in table else name


def per_run(summary: pd.DataFrame, values: pd.Series, last: bool = False) -> pd.DataFrame:
    """The mean of values along each run (or the last one), `seeds x methods`."""
    values = pd.Series(np.asarray(values, float), index=summary.index)
    groups = values.groupby(level=["seed", "method"])
    return (groups.last() if last else groups.mean()).unstack("method")


def spread(summary: pd.DataFrame, parameters: Sequence[str]) -> pd.DataFrame:
    """A run's share in the spread of log10 of the parameters over sets and runs, in decades, `seeds x methods`.

    The root of the mean square, over models, parameters and sets, of the distance from the method's mean over all
    runs at the same number of observations.
    """
    mean, deviation = (moment(summary, which)[list(parameters)] for which in ("mean", "std"))
    center = mean.groupby(level=["method", "num_observations"]).transform("mean")
    squares = (deviation.fillna(0.0) ** 2 + (mean - center) ** 2).mean(axis=1)
    return per_run(summary, squares).apply(np.sqrt)


def slopes(summary: pd.DataFrame, parameters: Sequence[str]) -> pd.DataFrame:
    """Slope of the parameters' mean log10 over the second half of each run, in decades a hundred observations.

    In the first half parameters that converge move as well. Returns `seeds x methods`.
    """
    level = moment(summary, "mean")[list(parameters)].mean(axis=1).unstack(["method", "seed"]).sort_index()
    at = level.index.to_numpy(float)
    late = level[at >= (at.min() + at.max()) / 2]
    n = late.notna().mul(late.index.to_numpy(float), axis=0).where(late.notna())
    away = n - n.mean()
    return 100.0 * ((away * late).sum() / (away**2).sum()).unstack("method")
