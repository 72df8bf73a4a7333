"""Downloads that can be broken off at any point: resumed, verified, and put in their place in one step."""

from __future__ import annotations

import fcntl
import http.client
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from scorebo.data.check import DAMAGED, MISSING, digest, state
from scorebo.data.sources import Dataset, Source
from scorebo.errors import InputError
from scorebo.store.atomic import replacing, storage_errors

# Seconds without a single byte after which a server counts as silent.
TIMEOUT = 30.0
ATTEMPTS = 3
CHUNK = 1 << 16


def fetch(data: Dataset, report: Callable[[str], None] = lambda line: None, *, timeout: float = TIMEOUT) -> None:
    """Get every file of a data set that is not there; those that are intact are left alone.

    Args:
        data: the data set.
        report: called with a line about each file.
        timeout: seconds without a single byte after which a server counts as silent.
    """
    folder = data.path()
    for source in data.files:
        found = state(data, source)
        if found not in (MISSING, DAMAGED):
            report(f"{source.name}: {found}, left alone")
            continue
        target = folder / source.name
        if source.url is None:
            raise InputError(f"{source.name} of '{data.name}' has no public address: put it in {folder}.")
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        if source.member is None:
            download(source.url, target, source.sha256, timeout=timeout)
        else:
            archive = folder / source.url.rpartition("/")[2]
            if not archive.exists():  # several files may come from one
                download(source.url, archive, None, timeout=timeout)
            extract(archive, source, target)
        report(f"{source.name}: fetched from {source.url}")
    for name in {source.url.rpartition("/")[2] for source in data.files if source.url and source.member}:
        (folder / name).unlink(missing_ok=True)


def download(url: str, target: Path, sha256: str | None, *, timeout: float = TIMEOUT) -> None:
    """Put what is at `url` in `target`, which holds all of it or is as it was.

    What has arrived is kept beside it in `NAME.part`, where the next call goes on.

    Raises:
        InputError: the server does not answer, or what arrived has another checksum.
    """
    part = target.with_name(f"{target.name}.part")
    with storage_errors(part), part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{target} is being fetched by another process.") from error
        resumed = file.tell() > 0
        _transfer_all(url, file, timeout)
        file.flush()
        os.fsync(file.fileno())
        found = digest(part)
        if sha256 is not None and found != sha256 and resumed:
            # What was there may have been the beginning of something else: once more from nothing.
            file.truncate(0)
            _transfer_all(url, file, timeout)
            file.flush()
            found = digest(part)
        if sha256 is not None and found != sha256:
            part.unlink()
            raise InputError(f"What {url} sends is not the file expected: its SHA-256 is {found}, not {sha256}.")
        os.replace(part, target)


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
    except zipfile.BadZipFile as error:
        archive.unlink()
        raise InputError(f"What {source.url} sends is no intact zip archive ({error}).") from error


def _transfer_all(url: str, file: BinaryIO, timeout: float) -> None:
    """Append to `file` until all is there; a connection that breaks is made again."""
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            _transfer(url, file, timeout)
            return
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                file.truncate(0)  # there is more than the server has: no beginning of this file
            elif error.code < http.client.INTERNAL_SERVER_ERROR:
                break
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    kept = f" The {file.seek(0, os.SEEK_END)} bytes that arrived are kept; the same command goes on from there."
    raise InputError(f"{url} cannot be fetched: {reason}.{kept if file.tell() else ''}")


def _transfer(url: str, file: BinaryIO, timeout: float) -> None:
    """One connection: from the end of `file` on if the server can, from the beginning if not."""
    there = file.seek(0, os.SEEK_END)
    request = urllib.request.Request(url, headers={"Range": f"bytes={there}-"} if there else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        if there and answer.status != http.client.PARTIAL_CONTENT:
            file.truncate(0)
        expected = answer.headers.get("Content-Length")
        arrived = 0
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            arrived += len(chunk)
    if expected is not None and arrived < int(expected):
        raise http.client.HTTPException(f"only {arrived} of {expected} bytes arrived")
