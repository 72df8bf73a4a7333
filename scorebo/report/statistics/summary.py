"""The numbers at the end of the runs: mean ± standard error of each metric, as a table and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from scorebo.report.statistics.final_values import compared_column
from scorebo.report.statistics.regrets import measured_rows
from scorebo.report.statistics.table import NAMES, RUN, paper_order
from scorebo.report.style import label, title
from scorebo.store import schema

LEARNING_METRICS = {"negative_mll": "Negative MLL", "rmse": "RMSE"}
_REGRETS = ("inference_regret", "simple_regret", "best_observed")
OPTIMIZATION_METRICS = {compared_column(name): schema.METRICS[name].words.capitalize() for name in _REGRETS}


def final_values(table: pd.DataFrame, metrics: Mapping[str, str] = LEARNING_METRICS) -> pd.DataFrame:
    """The metrics of the last model of every run, averaged over the runs.

    Args:
        table: the tidy table.
        metrics: which, and what they are called: `LEARNING_METRICS`, or `OPTIMIZATION_METRICS` for runs that optimize.

    Returns:
        One row per benchmark, model and acquisition, in the paper's order: `seeds`; `observations_min` and
        `observations_max`, which differ where runs have not all ended; and for each metric `<metric>_mean`,
        `<metric>_se` (missing for one run) and `<metric>_runs` (runs with a value; a missing one is left out).
    """
    rows = measured_rows(table, list(metrics))
    last = rows.groupby(RUN, as_index=False).tail(1)
    groups = last.groupby(NAMES)
    columns = {
        "seeds": groups.size(),
        "observations_min": groups["num_observations"].min(),
        "observations_max": groups["num_observations"].max(),
    }
    for metric in metrics:
        columns[f"{metric}_mean"] = groups[metric].mean()
        columns[f"{metric}_se"] = groups[metric].sem()
        columns[f"{metric}_runs"] = groups[metric].count()
    return pd.DataFrame(columns).reset_index().sort_values(NAMES, key=paper_order, ignore_index=True)


def format_summary(table: pd.DataFrame, metrics: Mapping[str, str] = LEARNING_METRICS) -> str:
    """`final_values` as aligned text, with names in words; the model is named where a task has several."""
    values = final_values(table, metrics)
    several = bool((values.groupby("benchmark")["model"].nunique() > 1).any())
    lines = [["Task", *(["Model"] if several else []), "Method", "Seeds", "Observations", *metrics.values()]]
    # The digits are those of the task's typical error, so that a column of a task can be read downwards.
    digits = {m: values.groupby("benchmark")[f"{m}_se"].median().map(decimals).to_dict() for m in metrics}
    for row in values.to_dict("records"):
        low, high = row["observations_min"], row["observations_max"]
        cells = [title(row["benchmark"]), *([row["model"]] if several else []), label(row["acquisition"])]
        cells += [str(row["seeds"]), f"{low}" if low == high else f"{low}–{high}"]
        for metric in metrics:
            text = plus_minus(row[f"{metric}_mean"], row[f"{metric}_se"], digits[metric][row["benchmark"]])
            runs = row[f"{metric}_runs"]
            cells.append(text if runs in (0, row["seeds"]) else f"{text} (of {runs})")
        lines.append(cells)
    return aligned(lines, text_columns=3 if several else 2)


def decimals(error: float) -> int:
    """Decimals that show two digits of the error; three where there is no error to go by."""
    if not (math.isfinite(error) and error > 0):
        return 3
    return min(8, max(0, 1 - math.floor(math.log10(error))))


def plus_minus(mean: float, error: float, digits: int) -> str:
    """`mean ± error`; the mean alone where there is no error, a dash where there is neither."""
    if math.isnan(mean):
        return "–"
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if math.isfinite(error) else f"{mean:.{digits}f}"


def aligned(lines: list[list[str]], text_columns: int) -> str:
    """Rows of cells, the first the heading, as columns: texts to the left, what follows to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    padded = [
        [c.ljust(w) if i < text_columns else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    ]
    rule = ["─" * width for width in widths]
    return "\n".join("  ".join(cells).rstrip() for cells in [padded[0], rule, *padded[1:]])
