"""Which inputs a model takes to matter, from the lengthscales of all its sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorebo.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# In sides of the box: a function that changes over three of them is next to linear inside.
ACTIVE_BELOW = 3.0
_RUN = ["benchmark", "model", "acquisition", "seed", "iteration"]


def active_inputs(table: pd.DataFrame, threshold: float = ACTIVE_BELOW) -> pd.DataFrame:
    """One row per run, iteration and input: how long its lengthscale is and how many sets take it to matter.

    Args:
        table: from `collect_hyperparameters`.
        threshold: an input matters to a set whose lengthscale is below.

    Returns:
        Columns benchmark, model, acquisition, seed, iteration, `input` (from 1), `log10_lengthscale` (the median over
        the sets) and `active` (the share of the sets with a lengthscale below the threshold).
    """
    import numpy as np
    import pandas as pd

    prefix = "lengthscale_"
    columns = {name: int(str(name).removeprefix(prefix)) for name in table if str(name).startswith(prefix)}
    if not columns:
        raise InputError("The table has no lengthscales: it must come from collect_hyperparameters.")
    # A run with fewer inputs than another has no values in the rest of the columns.
    long = table[[*_RUN, *columns]].rename(columns=columns).melt(_RUN, var_name="input").dropna(subset="value")
    long = long.assign(log10_lengthscale=np.log10(long["value"]), active=(long["value"] < threshold).astype(float))
    groups = long.astype({"input": int}).groupby([*_RUN, "input"], sort=False)
    found = groups.agg(log10_lengthscale=("log10_lengthscale", "median"), active=("active", "mean")).reset_index()
    return pd.DataFrame(found.sort_values([*_RUN, "input"], ignore_index=True))


def separation(active: pd.DataFrame, num_active: int) -> pd.DataFrame:
    """How far the lengthscales of the inputs that matter are from the others, per run and iteration.

    Args:
        active: from `active_inputs`.
        num_active: the first so many inputs of the task are those that matter.

    Returns:
        Columns benchmark, model, acquisition, seed, iteration, and `log10_ratio`: the median log10 lengthscale of the
        others less that of those that matter.
    """
    matters = active["input"] <= num_active
    if matters.all() or not matters.any():
        raise InputError(f"num_active must leave inputs on either side, got {num_active}.")
    median = {
        part: rows.groupby(_RUN)["log10_lengthscale"].median() for part, rows in active.groupby(matters, sort=False)
    }
    return (median[False] - median[True]).rename("log10_ratio").reset_index()
