"""Writing archives: the row of each run, checked as it is made, and the file of all rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError, check_choice
from scorebo.files import replacing, storage_errors
from scorebo.store.archive.file import EMPTY_MARK, KEY, write_mark
from scorebo.store.archive.summary import as_lists, rounded, run_digests, summary_columns
from scorebo.store.checksummed import seal
from scorebo.store.columns import run_columns
from scorebo.store.environment import package_versions
from scorebo.store.moments import moment_columns
from scorebo.store.schema import NAMES
from scorebo.store.sources import SUFFIX
from scorebo.store.stored_run import CHECKPOINT, FILES, FINISHED, RECORDS, StoredRun

if TYPE_CHECKING:
    import pyarrow as pa

FULL, SUMMARY = KINDS = ("full", "summary")
ABOUT = "scorebo.about"
# A summary has no place for these; that the run is finished, and with which records, is told without its marker.
NOT_IN_SUMMARY = (RECORDS, CHECKPOINT, FINISHED)
# So many runs of a summary are compressed together; what damage there is touches all of them.
SUMMARY_ROWS = 16


@dataclass(frozen=True)
class Row:
    """A run as it enters an archive: what is said of it, its files, and of a summary its columns."""

    head: dict[str, Any]
    files: dict[str, bytes]
    columns: pa.Table | None = None


def files_of(kind: str) -> list[str]:
    """The files that an archive of this kind holds of a run."""
    return [file for file in FILES if kind == FULL or file not in NOT_IN_SUMMARY]


def row_of(about: Mapping[str, Any], kind: str, moments: bool = False) -> Row | None:
    """The row of a run, as `describe_runs` has it; None for one that is not finished.

    With `moments` those of the hyperparameters too.
    """
    run: StoredRun = about["stored"]
    reading, finished = run.reading(about["run_id"])
    if not finished or reading.problem:
        return None
    records = reading.records
    files = {file: data for file in FILES if (data := run.read(file))}
    task = (records[0].get("task") if records else None) or {}
    head = {name: about[name] for name in (*NAMES, "seed", "run_id", "display")}
    head |= {name: task.get(name) for name in ("maximize", "optimal_value")}
    head |= {"folder": "/".join([*(about[name] for name in NAMES), run.name]), "records": len(records)}
    head["commit"] = (run.session().get("git") or {}).get("commit")
    head["files"] = {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}
    if kind == FULL:
        return Row(head, files)
    columns = run_columns(records)
    if moments:
        for name, column in moment_columns(records).items():
            columns = columns.append_column(name, column)
    kept = {file: data for file, data in files.items() if file not in NOT_IN_SUMMARY}
    return Row(head, kept, summary_columns(columns))


def write_archive(path: Path, rows: Iterable[Row], kind: str, about: dict[str, Any]) -> tuple[int, int]:
    """Write a new archive, never over an old one; returns how many runs and iterations it has.

    Args:
        path: of the file; its folder is made if it is not there.
        rows: of runs, each once; those of a full archive are written as they come.
        kind: full or summary.
        about: what `scorebo archive list` shows besides the runs: `experiment` and `scale`.
    """
    check_choice("kind of archive", kind, KINDS)
    if path.suffix != SUFFIX:
        raise InputError(f"The file of an archive must end in {SUFFIX}, got '{path}'.")
    if path.exists():
        raise InputError(f"{path} is there already, and archives are never changed. Choose another name.")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            heads = (_write_full if kind == FULL else _write_summary)(temporary, rows, about)
            if not heads:
                raise InputError("There is no finished run to archive.")
            write_mark(temporary)
    return len(heads), sum(head["records"] for head in heads)


def _write_full(path: Path, rows: Iterable[Row], about: dict[str, Any]) -> list[dict[str, Any]]:
    import pyarrow as pa

    schema = pa.schema([("run", pa.binary()), *((file, pa.binary()) for file in files_of(FULL))])
    heads = []
    # A run stands alone, so that damage touches no other. Records are next to random digits, which a higher level of
    # compression takes long for and does not make smaller.
    with _writer(path, schema, compression_level=1, use_dictionary=False) as writer:
        for row in rows:
            writer.write_table(pa.Table.from_pylist([{"run": seal(row.head)[:-1], **row.files}], schema))
            heads.append(row.head)
        writer.add_key_value_metadata(_metadata(FULL, about, heads))
    return heads


def _write_summary(path: Path, rows: Iterable[Row], about: dict[str, Any]) -> list[dict[str, Any]]:
    rows = list(rows)
    if not rows:
        return []
    table = _summary_table(rows)
    lists = [field for field in table.schema if field.name not in ("run", *FILES)]
    floats = [f"{field.name}.list.element" for field in lists if str(field.type.value_type) == "float"]
    others = [f"{field.name}.list.element" for field in lists if str(field.type.value_type) != "float"]
    options = {"compression_level": 9, "use_dictionary": others, "use_byte_stream_split": floats}
    with _writer(path, table.schema, **options) as writer:
        writer.write_table(table, row_group_size=SUMMARY_ROWS)
        writer.add_key_value_metadata(_metadata(SUMMARY, about, [row.head for row in rows]))
    return [row.head for row in rows]


def _writer(path: Path, schema: pa.Schema, **options: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        path, schema, compression="zstd", write_statistics=False, write_page_checksum=True, **options
    )


def _metadata(kind: str, about: dict[str, Any], heads: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The mark, and what is told of the runs without reading them."""
    told = {
        "kind": kind,
        "version": package_versions()["scorebo"],
        "commits": sorted({head["commit"] or "unknown" for head in heads}),
        **about,
        "runs": [[head["folder"], head["seed"], head["records"]] for head in heads],
    }
    return {KEY: EMPTY_MARK, ABOUT: json.dumps(told)}


def _summary_table(rows: Sequence[Row]) -> pa.Table:
    import pyarrow as pa

    parts = [row.columns for row in rows if row.columns is not None]
    columns = rounded(pa.concat_tables(parts, promote_options="permissive").combine_chunks())
    offsets = [0, *accumulate(map(len, parts))]
    digests = run_digests(columns, offsets)
    heads = [seal({**row.head, "columns": digest})[:-1] for row, digest in zip(rows, digests, strict=True)]
    files = {file: pa.array([row.files.get(file) for row in rows], pa.binary()) for file in files_of(SUMMARY)}
    return pa.table({"run": pa.array(heads, pa.binary()), **files, **as_lists(columns, offsets)})


def unused(path: Path, taken: Collection[Path] = ()) -> Path:
    """The path, or the first of `name-2.parquet`, `name-3.parquet`, … that is not there."""
    number = 1
    found = path
    while found.exists() or found in taken:
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found


def is_numbered(path: Path, first: Path) -> bool:
    """Whether a path is the first, or one that `unused` makes of it."""
    number = path.stem.removeprefix(f"{first.stem}-")
    return path == first or (path.stem != number and number.isdecimal())


def rows_of(
    runs: Iterable[Mapping[str, Any]], kind: str, moments: Collection[str], problems: list[str]
) -> Iterator[Row]:
    """The rows of the finished runs, with moments of those in `moments`; what is wrong with one is in `problems`."""
    for run in runs:
        try:
            row = row_of(run, kind, run["run_id"] in moments)
        except InputError as error:
            problems.append(f"{error} (left out)")
            continue
        if row is not None:
            yield row
