"""Whether the files of a data set are there and intact."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from scorebo.data.sources import Dataset, Source, data_folder, dataset
from scorebo.errors import InputError
from scorebo.files import storage_errors

INTACT, UNKNOWN, MISSING, DAMAGED = "intact", "there, without a published checksum", "missing", "damaged"


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with storage_errors(path, "read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find(data: Dataset, source: Source) -> Path | None:
    """Where the file is, or one that serves as well; None if there is none."""
    candidates = (data.path() / name for name in (source.name, *source.instead))
    return next((path for path in candidates if path.is_file()), None)


def state(data: Dataset, source: Source) -> str:
    """One of the four states of a file."""
    path = find(data, source)
    if path is None:
        return MISSING
    if source.sha256 is None or path.name in source.instead:
        return UNKNOWN
    return INTACT if digest(path) == source.sha256 else DAMAGED


def states(data: Dataset) -> dict[str, str]:
    """The state of every file of a data set by its name."""
    return {source.name: state(data, source) for source in data.files}


def how_to_get(data: Dataset) -> str:
    """What to do about a data set that is not there, or not intact, as the end of a sentence."""
    elsewhere = f"set SCOREBO_DATA to the folder that has {data.folder or data.name}/"
    without_address = [source.name for source in data.files if source.url is None]
    if without_address:
        return f"put an intact {' and '.join(without_address)} there, or {elsewhere}"
    return f"`scorebo data fetch {data.name}` gets it, or {elsewhere}"


def required(name: str, files: Collection[str] | None = None) -> list[Path]:
    """The files of a data set, or those that are named, in the table's order, each there and intact.

    Raises:
        InputError: one is not; in one sentence, with what to do.
    """
    data = dataset(name)
    paths = []
    for source in data.files:
        if files is not None and source.name not in files:
            continue
        found = state(data, source)
        if found == MISSING:
            instead = f", nor {' or '.join(source.instead)} instead" if source.instead else ""
            raise InputError(
                f"The data '{name}' are missing: there is no {data.path() / source.name}{instead} "
                f"(data are looked for in '{data_folder()}'): {how_to_get(data)}."
            )
        path = find(data, source)
        assert path is not None
        if found == DAMAGED:
            raise InputError(
                f"{path} is damaged or another version: its SHA-256 is {digest(path)}, not {source.sha256}: "
                f"remove it; {how_to_get(data)}."
            )
        paths.append(path)
    return paths
