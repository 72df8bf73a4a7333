"""Files that are either the old one or the new one, and storage failures said in words."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from scorebo.errors import InputError

TEMPORARY_SUFFIX = ".tmp"

_HINTS = {
    errno.ENOSPC: "Free some space, then give the same command again.",
    errno.EDQUOT: "Free some of the quota, then give the same command again.",
    errno.EFBIG: "Raise the limit on file sizes, then give the same command again.",
    errno.EACCES: "Change its permissions or choose another folder.",
    errno.EPERM: "Change its permissions or choose another folder.",
    errno.EROFS: "Choose a folder that can be written.",
    errno.ENOTDIR: "A file is where a folder is needed; choose another folder.",
    errno.EEXIST: "A file is where a folder is needed; choose another folder.",
    errno.EISDIR: "A folder is where a file is needed; choose another name.",
}


@contextlib.contextmanager
def storage_errors(path: Path | str, verb: str = "write") -> Iterator[None]:
    """Turn what the operating system refuses below `path` into an `InputError` with the path and the reason."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) and error.filename != str(path) else None
        at = f" (at {where})" if where else ""
        hint = _HINTS.get(error.errno or 0, "")
        raise InputError(f"Cannot {verb} {path}: {error.strerror or error}{at}. {hint}".rstrip()) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; what was written there takes its place at the end, or is removed on failure."""
    path = Path(os.path.realpath(path))  # a link is followed, not replaced
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` so that a reader, or the next start after a crash, finds all of it or the file as it was."""
    data = content.encode() if isinstance(content, str) else content
    with storage_errors(path), replacing(path) as temporary:
        temporary.write_bytes(data)


def remove_temporaries(folder: Path) -> None:
    """Remove what killed processes left half-written; only for the one who holds the folder's lock."""
    for left_over in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        left_over.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
