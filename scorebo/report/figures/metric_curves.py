"""Panels that compare methods: one a task with mean ± one standard error, and their ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from scorebo.errors import InputError
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.statistics.curves import MIN_RUNS, SMALL_NUMBERS, curves, gaps
from scorebo.report.statistics.final_values import method_names
from scorebo.report.statistics.ranking import TIME, WINDOW, ranking
from scorebo.report.statistics.regrets import LOG, measured_rows
from scorebo.report.statistics.summary import LEARNING_METRICS, OPTIMIZATION_METRICS
from scorebo.report.statistics.table import choose_model, model_rows, optimal_value, require_values
from scorebo.report.style import display, label, method_order, task_order, title
from scorebo.store.schema import METRICS

RELEASED = "As in the authors' released plots: bands of half a standard error"
# The MAP reference has a model of its own, and stands beside methods under another.
OWN_MODELS = {"nei_map": "map"}
TASK_UNITS = "_task_units"  # ending of the name of a density that is also on the scale of standardized outputs
YLABELS = {
    **LEARNING_METRICS,
    **OPTIMIZATION_METRICS,
    f"negative_mll{TASK_UNITS}": "Negative MLL, task units",
    "best_noiseless": "Best noiseless value",
    "decomposition_error": "Split pairs",
}
RANKING = "Ranking"  # the title of its panel
BAND = "Lines are means over the runs, bands ± one standard error of the mean."
SMOOTHING = f"Ranking: moving average over ±{WINDOW // 2} % of a run; bands ± one standard error, by resampling seeds."


def active_learning(table: pd.DataFrame, *, metric: str, released_style: bool = False) -> FigureData:
    """One panel per task with mean ± one standard error, and the ranking where at least two methods share seeds."""
    metrics = [name for name in (metric, metric + TASK_UNITS) if name == metric or name in table]
    rows, notes = choose_model(model_rows(table, metrics), preferred="al_lognormal")
    require_values(rows, metric)
    data = _comparison(rows, metric, released_style=released_style)
    return replace(data, notes=(*notes, *_other_order(rows, *metrics), *data.notes))


def optimization(table: pd.DataFrame, *, metric: str, released_style: bool = False) -> FigureData:
    """The same for a regret: its log10 per run, averaged over the runs and not made monotone."""
    rows = measured_rows(table, [LOG + metric])
    require_values(rows, metric)
    known = np.isfinite(rows[metric]).groupby(rows["benchmark"]).transform("any")
    without = [f"{title(task)}: left out, its optimum is not known." for task in sorted(set(rows["benchmark"][~known]))]
    rows, notes = choose_model(rows[known], preferred="bo_lognormal", own=OWN_MODELS)
    data = _comparison(rows, LOG + metric, released_style=released_style)
    return replace(data, notes=(*without, *notes, *data.notes))


def priors(table: pd.DataFrame, *, metric: str, spread: bool = False, released_style: bool = False) -> FigureData:
    """One task, each method under each of its models; the band one standard error, or one standard deviation."""
    if spread and released_style:
        raise InputError("The bands of this figure are standard deviations: it has no released style.")
    rows = measured_rows(table, [LOG + metric])
    require_values(rows, metric)
    rows["acquisition"] = rows["acquisition"] + "@" + rows["model"]
    data = _comparison(rows, LOG + metric, ranked=False, spread=spread, released_style=released_style)
    return replace(data, notes=(*data.notes, "Bands: one standard deviation.")) if spread else data


def best_values(table: pd.DataFrame, *, released_style: bool = False) -> FigureData:
    """The best observation so far on each task, in its unit; the optimum dashed where it is known.

    The best noisy value flatters methods that repeat queries: where there is noise the best noiseless one is shown too.
    """
    metrics = [name for name in ("best_observed", "best_noiseless") if name in table]
    rows = model_rows(table, metrics)
    require_values(rows, "best_observed")
    rows["acquisition"] = method_names(rows)
    data = _best_values(table, rows, "best_observed", "", released_style)
    noisy = rows[rows["best_observed"] != rows[metrics[-1]]].dropna(subset=metrics)["benchmark"].unique()
    if len(noisy):
        noiseless = _best_values(
            table, rows[rows["benchmark"].isin(noisy)], "best_noiseless", ", noiseless", released_style
        )
        data = replace(data, panels=(*data.panels, *noiseless.panels))
    return data


def _best_values(table: pd.DataFrame, rows: pd.DataFrame, metric: str, suffix: str, released_style: bool) -> FigureData:
    data = _comparison(rows, metric, ranked=False, released_style=released_style)
    tasks = task_order(rows["benchmark"].unique())
    units = {task: display("benchmark", task).get("unit", "value" if suffix else "observation") for task in tasks}
    panels = tuple(
        replace(
            panel,
            title=panel.title + suffix,
            reference=optimal_value(table, task),
            ylabel=f"Best {units[task]}{suffix}",
        )
        for panel, task in zip(data.panels, tasks, strict=True)
    )
    return replace(data, panels=panels, reference="Optimum")


def additive(table: pd.DataFrame, *, released_style: bool = False) -> FigureData:
    """The best observation on the additive tasks, and how many true pairs are split on the six-dimensional one."""
    data = best_values(table, released_style=released_style)
    split = table[table["benchmark"] == "addgp6"]
    if "decomposition_error" not in split or not split["decomposition_error"].notna().any():
        return replace(data, notes=(*data.notes, "Split pairs: not recorded."))
    rows = model_rows(split, ["decomposition_error"])
    pairs = _comparison(rows, "decomposition_error", ranked=False, released_style=released_style)
    return replace(data, panels=(*data.panels, replace(pairs.panels[0], title="Split pairs (6D)")))


def _comparison(
    rows: pd.DataFrame, metric: str, *, ranked: bool = True, spread: bool = False, released_style: bool = False
) -> FigureData:
    log = metric in METRICS and METRICS[metric].log  # otherwise the values are logarithms, or best seen as they are
    points = curves(rows, metric)
    if spread:
        points["standard_error"] *= np.sqrt(points["runs"])
    share = 0.5 if released_style else 1.0
    points["standard_error"] *= share
    panels = [
        Panel(title(task), "Number of observations", YLABELS[metric], lines, log, task=task)
        for task in task_order(points["benchmark"].unique())
        for lines in [_lines(points[points["benchmark"] == task], _each(rows[rows["benchmark"] == task], metric))]
    ]
    notes = [f"{RELEASED}, sort indices in place of ranks." if ranked else f"{RELEASED}."] if released_style else []
    notes += gaps(rows, metric)
    if (points.groupby("benchmark")["runs"].nunique() > 1).any():
        notes.append(SMALL_NUMBERS)
    places = ranking(rows, metric, sort_indices=released_style) if ranked else None
    if places is not None:
        lines = tuple(
            Line(method, TIME, ranks, share * places.errors[method]) for method, ranks in places.ranks.items()
        )
        ylabel = "Average sort index" if released_style else "Average rank"
        panels.append(Panel(RANKING, "Run completed (%)", ylabel, lines))
        notes += [*_ranking_notes(places.seeds, rows), SMOOTHING]
    return FigureData(tuple(panels), tuple(notes), band="" if released_style or spread else BAND)


def _other_order(rows: pd.DataFrame, metric: str, in_units: str | None = None) -> list[str]:
    """The tasks on which another method has the lowest mean at the end once the density is in the task's units."""
    if in_units is None:
        return []
    last = rows["num_observations"] == rows.groupby("benchmark")["num_observations"].transform("max")
    final = rows[last & np.isfinite(rows[in_units])].groupby(["benchmark", "acquisition"])[[metric, in_units]].mean()
    best = final.groupby(level="benchmark").idxmin().map(lambda place: place[1])
    other = best[best[metric] != best[in_units]]
    changes = [
        f"{title(task)} {label(other.at[task, in_units])} instead of {label(other.at[task, metric])}"
        for task in task_order(other.index)
    ]
    return [f"Lowest mean at the end if the density is in the task's units: {', '.join(changes)}."] if changes else []


def _each(task: pd.DataFrame, metric: str) -> dict[str, pd.DataFrame]:
    """By method a table with a row a seed and a column a number of observations."""
    finite = task[np.isfinite(task[metric])]
    return {
        str(method): own.pivot_table(index="seed", columns="num_observations", values=metric)
        for method, own in finite.groupby("acquisition")
    }


def _lines(points: pd.DataFrame, each: dict[str, pd.DataFrame]) -> tuple[Line, ...]:
    lines = []
    for method in method_order(points["acquisition"].unique()):
        own = points[points["acquisition"] == method]
        band = own["standard_error"].where(own["runs"] >= MIN_RUNS)
        at, runs = own["num_observations"].to_numpy(float), own["runs"].to_numpy()
        lines.append(Line(method, at, own["mean"].to_numpy(), band.to_numpy(), runs, each=each[method].to_numpy()))
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
