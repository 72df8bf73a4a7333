"""Each figure is a function from the tidy table to panels of lines; one renderer draws them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from scorebo.errors import InputError, check_choice
from scorebo.report.curves import MIN_RUNS, curves, gaps
from scorebo.report.ranking import TIME, ranking
from scorebo.report.regrets import LOG, measured_rows, with_values
from scorebo.report.render import FigureData, Line, Panel, render
from scorebo.report.style import FORMATS, method_order, task_order, title
from scorebo.report.table import choose_model, model_rows, require_values
from scorebo.store.atomic import storage_errors, write_atomically

# The MAP reference has a model of its own, and stands beside methods under another.
OWN_MODELS = {"nei_map": "map"}


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, and the function that computes its panels from a table of results."""

    description: str
    data: Callable[[pd.DataFrame], FigureData]


def draw(figure: str, table: pd.DataFrame, out: Path | str) -> Path:
    """Draw a figure from a table of results into a file; the table's runs are all drawn, so select them before.

    Args:
        figure: A name of `FIGURES`.
        table: The tidy table, see `scorebo.report.table`.
        out: The file; its ending (.pdf, .png or .svg) says the format. Its folder is made if it is not there.

    Returns:
        The path of the file.
    """
    chosen = FIGURES[check_choice("figure", figure, FIGURES)]
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"The figure's file must end in {', '.join(FORMATS)}, got '{path}'.")
    content = render(chosen.data(table), suffix)
    with storage_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path


def active_learning(table: pd.DataFrame, *, metric: str, ylabel: str, log: bool) -> FigureData:
    """One panel per task with mean ± one standard error, and the ranking where at least two methods share seeds."""
    rows, left_out = choose_model(model_rows(table, [metric]), preferred="al_lognormal")
    require_values(rows, metric)
    return _comparison(rows, metric, ylabel, log, _model_notes(left_out))


def optimisation(table: pd.DataFrame, *, metric: str, ylabel: str) -> FigureData:
    """The same for a regret: its log10 per run, averaged over the runs and not made monotone."""
    rows = measured_rows(table, [LOG + metric])
    require_values(rows, metric)
    rows, without = with_values(rows, metric)
    rows, left_out = choose_model(rows, preferred="bo_lognormal", own=OWN_MODELS)
    notes = [f"{title(task)}: left out, its optimum is not known." for task in without]
    return _comparison(rows, LOG + metric, ylabel, False, notes + _model_notes(left_out))


def _comparison(rows: pd.DataFrame, metric: str, ylabel: str, log: bool, notes: list[str]) -> FigureData:
    points = curves(rows, metric)
    panels = [
        Panel(title(task), "Number of observations", ylabel, _lines(points[points["benchmark"] == task]), log=log)
        for task in task_order(points["benchmark"].unique())
    ]
    notes = notes + gaps(rows, metric)
    ranked = ranking(rows, metric)
    if ranked is not None:
        lines = tuple(Line(method, TIME, ranks, np.full_like(TIME, np.nan)) for method, ranks in ranked.ranks.items())
        panels.append(Panel("Ranking", "Run completed (%)", "Average rank", lines))
        notes += _ranking_notes(ranked.seeds, rows)
    return FigureData(tuple(panels), tuple(notes))


def _model_notes(left_out: list[tuple[str, list[str]]]) -> list[str]:
    return [f"{title(task)}: runs under {', '.join(models)} left out." for task, models in left_out]


def _lines(points: pd.DataFrame) -> tuple[Line, ...]:
    lines = []
    for method in method_order(points["acquisition"].unique()):
        own = points[points["acquisition"] == method]
        band = own["standard_error"].where(own["runs"] >= MIN_RUNS)
        lines.append(Line(method, own["num_observations"].to_numpy(float), own["mean"].to_numpy(), band.to_numpy()))
    return tuple(lines)


def _ranking_notes(shared: dict[str, int], rows: pd.DataFrame) -> list[str]:
    """Which seeds the ranking leaves out because not every method has them."""
    available = rows.groupby("benchmark")["seed"].nunique()
    fewer = [
        f"{title(task)} {shared.get(task, 0)} of {available[task]}"
        for task in task_order(available.index)
        if shared.get(task, 0) < available[task]
    ]
    return [f"Ranking over the seeds that all methods share: {', '.join(fewer)}."] if fewer else []


FIGURES = {
    "al-mll": Figure(
        "Negative MLL on the active-learning tasks, and the methods' ranking",
        partial(active_learning, metric="negative_mll", ylabel="Negative MLL", log=False),
    ),
    "al-rmse": Figure(
        "RMSE on the active-learning tasks, and the methods' ranking",
        partial(active_learning, metric="rmse", ylabel="RMSE", log=True),
    ),
    "bo-regret": Figure(
        "Log inference regret on the synthetic tasks, and the methods' ranking",
        partial(optimisation, metric="inference_regret", ylabel="Log10 inference regret"),
    ),
}
