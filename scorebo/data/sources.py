"""The table of data sets, `sources.yaml`, and the folder they are looked for in."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from scorebo.errors import check_choice

TABLE = Path(__file__).parent / "sources.yaml"


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
