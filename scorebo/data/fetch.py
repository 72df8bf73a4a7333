"""What is not there of a data set is downloaded, or taken out of an archive that is."""

from __future__ import annotations

import fcntl
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scorebo.data.check import DAMAGED, MISSING, digest, state, states
from scorebo.data.download import download
from scorebo.data.sources import Dataset, Source
from scorebo.errors import InputError
from scorebo.files import replacing, storage_errors

LOCK = ".fetch.lock"


def fetch(data: Dataset, report: Callable[[str], None] = lambda line: None) -> None:
    """Get every file of a data set that is not there or damaged; others are left alone.

    Args:
        data: the data set.
        report: called with a line about each file.
    """
    if not {MISSING, DAMAGED} & set(states(data).values()):  # nothing is written, as the folder may not allow it
        for name, found in states(data).items():
            report(f"{name}: {found}, left alone")
        return
    with _alone(data):
        for source in data.files:
            found = state(data, source)
            if found in (MISSING, DAMAGED):
                _fetch_file(data, source)
                report(f"{source.name}: fetched from {source.url}")
            else:
                report(f"{source.name}: {found}, left alone")
        for source in data.files:
            if source.member is not None:
                _archive(data, source).unlink(missing_ok=True)


def _fetch_file(data: Dataset, source: Source) -> None:
    target = data.path() / source.name
    if source.url is None:
        raise InputError(f"{source.name} of '{data.name}' has no public address: put it in {data.path()}.")
    with storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    if source.member is None:
        download(source.url, target, source.sha256)
        return
    archive = _archive(data, source)
    if not archive.exists():  # several files may come from one
        download(source.url, archive, None)
    try:
        extract(archive, source, target)
    except InputError:
        archive.unlink()  # or else the next call would take the same one, whatever the server has by then
        raise


def extract(archive: Path, source: Source, target: Path) -> None:
    """Take one file out of a zip archive, whose checksum of it is verified."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [name for name in opened.namelist() if name.rpartition("/")[2] == source.member]
            if not members:
                raise InputError(f"{source.url} has no {source.member} in it.")
            with storage_errors(target), replacing(target) as temporary:
                with opened.open(members[0]) as content, temporary.open("wb") as file:
                    shutil.copyfileobj(content, file)
                if source.sha256 is not None and digest(temporary) != source.sha256:
                    raise InputError(f"{source.member} in {source.url} is not the file expected.")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"What {source.url} sends is no intact zip archive ({error}).") from error


def _archive(data: Dataset, source: Source) -> Path:
    """Where an archive is kept while files are taken out of it: under a name that no file of the user's has."""
    assert source.url is not None
    return data.path() / f".fetched-{source.url.rpartition('/')[2]}"


@contextmanager
def _alone(data: Dataset) -> Iterator[None]:
    """One process at a time; the lock's file stays, since without it two processes could lock two of one name."""
    folder = data.path()
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("ab")
    with lock:
        with storage_errors(folder / LOCK, "lock"):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(f"'{data.name}' is being fetched into {folder} by another process.") from error
        yield
