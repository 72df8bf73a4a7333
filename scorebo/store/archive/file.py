"""An archive as a file: its format, and digests by which damage is noticed before anything of it is believed.

The mark stands in the Parquet file's own metadata, at its end. It names the format, the SHA-256 of all that comes
before the metadata (the body), and that of the metadata themselves, where its own digits count as zeros.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import IO, NamedTuple

from scorebo.errors import InputError
from scorebo.files import storage_errors

# Raised whenever a program of today could misread what a program of tomorrow writes, or the other way round.
FORMAT = 1
KEY = "scorebo.archive"
_NONE = "0" * 64
EMPTY_MARK = f"scorebo archive format {FORMAT} body {_NONE} metadata {_NONE}"
_MARK = re.compile(rb"scorebo archive format (\d+) body ([0-9a-f]{64}) metadata ([0-9a-f]{64})")
_MAGIC = b"PAR1"
_TAIL = 8  # the length of the metadata, and the magic


class DamagedError(InputError):
    """An archive, or a run of one, that is not as it was written."""


class Metadata(NamedTuple):
    """Where the metadata of an archive begin, and the digest of what comes before them."""

    start: int
    body: str


def write_mark(path: Path) -> None:
    """Fill in the digests of an archive that was written with `EMPTY_MARK`."""
    with open(path, "rb+") as file:
        start, metadata = _read_metadata(file, path)
        found = _MARK.search(metadata)
        if found is None:
            raise RuntimeError("The archive was written without its mark.")
        marked = bytearray(metadata)
        marked[slice(*found.span(2))] = _body_digest(file, start).encode()
        marked[slice(*found.span(3))] = hashlib.sha256(marked).hexdigest().encode()
        file.seek(start)
        file.write(marked)


def check_metadata(path: Path) -> Metadata | None:
    """The metadata of an archive, checked; None for a Parquet file that is no archive."""
    with storage_errors(path, "read"), open(path, "rb") as file:
        start, metadata = _read_metadata(file, path)
    found = _MARK.search(metadata)
    if found is None:
        if KEY.encode() in metadata:
            raise DamagedError(_damaged(path, "its mark is not readable"))
        return None
    if int(found[1]) != FORMAT:
        raise InputError(
            f"{path} has archive format {int(found[1])}; this version of scorebo reads and writes format {FORMAT}. "
            "Install the version that wrote it and there give `scorebo archive extract` for run folders, or `scorebo "
            "collect` for a table, that other versions read."
        )
    plain = bytearray(metadata)
    plain[slice(*found.span(3))] = _NONE.encode()
    if hashlib.sha256(plain).hexdigest().encode() != found[3]:
        raise DamagedError(_damaged(path, "its metadata do not match their checksum"))
    return Metadata(start, found[2].decode())


def check_body(path: Path) -> None:
    """Refuse an archive of which any byte has changed."""
    metadata = check_metadata(path)
    if metadata is None:
        raise not_an_archive(path)
    with storage_errors(path, "read"), open(path, "rb") as file:
        if _body_digest(file, metadata.start) != metadata.body:
            raise DamagedError(_damaged(path, "it does not match its checksum"))


def not_an_archive(path: Path) -> InputError:
    """The error for a Parquet file that is something else."""
    return InputError(f"{path} is a Parquet file, but no archive of runs: `scorebo archive create` makes those.")


def _read_metadata(file: IO[bytes], path: Path) -> tuple[int, bytes]:
    """Where the metadata of a Parquet file begin, and all bytes from there on."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    start = size - _TAIL - int.from_bytes(tail[:4], "little")
    if len(tail) < _TAIL or tail[4:] != _MAGIC or start < len(_MAGIC):
        raise DamagedError(_damaged(path, "it is cut short, or was never a Parquet file"))
    file.seek(start)
    return start, file.read()


def _body_digest(file: IO[bytes], size: int) -> str:
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(size, 1 << 20))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()


def _damaged(path: Path, why: str) -> str:
    return f"{path} is damaged: {why}. Copy it again, or remove it and make it again from its runs"
