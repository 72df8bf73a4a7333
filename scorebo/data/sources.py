"""The table of data sets, `sources.yaml`, the folder they are looked for in, and whether their files are intact."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from scorebo.errors import InputError, check_choice
from scorebo.files import storage_errors

TABLE = Path(__file__).parent / "sources.yaml"
INTACT, UNKNOWN, MISSING, DAMAGED = "intact", "there, without a published checksum", "missing", "damaged"


@dataclass(frozen=True)
class Source:
    """A file of a data set.

    Args:
        name: path below the data set's folder.
        url: where the public has it, or the archive it is in; None if nowhere.
        sha256: by which it is known, in hexadecimal; None if by its contents alone.
        member: its name in the zip archive at `url`; None if it is no archive.
        instead: names of files that serve as well.
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    member: str | None = None
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """What the files of one source are, for which tasks, and on which terms."""

    name: str
    what: str
    license: str
    citation: str
    files: tuple[Source, ...]
    tasks: tuple[str, ...] = ()
    folder: str = field(default="")

    def path(self) -> Path:
        """The folder its files are looked for in."""
        return data_folder() / (self.folder or self.name)


def data_folder() -> Path:
    """`$SCOREBO_DATA`, or else `data/` in the working folder."""
    return Path(os.environ.get("SCOREBO_DATA") or "data")


def datasets() -> dict[str, Dataset]:
    """Every data set of the table by its name."""
    return _read(TABLE)


def dataset(name: str) -> Dataset:
    """The data set of this name."""
    known = datasets()
    return known[check_choice("data set", name, known)]


@lru_cache
def _read(table: Path) -> dict[str, Dataset]:
    import yaml

    entries = yaml.safe_load(table.read_text(encoding="utf-8"))
    return {name: _dataset(name, **entry) for name, entry in entries.items()}


def _dataset(name: str, files: dict[str, dict], tasks: list[str], **about: str) -> Dataset:
    sources = (Source(file, **entry | {"instead": tuple(entry.get("instead", ()))}) for file, entry in files.items())
    return Dataset(name, files=tuple(sources), tasks=tuple(tasks), **about)


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


def why_missing(task: str) -> str | None:
    """Why a task cannot be run: a data set of it is not there, and what to do; None if nothing is missing."""
    for data in datasets().values():
        missing = [source.name for source in data.files if task in data.tasks and find(data, source) is None]
        if missing:
            return f"the data '{data.name}' are missing ({', '.join(missing)}): {how_to_get(data)}"
    return None


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
