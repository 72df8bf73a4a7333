"""Moments of the log10 hyperparameters over the samples of each model, in the task's units."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scorebo.store.collect import Sources, describe_runs, nothing_found
from scorebo.store.hyperparameters import collect_hyperparameters, in_task_units, place_of
from scorebo.store.schema import WHO

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MEAN, STD = MOMENTS = "log10_mean_", "log10_std_"
# How many samples the moments are of.
SAMPLES = "num_hyperparameter_samples"
# Positive, and in all models that are fitted; others have no logarithm.
_POSITIVE = ("lengthscale", "outputscale", "noise")
_SMALLEST = 1e-300


def moment_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Mean and standard deviation of each hyperparameter's log10, a column each; null for records without a model.

    The standard deviation is that of a sample (divided by M − 1); NaN of a single one.
    """
    import pyarrow as pa

    found = [_moments(record) if record.get("hyperparameters") else {} for record in records]
    names = {name: None for moments in found for name in moments}
    types = {SAMPLES: pa.int64()}
    return {name: pa.array([moments.get(name) for moments in found], types.get(name, pa.float64())) for name in names}


def _moments(record: Mapping[str, Any]) -> dict[str, float | int]:
    import numpy as np

    positive = {name: values for name, values in record["hyperparameters"].items() if name in _POSITIVE}
    units = in_task_units(positive, record["output_mean"], record["output_std"], 1.0)
    moments: dict[str, float | int] = {}
    for name, values in units.items():
        moments[SAMPLES] = len(values)
        logs = np.log10(np.maximum(values, _SMALLEST))
        mean = logs.mean(axis=0)
        std = logs.std(axis=0, ddof=1) if len(logs) > 1 else np.full_like(mean, np.nan)
        names = [name] if logs.ndim == 1 else [f"{name}_{k}" for k in range(1, logs.shape[1] + 1)]
        moments |= {MEAN + each: float(value) for each, value in zip(names, np.atleast_1d(mean), strict=True)}
        moments |= {STD + each: float(value) for each, value in zip(names, np.atleast_1d(std), strict=True)}
    return moments


def collect_moments(results: Sources, run_ids: Collection[str] | None = None) -> pd.DataFrame:
    """`moment_columns`, also of summaries: one row per run (of `run_ids` alone, where given) and model.

    Columns: benchmark, model, acquisition, seed, iteration, num_observations, the moments, run_id, run.
    """
    import pandas as pd
    import pyarrow as pa

    problems: list[str] = []
    runs = describe_runs(results, problems, run_ids)
    parts = []
    for run in runs:
        columns = _moments_of(run, problems)
        if columns.num_rows:
            same = {name: pa.repeat(run[name], len(columns)) for name in (*WHO, "run_id")}
            same["run"] = pa.repeat(run["stored"].name, len(columns))
            parts.append(pa.table({**same, **{name: columns[name] for name in columns.column_names}}))
    if not parts:
        raise nothing_found(results, runs, problems, "no models yet")
    table = pa.concat_tables(parts, promote_options="permissive").to_pandas()
    first, last = [*WHO, "iteration", "num_observations", SAMPLES], ["run_id", "run"]
    order = sorted((str(name) for name in table if name not in (*first, *last)), key=place_of)
    table = pd.DataFrame(table[[*first, *order, *last]])
    table.attrs["problems"] = problems
    return table


def _moments_of(run: Mapping[str, Any], problems: list[str]) -> pa.Table:
    """The rows of one run with a model: iteration, observations, moments."""
    import pyarrow as pa

    stored = run["stored"]
    if not stored.exact:
        return rows_with_moments(stored.columns(double=True))
    records, _ = stored.good_records(run["run_id"], problems)
    when = {name: pa.array([r.get(name) for r in records], pa.int64()) for name in ("iteration", "num_observations")}
    return rows_with_moments(pa.table({**when, **moment_columns(records)}))


def hyperparameter_table(results: Sources, run_ids: Collection[str] | None = None) -> pd.DataFrame:
    """`collect_hyperparameters`; where one of the runs is there as a summary alone, `collect_moments`."""
    if all(run["stored"].exact for run in describe_runs(results, [], run_ids)):
        return collect_hyperparameters(results, run_ids)
    return collect_moments(results, run_ids)


def rows_with_moments(columns: pa.Table) -> pa.Table:
    """The rows and columns of moments of a run, with the iteration."""
    names = [name for name in columns.column_names if name.startswith(MOMENTS)]
    if SAMPLES not in columns.column_names:
        return columns.select(["iteration", "num_observations"]).slice(0, 0)
    kept = columns.select(["iteration", "num_observations", SAMPLES, *names])
    return kept.filter(kept[SAMPLES].is_valid())
