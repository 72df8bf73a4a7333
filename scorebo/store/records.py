"""`records.jsonl`: one sealed line per iteration, only ever appended to.

Besides what the loop records, a line names the run it belongs to (`"run"`, the first 12 digits of its id) and, where
the loop handed in a sampler state with the record, that going on after it needs that state (`"needs_state"`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.store.checksummed import seal, unseal


class Reading(NamedTuple):
    """The longest good beginning of a records file: its records, its length, and what is wrong after it."""

    records: list[dict[str, Any]]
    good_bytes: int
    problem: str | None


class RecordWriter:
    """Appends records, each with a single write that is on the disk when `append` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with storage_errors(path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self.size = os.fstat(self._descriptor).st_size

    def append(self, record: Mapping[str, Any]) -> bytes:
        """Write one line and return it; a line that cannot be written whole is taken back."""
        line = seal(record)
        with storage_errors(self.path):
            if os.fstat(self._descriptor).st_size != self.size:
                raise InputError(f"{self.path} was changed by another process; its run stops here. Run it again.")
            try:
                written = os.write(self._descriptor, line)
                while written < len(line):  # a full disk takes what fits; writing the rest gives the reason
                    written += os.write(self._descriptor, line[written:])
                os.fsync(self._descriptor)
            except OSError:
                with contextlib.suppress(OSError):  # the next start repairs what cannot be taken back here
                    os.ftruncate(self._descriptor, self.size)
                raise
        self.size += len(line)
        return line

    def close(self) -> None:
        """Close the file; closing twice does no harm."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_records(path: Path, run: str | None = None) -> Reading:
    """The longest good prefix of a records file (no file: no records). With `run`, lines of other runs are not good."""
    return parse_records(read_bytes(path), run)


def parse_records(data: bytes, run: str | None = None) -> Reading:
    """As `read_records`, from the file's bytes."""
    records: list[dict[str, Any]] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        number = len(records) + 1
        try:
            if end < 0:
                raise ValueError("is cut short")
            record = unseal(data[start:end])
            if record.get("iteration") != number:
                raise ValueError(f"is iteration {record.get('iteration')}, not {number}")
            if run is not None and record.get("run") != run:
                raise ValueError(f"belongs to another run ({record.get('run')})")
        except ValueError as error:
            return Reading(records, start, f"line {number} (from byte {start}) {error}")
        records.append(record)
        start = end + 1
    return Reading(records, start, None)


def truncate_to(path: Path, good_bytes: int) -> None:
    """Cut a records file to its good beginning."""
    with storage_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, good_bytes)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, none if it is not there."""
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return b""
