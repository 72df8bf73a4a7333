"""The tidy table as the reports read it: one row per run and model, checked once, here.

A table has the columns `benchmark`, `model`, `acquisition`, `seed`, `num_observations` and the metrics. Rows without
`num_observations` are the initial points, before any model was fitted; where `has_metrics` is false none were computed.
Where `run_id` and `run` (the folder) are there, they tell runs of one name apart; further columns are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from scorebo.errors import InputError
from scorebo.report.style import method_order, task_order, title
from scorebo.store import schema

NAMES = list(schema.NAMES)
RUN = list(schema.WHO)
KEYS = [*RUN, "num_observations"]


def model_rows(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """The rows that describe a fitted model: `KEYS` and the metrics as float64, ordered by run and observations.

    Of `MODEL_METRICS` only numbers of observations stay at which every model of the task that there is has metrics:
    otherwise the mean over runs would be of others from one number to the next.
    """
    missing = [column for column in [*KEYS, *metrics] if column not in table.columns]
    if missing:
        raise InputError(f"The table of results lacks the column(s) {', '.join(missing)}.")
    if table.empty:
        raise InputError("The table of results is empty: no runs were found.")
    table = table.reset_index(drop=True)
    rows = table.loc[table["num_observations"].notna(), [*KEYS, *metrics]].copy()
    if rows.empty:
        raise InputError("The table of results has no row with metrics: no run has got past its initial design.")
    for column in ["seed", "num_observations", *metrics]:
        rows[column] = _numbers(rows[column])
    if rows[RUN].isna().any(axis=None) or not np.isfinite(rows[["seed", "num_observations"]]).all(axis=None):
        raise InputError("The table of results has rows without benchmark, model, acquisition or seed.")
    rows = rows.astype({**dict.fromkeys(NAMES, str), "seed": int, "num_observations": int})
    _refuse_two_runs_in_one(table, rows)
    if "has_metrics" in table.columns and not set(metrics).isdisjoint(schema.MODEL_METRICS):
        # True and False, nothing for tables of which it is not known; read from a CSV file, objects.
        without = table.loc[rows.index, "has_metrics"].astype(object).isin([False])
        rows = rows[~without.groupby([rows["benchmark"], rows["num_observations"]]).transform("any")]
    return rows.sort_values(KEYS, ignore_index=True)


def require_values(rows: pd.DataFrame, metric: str) -> None:
    """Refuse rows in which the metric has no finite value at all."""
    if not np.isfinite(rows[metric]).any():
        raise InputError(f"The table of results has no finite value of {metric}.")


def is_maximized(table: pd.DataFrame, task: str) -> bool:
    """The direction of a task, as its runs' stored descriptions have it."""
    known = _of_task(table, task, "maximize").dropna().unique()
    if len(known) != 1:
        what = "is not known" if len(known) == 0 else "differs between its runs"
        raise InputError(f"Whether {task} is maximized {what}: the table of results needs one value of `maximize`.")
    return bool(known[0])


def optimal_value(table: pd.DataFrame, task: str) -> float | None:
    """The optimal value of a task that all its runs share; None where it is not known or another for every seed."""
    known = _of_task(table, task, "optimal_value").unique()
    return float(known[0]) if len(known) == 1 and np.isfinite(known[0]) else None


def _of_task(table: pd.DataFrame, task: str, column: str) -> pd.Series:
    return table.loc[table["benchmark"] == task, column] if column in table else pd.Series(dtype=object)


def paper_order(column: pd.Series) -> pd.Series:
    """The key with which `sort_values` brings tasks and methods into the paper's order, and leaves other columns."""
    order = {"benchmark": task_order, "acquisition": method_order}.get(str(column.name))
    return column if order is None else column.map(order(column).index)


def choose_model(
    rows: pd.DataFrame, preferred: str, own: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """One model per benchmark: the only one, or `preferred` where there are several.

    Args:
        rows: of `model_rows`.
        preferred: the figure's model.
        own: acquisition -> the model that belongs to it; its runs under that model are kept beside the others.

    Returns:
        The rows that are kept, and a note for each benchmark from which some were left out.
    """
    kept, notes = [], []
    for benchmark, part in rows.groupby("benchmark"):
        part, apart = _split_own(part, own or {})
        models = sorted(part["model"].unique())
        if len(models) > 1:
            if preferred not in models:
                raise InputError(
                    f"{benchmark} has runs under the models {', '.join(models)}; the figure shows one model. "
                    "Choose one with --model."
                )
            others = ", ".join(model for model in models if model != preferred)
            notes.append(f"{title(str(benchmark))}: runs under {others} left out.")
            part = part[part["model"] == preferred]
        kept += [part, apart]
    return pd.concat(kept).sort_values(KEYS, ignore_index=True), notes


def _split_own(part: pd.DataFrame, own: Mapping[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of methods without a model of their own, and those of methods under theirs."""
    apart = part["acquisition"].map(own) == part["model"]
    # A method that has runs under its own model is not shown under another as well.
    other = part["acquisition"].isin(part.loc[apart, "acquisition"]) & ~apart
    return part[~apart & ~other], part[apart]


def _numbers(column: pd.Series) -> pd.Series:
    try:
        return pd.to_numeric(column).astype("float64")
    except (TypeError, ValueError) as error:
        raise InputError(f"The column {column.name} of the table of results must hold numbers.") from error


def _refuse_two_runs_in_one(table: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Runs that share names and seed differ in their settings; their average would mean nothing."""
    twice = rows.duplicated(KEYS)
    if "run_id" in table.columns:
        identities = table.loc[rows.index, "run_id"].groupby([rows[key] for key in RUN]).transform("nunique")
        twice |= identities > 1
    if twice.any():
        benchmark, model, acquisition, seed = rows.loc[twice, RUN].iloc[0]
        same = (rows[RUN] == [benchmark, model, acquisition, seed]).all(axis=1)
        folders = sorted(table.loc[rows.index, "run"][same].unique()) if "run" in table.columns else []
        raise InputError(
            f"The results hold more than one run of {benchmark}, {model}, {acquisition}, seed {seed}, with different "
            f"settings{' (' + ', '.join(folders) + ')' if folders else ''}. Keep them in separate results folders."
        )
