"""Records as columns: Arrow tables of single runs, which are kept and joined cheaply, and the tidy table of all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any

from scorebo.store.schema import COLUMNS, PHASES, TIMINGS, TYPES, WHO, Seconds

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# What is the same in all rows of a run and stands after what was measured.
RUN = ("maximize", "optimal_value", "finished", "run_id", "run")


def phase_columns(timing: str) -> list[str]:
    """The columns of one of `TIMINGS`, in the order of `PHASES`."""
    return [f"{timing}_{phase}" for phase in PHASES]


def column_names(field: str) -> list[str]:
    """The columns that a field of a record becomes: of points that failed their number, of seconds one a phase."""
    return phase_columns(field) if field in TIMINGS else [{"failed_points": "num_failed_points"}.get(field, field)]


def run_columns(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """What the records of one run tell, a row each; `mcmc_…` are the sampler's scalar diagnostics.

    Fields that the schema does not know are ignored, missing ones are null; `round` is a column where a record has it.
    """
    import pyarrow as pa

    # Arrow takes the fields it is told out of the records itself, many times as fast as a list for each.
    found = pa.array(records, _record_type())
    columns = dict(zip([field.name for field in found.type], found.flatten(), strict=True))
    columns["num_failed_points"] = pa.array([len(record.get("failed_points", ())) for record in records], pa.int64())
    for timing in TIMINGS:
        columns |= dict(zip(phase_columns(timing), columns.pop(timing).flatten(), strict=True))
    if columns["round"].null_count == len(records):
        del columns["round"]
    columns |= _task_units(columns, records)
    return pa.table(columns | _diagnostics([record.get("mcmc") for record in records]))


def _task_units(columns: Mapping[str, pa.Array], records: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Densities in the task's units, also of records older than these fields unless outputs were power-transformed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    standardized = [None if r.get("yeo_johnson_lambda") is not None else r.get("output_std") for r in records]
    shift = pa.array([None if std is None else math.log(std) for std in standardized], pa.float64())
    names = {f"{name}_task_units": name for name in ("negative_mll", "nlpd")}
    return {new: pc.coalesce(columns[new], pc.add(columns[name], shift)) for new, name in names.items()}


@cache
def _record_type() -> pa.StructType:
    """The Arrow type of what becomes a column as it is; any of it may be missing in a record."""
    import pyarrow as pa

    floats = pa.float64()
    types: dict[Any, pa.DataType] = {
        int: pa.int64(),
        float: floats,
        bool: pa.bool_(),
        str: pa.string(),
        list[float]: pa.list_(floats),
    }
    types |= {kind | None: found for kind, found in types.items()}
    types[Seconds] = pa.struct(dict.fromkeys(PHASES, floats))
    return pa.struct({name: types[TYPES[name]] for name in COLUMNS if name != "failed_points"})


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


def in_double(columns: pa.Table) -> pa.Table:
    """The same with floats in double precision, as all tables have them."""
    import pyarrow as pa

    wide = {pa.float32(): pa.float64()}
    return columns.cast(pa.schema([(field.name, wide.get(field.type, field.type)) for field in columns.schema]))


def tidy_table(
    runs: Sequence[Mapping[str, Any]], parts: Sequence[pa.Table], leave_out: Collection[str] = ()
) -> pd.DataFrame:
    """One table of the columns of all runs; each row says what its run is: `WHO`, what was measured, `RUN`."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    joined = pa.concat_tables(parts, promote_options="permissive")
    joined = joined.drop_columns([name for name in leave_out if name in joined.column_names])
    counts = [len(part) for part in parts]
    number = np.repeat(np.arange(len(parts)), counts)
    columns: dict[str, pd.Series[Any]] = {}
    for name in WHO:
        columns[name] = _series(pa.array([run[name] for run in runs]).take(pa.array(number)))
    mcmc = sorted(name for name in joined.column_names if name.startswith("mcmc_"))
    for name in [*(column for field in COLUMNS for column in column_names(field)), *mcmc]:
        if name in joined.column_names:
            # What may be missing stays nullable whether or not the table happens to hold a record without it.
            columns[name] = _series(joined[name], nullable=isinstance(TYPES.get(name), UnionType))
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
