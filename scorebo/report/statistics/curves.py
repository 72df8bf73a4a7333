"""How a metric develops with the number of observations: mean and standard error over the runs, and what is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scorebo.report.style import label, method_order, task_order, title

# A standard error from fewer runs says too little to be drawn.
MIN_RUNS = 3
SMALL_NUMBERS = "Small numbers: how many runs a point is the mean of."
FEW_RUNS = "No band where fewer than three runs are averaged."


def curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean and standard error of the metric over the runs.

    Values that are not finite are left out (and named by `gaps`).

    Returns:
        One row per benchmark, acquisition and num_observations: `mean`, `standard_error` (of the mean, from the n−1
        standard deviation; missing for a single run), `runs` (how many were averaged).
    """
    finite = rows[np.isfinite(rows[metric])]
    groups = finite.groupby(["benchmark", "acquisition", "num_observations"])[metric]
    return groups.agg(mean="mean", standard_error="sem", runs="size").reset_index()


def gaps(rows: pd.DataFrame, metric: str) -> list[str]:
    """What a reader of the curves must know: runs that are missing or end early, values left out; one note a task."""
    methods = method_order(rows["acquisition"].unique())
    notes = []
    for benchmark in task_order(rows["benchmark"].unique()):
        task = rows[rows["benchmark"] == benchmark]
        seeds, last = task["seed"].nunique(), task["num_observations"].max()
        # What is told of several methods is told once, with a number for each.
        fewer, short, lost = [], [], []
        for method in methods:
            runs = task[task["acquisition"] == method]
            ends = runs.groupby("seed")["num_observations"].max()
            if len(ends) < seeds:
                fewer.append(f"{label(method)} has {len(ends) or 'none'}")
            if (ends < last).any():
                short.append(f"{label(method)} {(ends < last).sum()}")
            if not np.isfinite(runs[metric]).all():
                lost.append(f"{label(method)} {(~np.isfinite(runs[metric])).sum()}")
        told = {
            f"of {seeds} run{'' if seeds == 1 else 's'}": fewer,
            f"runs that end before {last} observations:": short,
            "values not finite, left out:": lost,
        }
        parts = [f"{words} {', '.join(each)}" for words, each in told.items() if each]
        if parts:
            notes.append(f"{title(benchmark)}: {'; '.join(parts)}.")
    if (curves(rows, metric)["runs"] < MIN_RUNS).any():
        notes.append(FEW_RUNS)
    return notes
