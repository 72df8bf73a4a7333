"""Records as columns: Arrow tables of single runs, which are kept and joined cheaply, and the tidy table of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

WHO = ("benchmark", "model", "acquisition", "seed")
WHAT = ("iteration", "kind", "num_observations", "num_failed_points", "has_metrics", "x")
_OPTIMIZATION = (
    *("inference_regret", "in_sample_inference_regret", "simple_regret"),
    *("best_observed", "best_noiseless", "inference_value", "optimum_violation"),
)
FLOATS = ("y", "f", "negative_mll", "nlpd", "rmse", *_OPTIMIZATION, "decomposition_error", "acquisition_value")
PHASES = ("fit", "metrics", "acquisition", "evaluate")
# Wall time and processor time, by phase; records of version 0.1 have the first alone.
TIMINGS = ("wall_seconds", "cpu_seconds")
# What is the same in all rows of a run and stands after what was measured.
RUN = ("maximize", "optimal_value", "finished", "run_id", "run")


def phase_columns(timing: str) -> list[str]:
    """The columns of one of `TIMINGS`, in the order of `PHASES`."""
    return [f"{timing}_{phase}" for phase in PHASES]


def run_columns(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """What the records of one run tell, a row each; `mcmc_…` are the sampler's scalar diagnostics."""
    import pyarrow as pa

    types = {"iteration": pa.int64(), "kind": pa.string(), "num_observations": pa.int64(), "has_metrics": pa.bool_()}
    types |= {"x": pa.list_(pa.float64())}
    types |= dict.fromkeys(FLOATS, pa.float64())
    types |= dict.fromkeys(TIMINGS, pa.struct(dict.fromkeys(PHASES, pa.float64())))
    # Arrow takes the fields it is told out of the records itself, many times as fast as a list for each.
    columns = dict(zip(types, pa.array(records, pa.struct(types)).flatten(), strict=True))
    columns["num_failed_points"] = pa.array([len(record.get("failed_points", ())) for record in records], pa.int64())
    for timing in TIMINGS:
        columns |= dict(zip(phase_columns(timing), columns.pop(timing).flatten(), strict=True))
    return pa.table(columns | _diagnostics([record.get("mcmc") for record in records]))


def _diagnostics(items: list[Mapping[str, Any] | None]) -> dict[str, pa.Array]:
    """A column for each scalar diagnostic, of the type of its values; as texts where they are of several."""
    import pyarrow as pa

    try:
        found = pa.array(items)
        fields = [] if pa.types.is_null(found.type) else list(found.type)
        columns = dict(zip([field.name for field in fields], found.flatten() if fields else [], strict=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        names = {name: None for item in items for name in item or {}}
        columns = {name: _inferred([(item or {}).get(name) for item in items]) for name in names}
    return {f"mcmc_{name}": columns[name] for name in sorted(columns) if not pa.types.is_nested(columns[name].type)}


def _inferred(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def tidy_table(
    runs: Sequence[Mapping[str, Any]], parts: Sequence[pa.Table], leave_out: Collection[str] = ()
) -> pd.DataFrame:
    """One table of the columns of all runs; each row says what its run is: `WHO`, what was measured, `RUN`."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    joined = pa.concat_tables(parts, promote_options="permissive").drop_columns(list(leave_out))
    counts = [len(part) for part in parts]
    number = np.repeat(np.arange(len(parts)), counts)
    columns: dict[str, pd.Series[Any]] = {}
    for name in WHO:
        columns[name] = _series(pa.array([run[name] for run in runs]).take(pa.array(number)))
    mcmc = sorted(name for name in joined.column_names if name.startswith("mcmc_"))
    for name in (*WHAT, *FLOATS, *(name for timing in TIMINGS for name in phase_columns(timing)), *mcmc):
        if name in leave_out:
            continue
        # These stay nullable whether or not the table happens to hold an initial record.
        columns[name] = _series(joined[name], nullable=name in ("num_observations", "has_metrics"))
        joined = joined.drop_columns(name)
    types = {"maximize": pa.bool_(), "optimal_value": pa.float64()}
    for name in RUN:
        columns[name] = _series(pa.array([run[name] for run in runs], types.get(name)).take(pa.array(number)))
    return pd.DataFrame(columns, copy=False)


def _series(column: pa.Array | pa.ChunkedArray, nullable: bool = False) -> pd.Series[Any]:
    """Whole numbers and truth values stay what they are where some are missing; what is missing among floats is NaN."""
    import pandas as pd
    import pyarrow as pa

    kind = column.type
    nullable = nullable or column.null_count > 0
    if pa.types.is_null(kind) or pa.types.is_list(kind):
        return pd.Series(column.to_pylist(), dtype=object)
    if pa.types.is_string(kind):
        return pd.Series(column.to_pandas(), dtype="str")
    if nullable and pa.types.is_integer(kind):
        return column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    if nullable and pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return column.to_pandas()
