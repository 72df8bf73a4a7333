"""How hyperparameters converge: mean ± standard deviation of their log10 over all sets and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from scorebo.errors import InputError
from scorebo.report.claims.per_run import log_moments
from scorebo.report.evidence import MissingRunsError
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.statistics.curves import FEW_RUNS, MIN_RUNS, SMALL_NUMBERS
from scorebo.report.style import method_order, title

References = Callable[[], Mapping[str, float]]
WORDS = {"outputscale": "Outputscale", "noise": "Noise variance"}


def hyperparameters(
    table: pd.DataFrame | None,
    *,
    reference: References | None = None,
    reference_words: str = "Reference",
    reference_spread: References | None = None,
    window: int = 1,
) -> FigureData:
    """One panel a hyperparameter, one line a method.

    Args:
        table: of `hyperparameter_table`, of one task under one model.
        reference: log10 of what the hyperparameters ought to be, drawn dashed.
        reference_words: what that is called.
        reference_spread: standard deviation of the reference, drawn as a band around it.
        window: points of the moving average.
    """
    if table is None or table.empty:
        raise InputError("The table of hyperparameters is empty: no runs were found.")
    check_one_model(table)
    _, within = log_moments(table, [table["run_id"], table["num_observations"]])
    # A hyperparameter that is fixed is the same in all sets of a model.
    names = [str(name) for name in within if not within[name].max() < 1e-9]
    mean, spread = log_moments(table, [table["acquisition"], table["num_observations"].astype(int)])
    runs = table.groupby(["acquisition", table["num_observations"].astype(int)])["seed"].nunique()
    each, _ = log_moments(table, [table["acquisition"], table["run_id"], table["num_observations"].astype(int)])
    task = str(table["benchmark"].iloc[0])
    notes = [f"{title(task)}; mean ± standard deviation over all hyperparameter samples and repetitions."]
    if window > 1:
        notes.append(f"Means: moving average over {window} numbers of observations.")
    try:
        truth = reference() if reference else {}
        around = reference_spread() if reference_spread else {}
    except MissingRunsError as missing:
        truth, around, notes = {}, {}, [*notes, f"No dashed lines: {missing}."]
    if around:
        notes.append("Around the dashed lines: ± standard deviation over the random designs that they are the mean of.")
    panels = []
    for name in names:
        lines = tuple(
            replace(
                _line(method, mean[name].xs(method), spread[name].xs(method), runs.xs(method), window),
                each=each[name].xs(method).unstack("num_observations").to_numpy(),
            )
            for method in method_order(table["acquisition"].unique())
        )
        words = WORDS.get(name, f"Lengthscale {name.removeprefix('lengthscale_')}")
        panel = Panel(words, "Number of observations", "Log10 value", lines, crop=False)
        panels.append(replace(panel, reference=truth.get(name), reference_band=around.get(name, 0.0)))
    if runs.nunique() > 1:
        notes.append(SMALL_NUMBERS)
    if (runs < MIN_RUNS).any():
        notes.append(FEW_RUNS)
    return FigureData(tuple(panels), tuple(notes), reference_words)


def check_one_model(table: pd.DataFrame) -> None:
    """Refuse runs on several tasks or under several models, whose hyperparameters have nothing in common."""
    for column in ("benchmark", "model"):
        if table[column].nunique() > 1:
            names = ", ".join(sorted(table[column].unique()))
            raise InputError(f"The figure shows one {column}, got {names}. Choose one with --{column}.")


def _line(method: str, mean: pd.Series, spread: pd.Series, runs: pd.Series, window: int) -> Line:
    smooth = mean.rolling(window, center=True, min_periods=1).mean()
    # The sets of one or two runs would tell of a spread, but not of that over repetitions.
    band = spread.where(runs >= MIN_RUNS)
    return Line(method, mean.index.to_numpy(float), smooth.to_numpy(), band.to_numpy(), runs.to_numpy())
