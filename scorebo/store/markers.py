"""The two small files that speak about `records.jsonl`: how far the run is (`checkpoint.json`), and that it is done."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from scorebo.errors import InputError
from scorebo.files import write_atomically
from scorebo.store.checksummed import seal, unseal
from scorebo.store.records import read_bytes

# Raised whenever a program of today could misread what a program of tomorrow writes, or the other way round.
FORMAT = 2


class Checkpoint(NamedTuple):
    """The run after `iteration` records, the first `bytes` bytes of their file, with what is needed to go on."""

    iteration: int
    bytes: int
    sha256: str
    state: Any = None


def write_checkpoint(folder: Path, run_id: str, checkpoint: Checkpoint) -> None:
    """Replace `checkpoint.json`."""
    document = {"format": FORMAT, "run_id": run_id, **checkpoint._asdict()}
    write_atomically(folder / "checkpoint.json", seal(document))


def read_checkpoint(folder: Path, run_id: str) -> tuple[Checkpoint | None, str | None]:
    """The checkpoint, or None and why there is none that can be used; another run's or format's is refused."""
    path = folder / "checkpoint.json"
    data = read_bytes(path)
    if not data:
        return None, "is empty" if path.exists() else "is missing"
    return parse_checkpoint(data, path, run_id)


def parse_checkpoint(data: bytes, path: Path, run_id: str) -> tuple[Checkpoint | None, str | None]:
    """As `read_checkpoint`, from the file's bytes; `path` is for messages."""
    document, trouble = _parse_marker(data, path)
    if document is None:
        return None, trouble
    if document.get("run_id") != run_id:
        raise InputError(
            f"{path} belongs to another run ({str(document.get('run_id'))[:12]}). "
            "Put the folder's own files back, or delete the folder and run again."
        )
    fields = [document.get(name) for name in ("iteration", "bytes", "sha256")]
    if [type(field) for field in fields] != [int, int, str]:
        return None, "is incomplete"
    return Checkpoint(document["iteration"], document["bytes"], document["sha256"], document.get("state")), None


def write_finished(folder: Path, run_id: str, records: int, sha256: str) -> None:
    """Write `finished.json`: the run is done, with this many records and this SHA-256 of `records.jsonl`."""
    document = {"format": FORMAT, "run_id": run_id, "records": records, "sha256": sha256}
    write_atomically(folder / "finished.json", seal(document))


def finished_run(folder: Path, data: bytes | None = None) -> str | None:
    """The id of the run that `finished.json` says is done; None without one that is whole and fits the records.

    Args:
        folder: the run's folder.
        data: the bytes of its records, if already read.
    """
    path = folder / "finished.json"
    marker = read_bytes(path)
    if not marker:
        return None
    return marked_run(marker, path, read_bytes(folder / "records.jsonl") if data is None else data)


def marked_run(marker: bytes, path: Path, data: bytes) -> str | None:
    """As `finished_run`, from the bytes of the marker and of the records; `path` is for messages."""
    document, _ = _parse_marker(marker, path)
    if document is None:
        return None
    return str(document.get("run_id")) if document.get("sha256") == hashlib.sha256(data).hexdigest() else None


def is_finished(folder: Path, run_id: str, data: bytes | None = None) -> bool:
    """Whether `finished.json` is there, of this run, and fits the records (`data`: their bytes, if already read)."""
    return finished_run(folder, data) == run_id


def _parse_marker(data: bytes, path: Path) -> tuple[dict[str, Any] | None, str | None]:
    try:
        if not data.endswith(b"\n"):
            raise ValueError("is cut short")
        document = unseal(data[:-1])
    except ValueError as error:
        return None, str(error)
    refuse_other_format(path, document.get("format"))
    return document, None


def refuse_other_format(path: Path, found: Any) -> None:
    """Refuse a file of a run that another version of this project wrote in a way that would be misread."""
    if found != FORMAT:
        raise InputError(
            f"{path} has format {found!r}; this version of scorebo reads and writes format {FORMAT}. To convert, "
            "install the version that wrote it (environment.json beside it names it) and there give "
            f"`scorebo collect {path.parent} --out table.parquet`: a table that any version reads. "
            "To go on with the run, use that version."
        )
