"""Where sweeps lie: a folder each, numbered, below `.sweeps` of the results."""

from __future__ import annotations

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.files import storage_errors

SWEEPS = ".sweeps"


def new_folder(results: Path, name: str) -> Path:
    """`<name>-<n>` with the next number of all sweeps; safe with another submission at the same time."""
    parent = results / SWEEPS
    with storage_errors(parent):
        if results.exists() and not results.is_dir():
            raise InputError(f"The results folder {results} is a file. Choose another with results=DIR.")
        parent.mkdir(parents=True, exist_ok=True)
        endings = [path.name.rpartition("-")[2] for path in parent.iterdir()]
        last = max((int(ending) for ending in endings if ending.isdecimal()), default=0)
        for number in itertools.count(last + 1):
            folder = parent / f"{name}-{number}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            (folder / "logs").mkdir()
            (folder / "notes").mkdir()
            return folder.resolve()
    raise AssertionError  # the count does not end


def sweep_folders(results: Path) -> list[Path]:
    """The folders of what was submitted, oldest first."""
    numbered = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in (results / SWEEPS).iterdir():
            number = path.name.rpartition("-")[2]
            if number.isdecimal() and (path / "sweep.json").exists():
                numbered.append((int(number), path))
    return [path for _, path in sorted(numbered)]


def read_json(path: Path) -> Any:
    """What a file of a sweep holds."""
    with storage_errors(path, "read"):
        data = path.read_bytes()
    try:
        return json.loads(data)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}. Move its folder away; the runs themselves stay.") from error
