"""What a run comes to: its value at the end and its mean level on the way, seed by seed, and which runs are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scorebo.errors import check_choice
from scorebo.report.statistics.regrets import LOG, measured_rows
from scorebo.report.statistics.table import is_maximized, require_values
from scorebo.report.style import label, task_order, title
from scorebo.store.schema import METRICS


@dataclass(frozen=True)
class TaskFinals:
    """One task's runs.

    Args:
        task: its name.
        horizon: the number of observations at which the final value is taken.
        final: the metric at the horizon, one row a seed, one column a method; NaN where a run is missing, ends before
            the horizon, or has no finite value there.
        area: the mean of the metric from the first model to the horizon (the area under the curve over its width).
        notes: what is missing, in words.
    """

    task: str
    horizon: int
    final: pd.DataFrame
    area: pd.DataFrame
    notes: tuple[str, ...]


def finals_by_task(table: pd.DataFrame, metric: str) -> list[TaskFinals]:
    """The outcome of every run by task; smaller is better, so that what is maximized changes its sign."""
    column = compared_column(check_choice("metric", metric, METRICS))
    rows = measured_rows(table, [column])
    require_values(rows, column)
    rows["method"] = method_names(rows)
    task_decides = METRICS[metric].task_decides
    return [
        _task(task, rows[rows["benchmark"] == task], column, task_decides and is_maximized(table, task))
        for task in task_order(rows["benchmark"].unique())
    ]


def compared_column(metric: str) -> str:
    """The column that a metric is compared by: its own, or that of its logarithm."""
    return f"{LOG}{metric}" if METRICS[metric].log else metric


def method_names(rows: pd.DataFrame) -> pd.Series:
    """The acquisition; with its model (`nei@botorch`) where one acquisition has runs under several."""
    models = rows.groupby(["benchmark", "acquisition"])["model"].nunique()
    several = set(models[models > 1].index.get_level_values("acquisition"))
    named = rows["acquisition"] + "@" + rows["model"]
    return rows["acquisition"].where(~rows["acquisition"].isin(several), named)


def method_label(method: str) -> str:
    """A method's name in words."""
    name, _, model = method.partition("@")
    return f"{label(name)} ({model})" if model else label(method)


def horizon_of(rows: pd.DataFrame) -> int:
    """The largest number of observations that at least half of the runs have reached."""
    ends = np.sort(rows.groupby(["method", "seed"])["num_observations"].max().to_numpy())
    return int(ends[len(ends) // 2])


def _task(task: str, rows: pd.DataFrame, column: str, maximized: bool) -> TaskFinals:
    horizon = horizon_of(rows)
    wide = rows.pivot(index="num_observations", columns=["seed", "method"], values=column).sort_index()
    wide = -wide if maximized else wide
    wide = wide[wide.index <= horizon].where(np.isfinite(wide))
    at = wide.index.to_numpy(float)
    final = wide.iloc[-1].unstack("method")
    # A value missing on the way leaves the area unknown: two areas must be of the same points to be compared.
    curves = wide.to_numpy().T.copy()
    area = wide.iloc[0] if len(at) == 1 else pd.Series(np.trapezoid(curves, at) / (at[-1] - at[0]), wide.columns)
    return TaskFinals(task, horizon, final, area.unstack("method"), tuple(_missing(task, final, horizon)))


def _missing(task: str, final: pd.DataFrame, horizon: int) -> list[str]:
    count = final.notna().sum()
    lacking = [f"{method_label(str(m))} {count[m]} of {len(final)}" for m in final.columns if count[m] < len(final)]
    return [f"{title(task)}: runs with a value at {horizon} observations: {', '.join(lacking)}."] if lacking else []
