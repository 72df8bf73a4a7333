"""Curves that others have published, drawn behind ours and tabulated beside them at the same number of observations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from scorebo.errors import InputError
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.statistics.curves import curves
from scorebo.report.statistics.final_values import method_names
from scorebo.report.statistics.regrets import measured_rows
from scorebo.report.statistics.summary import aligned
from scorebo.report.style import label, title

COLUMNS = ("task", "metric", "method", "n", "value", "source")
ROWS = 5  # numbers of observations at which a published curve is tabulated


def read_overlay(path: Path) -> pd.DataFrame:
    """The curves of a CSV file with the columns task, metric, method, n, value and source.

    Tasks and methods have the names of configs (`branin_al`, `bqbc`), metrics those of columns (`rmse`); a method that
    is not ours may have any name.
    """
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(f"The published curves in '{path}' cannot be read: {error}") from error
    if missing := [column for column in COLUMNS if column not in table]:
        raise InputError(f"'{path}' has no column {', '.join(missing)}; published curves need {', '.join(COLUMNS)}.")
    numbers = table[["n", "value"]].apply(pd.to_numeric, errors="coerce").astype(float)
    unusable = table.index[~np.isfinite(numbers).all(axis=1) | table[list(COLUMNS)].isna().any(axis=1)]
    if table.empty or len(unusable):
        where = f"line {unusable[0] + 2} is not" if len(unusable) else "there is none"
        raise InputError(f"Each line of '{path}' must be one point of a published curve; {where}.")
    words = table[["task", "metric", "method", "source"]].astype(str)
    return words.join(numbers).sort_values(["task", "source", "method", "n"], ignore_index=True)


def draw_over(data: FigureData, metric: str, published: pd.DataFrame) -> FigureData:
    """The panels of a figure of this metric, with the published curves over the numbers of observations they show."""
    curves_of = published[published["metric"] == metric]
    panels = [_with_published(panel, curves_of[curves_of["task"].map(title) == panel.title]) for panel in data.panels]
    if not any(panel.published for panel in panels):
        tasks = ", ".join(panel.title for panel in data.panels)
        raise InputError(f"There are no published curves of {metric} on the tasks of this figure: {tasks}.")
    return replace(data, panels=tuple(panels))


def _with_published(panel: Panel, published: pd.DataFrame) -> Panel:
    ends = [line.x[[0, -1]] for line in panel.lines if len(line.x)]
    if published.empty or not ends:
        return panel
    shown = published[published["n"].between(np.min(ends), np.max(ends))]
    lines = [
        Line(str(method), own["n"].to_numpy(), own["value"].to_numpy(), np.full(len(own), np.nan), source=str(source))
        for (source, method), own in shown.groupby(["source", "method"])
    ]
    return replace(panel, published=tuple(lines))


def beside(table: pd.DataFrame, metric: str, published: pd.DataFrame) -> pd.DataFrame:
    """Our mean and each published curve at the same numbers of observations, interpolated between published points.

    Returns:
        One row per task, method, source and n: `mean`, `standard_error` and `runs` of ours, `published`.
    """
    rows = measured_rows(table, [metric])
    rows["acquisition"] = method_names(rows)
    points = curves(rows, metric).rename(columns={"benchmark": "task", "acquisition": "method"})
    found = [_at_equal_n(points, *names, curve) for names, curve in _of_metric(published, metric)]
    joined = pd.concat([part for part in found if len(part)] or [pd.DataFrame(columns=["task"])], ignore_index=True)
    if joined.empty:
        raise InputError(f"No published curve of {metric} is of a task and a method of the runs chosen.")
    return joined


def _of_metric(published: pd.DataFrame, metric: str) -> Iterable[tuple[tuple[str, str, str], pd.DataFrame]]:
    return published[published["metric"] == metric].groupby(["task", "method", "source"])  # type: ignore[return-value]


def _at_equal_n(points: pd.DataFrame, task: str, method: str, source: str, curve: pd.DataFrame) -> pd.DataFrame:
    own = points[(points["task"] == task) & (points["method"] == method)]
    own = own[own["num_observations"].between(curve["n"].min(), curve["n"].max())]
    chosen = own.iloc[np.unique(np.linspace(0, len(own) - 1, ROWS).round().astype(int))] if len(own) else own
    value = np.interp(chosen["num_observations"], curve["n"], curve["value"])
    return chosen.rename(columns={"num_observations": "n"}).assign(published=value, source=source)


def format_beside(found: pd.DataFrame, words: str) -> str:
    """The table of `beside` for a terminal."""
    heading = ["Task", "Method", "n", "Here", "Runs", "Published", "Ratio", "Source"]
    rows = []
    for row in found.to_dict("records"):
        names = [title(row["task"]), label(row["method"]), str(row["n"])]
        ours = [f"{row['mean']:.3g} ± {row['standard_error']:.2g}", str(row["runs"])]
        rows.append([*names, *ours, f"{row['published']:.3g}", f"{row['mean'] / row['published']:.2f}", row["source"]])
    legend = f"{words[0].upper()}{words[1:]}: mean ± standard error here, and what is published at the same n."
    return f"{aligned([heading, *rows], text_columns=2)}\n{legend}"
