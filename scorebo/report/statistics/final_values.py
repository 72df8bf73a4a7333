"""What a run comes to: its value at the end and its mean level on the way, seed by seed, and which runs are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scorebo.errors import check_choice
from scorebo.report.statistics.regrets import LOG, measured_rows
from scorebo.report.statistics.table import require_values
from scorebo.report.style import label, task_order, title


@dataclass(frozen=True)
class Metric:
    """A metric that methods are compared by; smaller is better.

    Args:
        column: of the table, with `log10_` before it where its logarithm is compared.
        words: what it is called.
        experiment: whose runs are compared unless another is named.
        common_unit: whether differences on two tasks can be averaged.
        task_decides: whether larger is better on a task that is maximized (its best observation).
    """

    column: str
    words: str
    experiment: str
    common_unit: bool = True
    task_decides: bool = False


METRICS = {
    "negative_mll": Metric("negative_mll", "negative MLL", "al_mll"),
    "nlpd": Metric("nlpd", "negative log predictive density", "al_mll"),
    "rmse": Metric(f"{LOG}rmse", "log10 RMSE", "al_rmse"),
    "inference_regret": Metric(f"{LOG}inference_regret", "log10 inference regret", "bo_regret"),
    "in_sample_inference_regret": Metric(f"{LOG}in_sample_inference_regret", "log10 in-sample regret", "bo_regret"),
    "simple_regret": Metric(f"{LOG}simple_regret", "log10 simple regret", "bo_regret"),
    "best_observed": Metric("best_observed", "best observation", "saas_final", common_unit=False, task_decides=True),
}


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
    chosen = METRICS[check_choice("metric", metric, METRICS)]
    rows = measured_rows(table, [chosen.column])
    require_values(rows, chosen.column)
    rows["method"] = method_names(rows)
    return [_task(task, rows[rows["benchmark"] == task], chosen) for task in task_order(rows["benchmark"].unique())]


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


def _task(task: str, rows: pd.DataFrame, metric: Metric) -> TaskFinals:
    horizon = horizon_of(rows)
    wide = rows.pivot(index="num_observations", columns=["seed", "method"], values=metric.column).sort_index()
    if metric.task_decides and _is_maximized(wide):
        wide = -wide
    wide = wide[wide.index <= horizon].where(np.isfinite(wide))
    at = wide.index.to_numpy(float)
    final = wide.iloc[-1].unstack("method")
    # A value missing on the way leaves the area unknown: two areas must be of the same points to be compared.
    area = wide.iloc[0] if len(at) == 1 else wide.apply(lambda curve: np.trapezoid(curve, at) / (at[-1] - at[0]))
    return TaskFinals(task, horizon, final, area.unstack("method"), tuple(_missing(task, final, horizon)))


def _is_maximized(wide: pd.DataFrame) -> bool:
    """Whether the best observation of any run ever rises: a run's best can only move in the task's direction."""
    return bool((wide.diff() > 0).any(axis=None))


def _missing(task: str, final: pd.DataFrame, horizon: int) -> list[str]:
    count = final.notna().sum()
    lacking = [f"{method_label(str(m))} {count[m]} of {len(final)}" for m in final.columns if count[m] < len(final)]
    return [f"{title(task)}: runs with a value at {horizon} observations: {', '.join(lacking)}."] if lacking else []
