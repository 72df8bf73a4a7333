"""What was collected before, in a hidden folder beside the runs: only runs whose files changed are read again.

A run's files are known by their sizes and times, so nothing of an unchanged run is read. The runs are spread over
`CHUNKS` files by the names of their folders; a file is a sealed line that says what is in it, with the SHA-256 of the
Arrow data that follow. One that is damaged, of another version, or missing holds nothing: its runs are read again.
Files are only ever replaced whole, so that of two who collect at once the last one's stays, and either's is right.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.files import replacing
from scorebo.store.checksummed import seal, unseal
from scorebo.store.columns import RUN, column_names
from scorebo.store.schema import COLUMNS, TYPES, WHO

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = ".cache"
CHUNKS = 64
VERSION = 2
# A cache of other columns than those collected today is of no use.
_CONTENT = hashlib.sha256(
    json.dumps([VERSION, WHO, [(name, column_names(name), str(TYPES[name])) for name in COLUMNS], RUN]).encode()
).hexdigest()[:16]
_FILES = ("config.yaml", "records.jsonl", "finished.json")

Stamp = list[Any]


def stamp_of(folder: Path) -> Stamp:
    """Size and times of the files that decide what is collected of a run; None for one that is not there."""
    stamp: Stamp = []
    for name in _FILES:
        try:
            status = os.stat(folder / name)
            stamp.append([status.st_size, status.st_mtime_ns, status.st_ctime_ns])
        except OSError:
            stamp.append(None)
    return stamp


@dataclass(frozen=True)
class Part:
    """A run that was read: what it is, and its columns."""

    run: Mapping[str, Any]
    table: pa.Table


class Cache:
    """The parts kept for the runs below `results`."""

    def __init__(self, results: Path, *, read: bool = True) -> None:
        self.results = results
        self._read = read
        self._kept: dict[int, dict[str, tuple[Stamp, Part]]] = {}
        self._changed: set[int] = set()

    def get(self, folder: Path, stamp: Stamp) -> Part | None:
        """What was read of the run when its files were as they are now."""
        name = self._name(folder)
        kept = self._chunk(name).get(name)
        return kept[1] if kept is not None and kept[0] == stamp else None

    def put(self, folder: Path, stamp: Stamp, part: Part, now: Stamp) -> None:
        """Keep what was read of a run; the stamps are those of its files before they were read and after."""
        name = self._name(folder)
        # Nothing is put in a run's own folder; and one that went on meanwhile is not what was read.
        if name != os.curdir and stamp == now:
            self._chunk(name)[name] = (stamp, part)
            self._changed.add(_number(name))

    def save(self) -> None:
        """Write what changed; where that cannot be done nothing is lost but time."""
        for number in sorted(self._changed):
            with contextlib.suppress(OSError):
                self._path(number).parent.mkdir(exist_ok=True)
                with replacing(self._path(number)) as temporary:
                    temporary.write_bytes(_pack(self._kept[number]))

    def _name(self, folder: Path) -> str:
        return os.path.relpath(folder, self.results)

    def _path(self, number: int) -> Path:
        return self.results / FOLDER / f"collected-{number:02d}"

    def _chunk(self, name: str) -> dict[str, tuple[Stamp, Part]]:
        number = _number(name)
        if number not in self._kept:
            self._kept[number] = {}
            if self._read:
                with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                    self._kept[number] = _unpack(self._path(number).read_bytes())
        return self._kept[number]


def _number(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogateescape")) % CHUNKS


def _pack(kept: Mapping[str, tuple[Stamp, Part]]) -> bytes:
    import pyarrow as pa

    tables = [part.table for _, part in kept.values()]
    sink = pa.BufferOutputStream()
    joined = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    with pa.ipc.new_file(sink, joined.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(joined)
    data = sink.getvalue().to_pybytes()
    runs = [
        {"folder": name, "stamp": stamp, "rows": len(part.table), "run": dict(part.run)}
        for name, (stamp, part) in kept.items()
    ]
    head = {"content": _CONTENT, "sha256": hashlib.sha256(data).hexdigest(), "runs": runs}
    return seal(head) + data


def _unpack(content: bytes) -> dict[str, tuple[Stamp, Part]]:
    import pyarrow as pa

    line, _, data = content.partition(b"\n")
    head = unseal(line)
    if head["content"] != _CONTENT or head["sha256"] != hashlib.sha256(data).hexdigest():
        raise InputError("The cache is of another version or damaged.")
    joined = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    kept, start = {}, 0
    for run in head["runs"]:
        kept[run["folder"]] = (run["stamp"], Part(run["run"], joined.slice(start, run["rows"])))
        start += run["rows"]
    return kept
