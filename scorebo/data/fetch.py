"""What is not there of a data set is downloaded, or taken out of an archive that is.

Downloads can be broken off at any point: they are resumed, verified, and put in their place in one step.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from scorebo.data.sources import DAMAGED, MISSING, Dataset, Source, digest, state, states
from scorebo.errors import InputError
from scorebo.files import replacing, storage_errors

LOCK = ".fetch.lock"
# Seconds without a single byte after which a server counts as silent.
TIMEOUT = 30.0
ATTEMPTS = 3
CHUNK = 1 << 16


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


def download(url: str, target: Path, sha256: str | None, *, timeout: float = TIMEOUT) -> None:
    """Put what is at `url` in `target`, which holds all of it or is as it was; one process at a time.

    What has arrived is kept beside it in `NAME.part`, where the next call goes on.

    Raises:
        InputError: the server does not answer, what arrived has another checksum, or it cannot be stored.
    """
    part = target.with_name(f"{target.name}.part")
    with storage_errors(part), part.open("ab", buffering=0) as file:
        resumed = file.seek(0, os.SEEK_END) > 0
        # All of it is there already if a process was ended just before the last step.
        found = digest(part) if resumed and sha256 is not None else None
        if found is None or found != sha256:
            found = _all_of_it(url, file, part, timeout)
        if resumed and sha256 not in (None, found):
            # What was there may have been the beginning of something else: once more from nothing.
            file.truncate(0)
            found = _all_of_it(url, file, part, timeout)
        if sha256 not in (None, found):
            part.unlink()
            raise InputError(f"What {url} sends is not the file expected: its SHA-256 is {found}, not {sha256}.")
        os.replace(part, target)


def _all_of_it(url: str, file: BinaryIO, part: Path, timeout: float) -> str:
    """Append to `file`, which is `part`, until all is there; a connection that breaks is made again. The SHA-256."""
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            _transfer(url, file, part, timeout)
            os.fsync(file.fileno())
            return digest(part)
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                file.truncate(0)  # there is more than the server has: no beginning of this file
            elif error.code < http.client.INTERNAL_SERVER_ERROR:
                break
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)).strip() or type(error).__name__
    there = file.seek(0, os.SEEK_END)
    if not there:
        part.unlink(missing_ok=True)
    kept = f" The {there} bytes that arrived are kept; the same command goes on from there." if there else ""
    raise InputError(f"{url} cannot be fetched: {reason}.{kept}")


def _transfer(url: str, file: BinaryIO, part: Path, timeout: float) -> None:
    """One connection: from the end of `file` on if the server can, from the beginning if not."""
    there = file.seek(0, os.SEEK_END)
    request = urllib.request.Request(url, headers={"Range": f"bytes={there}-"} if there else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        length = answer.headers.get("Content-Length")
        if answer.status == http.client.PARTIAL_CONTENT:
            whole = _whole(answer.headers.get("Content-Range", ""), there, file)
        else:
            if there:
                file.truncate(0)
            there, whole = 0, None if length is None else int(length)
        while chunk := answer.read(CHUNK):
            with storage_errors(part):  # a full disk is no failure of the server's, and is not tried again
                there += _append(file, chunk)
    if whole is not None and there < whole:
        raise http.client.HTTPException(f"only {there} of {whole} bytes arrived")


def _whole(content_range: str, there: int, file: BinaryIO) -> int | None:
    """The number of bytes in all by the header of a partial answer, which must go on where `file` ends."""
    told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", content_range.strip())
    if told is None or int(told[1]) != there:
        file.truncate(0)  # the next attempt asks for all of it
        raise http.client.HTTPException(f"asked for the bytes from {there} on, it sends '{content_range}'")
    return None if told[2] == "*" else int(told[2])


def _append(file: BinaryIO, chunk: bytes) -> int:
    """Write all of a chunk, of which an unbuffered file may take a part at a time."""
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) :]
    return len(chunk)
