"""What a summary keeps of each iteration: the columns that figures, claims and comparisons read, in single precision.

Also the moments of the log10 hyperparameters over the samples, in the task's units, of runs whose figures show them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scorebo.store.columns import column_names
from scorebo.store.moments import MOMENTS, SAMPLES
from scorebo.store.schema import COLUMNS, TIMINGS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

# Of the sampler's diagnostics those by which its health is judged, and what it did in place of what it was told to.
DIAGNOSTICS = tuple(f"mcmc_{name}" for name in ("draws", "divergences", "rhat", "ess_bulk", "fallback", "retries"))
# Nothing that compares methods reads these. Points take more room than all metrics together.
LEFT_OUT = ("x", "f", "acquisition_value")
# Means and sums alone are made of timings: of their mantissas (23 bits) so many are kept.
TIMING_BITS = 8
# Where no run has a value the column has no type; these are the types of what is known.
_TEXTS = ("mcmc_fallback",)


def summary_columns(columns: pa.Table) -> pa.Table:
    """The columns of `run_columns`, and of moments, that a summary keeps, floats in single precision."""
    import pyarrow as pa

    there = columns.column_names
    kept = [name for field in COLUMNS for name in column_names(field) if name not in LEFT_OUT]
    moments = [name for name in there if name.startswith(MOMENTS)]
    found = columns.select([name for name in (*kept, *DIAGNOSTICS, SAMPLES, *moments) if name in there])
    return found.cast(pa.schema([(field.name, _narrow(field.name, field.type)) for field in found.schema]))


def rounded(columns: pa.Table) -> pa.Table:
    """Timings with fewer bits; once rounded they stay as they are."""
    for name in (name for timing in TIMINGS for name in column_names(timing)):
        if name in columns.column_names:
            columns = columns.set_column(columns.column_names.index(name), name, _coarse(columns[name]))
    return columns


def run_digests(columns: pa.Table, offsets: Sequence[int]) -> list[str]:
    """The SHA-256 of the columns of each run; its rows are those between two `offsets`. Columns without values are not
    counted, since other runs of the file may bring them in.
    """
    parts = {name: _bytes_of(columns[name]) for name in sorted(columns.column_names)}
    titles = {name: f"{name} {values.dtype}\n".encode() for name, (_, values) in parts.items()}
    digests = []
    for begin, end in pairwise(offsets):
        digest = hashlib.sha256(str(end - begin).encode())
        for name, (there, values) in parts.items():
            if there[begin:end].any():
                digest.update(titles[name])
                digest.update(there[begin:end].tobytes())
                own = values[begin:end]
                digest.update("\0".join(own).encode() if values.dtype == object else own.tobytes())
        digests.append(digest.hexdigest())
    return digests


def _bytes_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Where there are values, and the values, with zeros or empty texts where there are none."""
    import pyarrow as pa

    there = column.is_valid().to_numpy()
    if pa.types.is_string(column.type):
        return there, column.fill_null("").to_numpy(zero_copy_only=False)
    if pa.types.is_null(column.type):
        return there, there
    return there, column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy()


def _narrow(name: str, kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_float64(kind):
        return pa.float32()
    return pa.string() if name in _TEXTS and pa.types.is_null(kind) else kind


def _coarse(column: pa.ChunkedArray) -> pa.Array:
    """Single precision with `TIMING_BITS` bits of the mantissa; the rest are zeros, which take no room."""
    import numpy as np
    import pyarrow as pa

    missing = column.is_null().to_numpy()
    bits = column.fill_null(0.0).to_numpy().astype(np.float32).view(np.uint32)
    last = 23 - TIMING_BITS
    rounded = (bits + np.uint32(1 << (last - 1))) >> np.uint32(last) << np.uint32(last)
    return pa.array(rounded.view(np.float32), pa.float32(), mask=missing)


def as_lists(columns: pa.Table, offsets: Sequence[int]) -> dict[str, Any]:
    """Each column with a list of values for each run."""
    import pyarrow as pa

    edges = pa.array(offsets, pa.int32())
    return {name: pa.ListArray.from_arrays(edges, columns[name].combine_chunks()) for name in columns.column_names}
