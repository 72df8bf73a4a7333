"""Every hyperparameter set of all runs below a folder in the tasks' own units, and which inputs they take to matter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.store.collect import Sources, describe_runs, nothing_found
from scorebo.store.schema import WHO

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# Variances on the standardized scale.
_VARIANCES = ("outputscale", "noise")
# In sides of the box: a function that changes over three of them is next to linear inside.
ACTIVE_BELOW = 3.0
_WHEN = [*WHO, "iteration"]


def collect_hyperparameters(results: Sources, run_ids: Collection[str] | None = None) -> pd.DataFrame:
    """One row per run (of `run_ids` alone, where given), iteration with a model, and hyperparameter set.

    Columns: benchmark, model, acquisition, seed, iteration, num_observations, `sample` (from 1, in the order of the
    draws), the hyperparameters (see `in_task_units`; one with a value for each input as `lengthscale_1` …), finished,
    run_id, run. What a run does not have is NaN. What could not be read is left out and named in
    `table.attrs["problems"]`, a list of texts.
    """
    import pandas as pd

    problems: list[str] = []
    runs = describe_runs(results, problems, run_ids)
    parts = [part for run in runs if (part := _run_table(run, problems)) is not None]
    if not parts:
        raise nothing_found(results, runs, problems, "no models yet")
    table = pd.concat(parts, ignore_index=True)
    first = [*WHO, "iteration", "num_observations", "sample"]
    last = ["finished", "run_id", "run"]
    order = sorted((str(name) for name in table if name not in (*first, *last)), key=place_of)
    table = table[[*first, *order, *last]]
    table.attrs["problems"] = problems
    return table


def in_task_units(
    hyperparameters: Mapping[str, Any],
    output_mean: float,
    output_std: float,
    output_sign: float,
    yeo_johnson_lambda: float | None = None,
) -> dict[str, np.ndarray]:
    """Hyperparameters of a record, `M` or `M x K` each, in the task's own units and sign.

    Variances (outputscale, noise) are those of the task's outputs, and the mean is one of them. Where outputs are
    transformed by a power the mean is transformed back; the variances are those of the transformed outputs, because the
    model has no one variance of the outputs themselves. Lengthscales stay as they are, in units of the box's sides, on
    which they are compared with one another. Others stay as they are too.

    Args:
        hyperparameters: as sampled, on the model's scale, on which outputs are sign · (y − mean)/std.
        output_mean: mean by which the (transformed) outputs were shifted.
        output_std: standard deviation by which they were divided.
        output_sign: −1 for a task that is minimized.
        yeo_johnson_lambda: λ of Yeo and Johnson's transform; None where outputs are not transformed.
    """
    import numpy as np

    values = {name: np.asarray(value, dtype=np.float64) for name, value in hyperparameters.items()}
    for name in values.keys() & set(_VARIANCES):
        values[name] = output_std**2 * values[name]
    if "mean" in values:
        values["mean"] = output_mean + output_sign * output_std * values["mean"]
        if yeo_johnson_lambda is not None:
            import torch

            from scorebo.transforms.yeo_johnson import untransform

            values["mean"] = untransform(torch.from_numpy(values["mean"]), yeo_johnson_lambda).numpy()
    return values


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
    long = table[[*_WHEN, *columns]].rename(columns=columns).melt(_WHEN, var_name="input").dropna(subset="value")
    long = long.assign(log10_lengthscale=np.log10(long["value"]), active=(long["value"] < threshold).astype(float))
    groups = long.astype({"input": int}).groupby([*_WHEN, "input"], sort=False)
    found = groups.agg(log10_lengthscale=("log10_lengthscale", "median"), active=("active", "mean")).reset_index()
    return pd.DataFrame(found.sort_values([*_WHEN, "input"], ignore_index=True))


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
        part: rows.groupby(_WHEN)["log10_lengthscale"].median() for part, rows in active.groupby(matters, sort=False)
    }
    return (median[False] - median[True]).rename("log10_ratio").reset_index()


def _run_table(run: dict[str, Any], problems: list[str]) -> pd.DataFrame | None:
    """The rows of one run; None if it has no model yet."""
    import numpy as np
    import pandas as pd

    records, finished = run["stored"].good_records(run["run_id"], problems)
    parts: list[dict[str, np.ndarray]] = []
    for record in records:
        if not record.get("hyperparameters"):
            continue
        # Records of earlier versions do not say whether the task is minimized; where its mean lies is not known then.
        sign = record.get("output_sign", float("nan"))
        scale = (record["output_mean"], record["output_std"], sign, record.get("yeo_johnson_lambda"))
        columns: dict[str, np.ndarray] = {}
        for name, values in in_task_units(record["hyperparameters"], *scale).items():
            if values.ndim == 1:
                columns[name] = values
            else:
                columns |= {f"{name}_{k}": column for k, column in enumerate(values.T, start=1)}
        count = len(next(iter(columns.values())))
        when = {name: np.full(count, record[name]) for name in ("iteration", "num_observations")}
        parts.append({**when, "sample": np.arange(1, count + 1), **columns})
    if not parts:
        return None
    table = pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    same = {name: run[name] for name in WHO} | {"finished": finished, "run_id": run["run_id"]}
    return table.assign(**same, run=run["stored"].name)


def place_of(column: str) -> tuple[int, str, int]:
    """Lengthscales first and by number, so that ten comes after nine."""
    name, _, number = column.rpartition("_")
    if not number.isdigit():
        name, number = column, "0"
    return (0 if name == "lengthscale" else 1, name, int(number))
