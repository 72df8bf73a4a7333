"""Reading archives: nothing is believed that does not match its digest, and a damaged run is refused alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scorebo.errors import InputError
from scorebo.store.archive.file import DamagedError, check_metadata, not_an_archive
from scorebo.store.archive.summary import run_digests
from scorebo.store.archive.write import ABOUT, FULL, files_of
from scorebo.store.cache import Part, Stamp
from scorebo.store.checksummed import unseal
from scorebo.store.columns import in_double
from scorebo.store.schema import NAMES
from scorebo.store.stored_run import FILES, FINISHED, RECORDS, StoredRun

if TYPE_CHECKING:
    import pyarrow as pa


class Archive:
    """An archive whose metadata are as they were written; its runs are checked as they are read."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        if check_metadata(path) is None:
            raise not_an_archive(path)
        try:
            # Kept without the file: of hundreds of archives not all can be open.
            self._metadata = pq.read_metadata(path)
            self.about: dict[str, Any] = json.loads(self._metadata.metadata[ABOUT.encode()])
        except (pa.ArrowException, OSError, ValueError, LookupError) as error:
            raise DamagedError(f"{path} cannot be read: {error}") from error
        self.kind: str = self.about["kind"]
        self._read: dict[tuple[str, ...], tuple[int, pa.Table]] = {}
        self._columns: tuple[int, Columns] | None = None

    @property
    def folders(self) -> list[str]:
        """Where each run lay below its results."""
        return [folder for folder, _, _ in self.about["runs"]]

    @cached_property
    def stamp(self) -> Stamp:
        """Size and times of the file."""
        status = self.path.stat()
        return [[status.st_size, status.st_mtime_ns, status.st_ctime_ns]]

    def runs(self, problems: list[str]) -> Iterator[ArchivedRun]:
        """The runs that can be read; the others are named in `problems`."""
        begin = 0
        for group in range(self._metadata.num_row_groups):
            folders = self.folders[begin : begin + self._metadata.row_group(group).num_rows]
            begin += len(folders)
            try:
                lines = self.read(group, ["run"])["run"].to_pylist()
            except DamagedError as error:
                problems += [f"{self.path / folder}: {error} (left out)" for folder in folders]
                continue
            for row, (folder, line) in enumerate(zip(folders, lines, strict=True)):
                try:
                    yield ArchivedRun(self, group, row, _head(line, folder))
                except ValueError as error:
                    problems.append(f"{self.path / folder} {error} (left out)")

    def read(self, group: int, columns: list[str]) -> pa.Table:
        """Columns of a group of runs; the last group is kept, as its runs are asked for one after the other."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        key = tuple(columns)
        if key not in self._read or self._read[key][0] != group:
            try:
                with pq.ParquetFile(self.path, metadata=self._metadata, page_checksum_verification=True) as file:
                    table = file.read_row_group(group, columns=columns, use_threads=False)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise DamagedError(f"its part of the archive is damaged: {' '.join(str(error).split())}") from error
            # What a page says of itself has no checksum.
            if len(table) != self._metadata.row_group(group).num_rows:
                raise DamagedError("its part of the archive is damaged: runs are missing")
            self._read[key] = group, table
        return self._read[key][1]

    def columns(self, group: int) -> Columns:
        """The columns of a group of runs of a summary."""
        import pyarrow as pa

        if self._columns is None or self._columns[0] != group:
            names = [n for n in self._metadata.schema.to_arrow_schema().names if n not in ("run", *FILES)]
            table = self.read(group, names)
            try:
                offsets = [0, *accumulate(table["iteration"].combine_chunks().value_lengths().to_pylist())]
                joined = pa.table({name: table[name].combine_chunks().flatten() for name in names})
                digests = run_digests(joined, offsets)
            except (pa.ArrowException, ValueError, TypeError) as error:
                raise DamagedError(f"its columns do not fit together: {error}") from error
            self._columns = group, Columns(joined, in_double(joined), offsets, digests)
        return self._columns[1]


class Columns(NamedTuple):
    """The columns of some runs as they are stored, and in double precision; where each begins, and its digest."""

    stored: pa.Table
    double: pa.Table
    offsets: list[int]
    digests: list[str]


class ArchivedRun(StoredRun):
    """A finished run in an archive."""

    def __init__(self, archive: Archive, group: int, row: int, head: dict[str, Any]) -> None:
        super().__init__(archive.path / head["folder"])
        self.archive, self.head = archive, head
        self.exact = archive.kind == FULL
        self._group, self._row = group, row

    def read(self, file: str) -> bytes:
        """The bytes of one of its files, checked."""
        if file not in self.head["files"]:
            return b""
        if file not in files_of(self.archive.kind):
            raise InputError(
                f"{self.place} is kept as a summary, without {file}: that needs its run folder or a full archive."
            )
        data = self._damaged(lambda: self.archive.read(self._group, [file])[file][self._row].as_py())
        if data is None or hashlib.sha256(data).hexdigest() != self.head["files"][file]:
            raise DamagedError(f"{self.place} is damaged: {file} does not match its checksum")
        return bytes(data)

    def stamp(self) -> Stamp:
        """That of the archive, with the run's own digests."""
        return [*self.archive.stamp, list(self.content())]

    def content(self) -> tuple[str, ...]:
        """Digests of its records and of its marker."""
        return tuple(str(self.head["files"].get(file)) for file in (RECORDS, FINISHED))

    def check_format(self) -> None:
        """Nothing: what is archived was read by the version that wrote the archive, whose format was checked."""

    def describe(self) -> dict[str, Any]:
        """Its names, seed, id and display, which were checked when it was archived."""
        return {**{name: self.head[name] for name in (*NAMES, "seed", "run_id", "display")}, "stored": self}

    def part(self, problems: list[str]) -> Part:
        """What `collect` makes of it; refused if any of its files is damaged."""
        for file in files_of(self.archive.kind):
            self.read(file)
        if self.exact:
            return super().part(problems)
        run = {name: value for name, value in self.describe().items() if name != "stored"}
        run |= {name: self.head[name] for name in ("maximize", "optimal_value")}
        return Part({**run, "finished": True, "run": self.name}, self.columns(double=True))

    def columns(self, double: bool = False) -> pa.Table:
        """The columns of a summary, checked; as they are stored, or in double precision."""
        found: Columns = self._damaged(lambda: self.archive.columns(self._group))
        if found.digests[self._row] != self.head["columns"]:
            raise DamagedError(f"{self.place} is damaged: its columns do not match their checksum")
        return (found.double if double else found.stored).slice(found.offsets[self._row], self.head["records"])

    def _damaged(self, read: Any) -> Any:
        try:
            return read()
        except DamagedError as error:
            raise DamagedError(f"{self.place}: {error}") from error


def _head(line: bytes | None, folder: str) -> dict[str, Any]:
    head = unseal(line or b"")
    parts = folder.split("/")
    # It names the folder that is made when the run is extracted.
    if head["folder"] != folder or len(parts) != 4 or not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError("is not where the archive says")
    return head
