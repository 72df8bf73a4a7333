"""Regrets on a logarithmic scale: log10 per run, averaged afterwards, as the paper does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scorebo.report.statistics.table import model_rows

LOG = "log10_"
# A regret of 0 has no logarithm; below this the optimal value itself is not known to enough digits.
LEAST = 1e-12


def measured_rows(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """`model_rows`, where a metric named `log10_<column>` is the logarithm of a column of the table.

    Values below `LEAST` count as that much, negative ones too; missing ones stay missing.
    """
    columns = dict.fromkeys(metric.removeprefix(LOG) for metric in metrics)
    rows = model_rows(table, list(columns))
    for metric in metrics:
        if metric.startswith(LOG):
            rows[metric] = np.log10(rows[metric.removeprefix(LOG)].clip(lower=LEAST))
    return rows
