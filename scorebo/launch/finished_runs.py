"""Which runs are finished, by their own markers, or because a full archive in the results folder has them.

Checking means to read and hash all records, or the archive. So what was checked is kept, with size and time of change
of the files: compared with what they were, never with a clock.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.launch.sweep import SWEEPS
from scorebo.store import write_atomically
from scorebo.store.folder import check_format
from scorebo.store.markers import finished_run
from scorebo.store.sources import SUFFIX


class FinishedRuns:
    """The finished runs below `results`, remembered in `.sweeps/finished_runs.json` where that can be written."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._path = results / SWEEPS / "finished_runs.json"
        self._seen: dict[str, list[Any]] = {}
        # Archives that cannot be read, whose runs would be taken for missing ones.
        self.damaged: list[str] = []
        with contextlib.suppress(OSError, ValueError):
            self._seen = dict(json.loads(self._path.read_bytes()))
        self._changed = False

    @cached_property
    def archived(self) -> dict[str, int]:
        """The runs in full archives, by their folders, and how many records each has."""
        found: dict[str, int] = {}
        paths = sorted(self.results.glob(f"*{SUFFIX}")) if self.results.is_dir() else []
        for path in paths:
            status = path.stat()
            seen = self._seen.get(path.name)
            if seen is None or seen[:2] != [status.st_size, status.st_mtime_ns]:
                try:
                    seen = [status.st_size, status.st_mtime_ns, _runs_of(path)]
                except InputError as error:
                    self.damaged.append(str(error))
                    continue
                self._seen[path.name] = seen
                self._changed = True
            found |= dict(seen[2])
        return found

    def finished(self, folders: Iterable[str]) -> tuple[set[str], dict[str, str]]:
        """Of `folders` (relative to the results): the finished ones, and what forbids to read one."""
        done, problems = set(), {}
        # One after the other: threads that read many small files hinder each other and take twice as long.
        for folder in folders:
            seen = _look(f"{self.results}/{folder}")
            try:
                if folder in self.archived:
                    done.add(folder)
                elif seen is None:
                    self._changed |= self._seen.pop(folder, None) is not None
                    check_format(self.results / folder)
                elif self._seen.get(folder) == seen:
                    done.add(folder)
                elif (run_id := finished_run(self.results / folder)) and run_id.startswith(folder.rpartition("-")[2]):
                    done.add(folder)
                    self._seen[folder] = seen
                    self._changed = True
            except InputError as error:
                problems[folder] = str(error)
        return done, problems

    def save(self) -> None:
        """Remember; harmless where nothing can be written."""
        if self._changed:
            with contextlib.suppress(InputError, OSError):
                self._path.parent.mkdir(exist_ok=True)
                write_atomically(self._path, json.dumps(self._seen))
                self._changed = False


def _runs_of(path: Path) -> list[list[Any]]:
    """Folder and number of records of each run of a full archive, all of which is checked; none of any other file."""
    from scorebo.store.archive.file import check_body, check_metadata
    from scorebo.store.archive.read import FULL, Archive

    if check_metadata(path) is None:
        return []
    check_body(path)
    archive = Archive(path)
    return [[folder, records] for folder, _, records in archive.about["runs"]] if archive.kind == FULL else []


def _look(folder: str) -> list[int] | None:
    """Size and time of change of marker and records; None where one is missing."""
    try:
        marker, records = os.stat(f"{folder}/finished.json"), os.stat(f"{folder}/records.jsonl")
    except OSError:
        return None
    return [marker.st_size, marker.st_mtime_ns, records.st_size, records.st_mtime_ns]
