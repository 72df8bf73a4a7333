"""Which runs are finished, by their own markers; a marker that was checked once is not checked again while it stays.

Checking means to read and hash all records. So what was checked is kept, with size and time of change of both files:
compared with what they were, never with a clock.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from scorebo.errors import InputError
from scorebo.launch.sweep import SWEEPS
from scorebo.store import write_atomically
from scorebo.store.folder import check_format
from scorebo.store.markers import finished_run


class FinishedRuns:
    """The finished runs below `results`, remembered in `.sweeps/finished_runs.json` where that can be written."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._path = results / SWEEPS / "finished_runs.json"
        self._seen: dict[str, list[int]] = {}
        with contextlib.suppress(OSError, ValueError):
            self._seen = dict(json.loads(self._path.read_bytes()))
        self._changed = False

    def finished(self, folders: Iterable[str]) -> tuple[set[str], dict[str, str]]:
        """Of `folders` (relative to the results): the finished ones, and what forbids to read one."""
        done, problems = set(), {}
        # One after the other: threads that read many small files hinder each other and take twice as long.
        for folder in folders:
            seen = _look(f"{self.results}/{folder}")
            try:
                if seen is None:
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


def _look(folder: str) -> list[int] | None:
    """Size and time of change of marker and records; None where one is missing."""
    try:
        marker, records = os.stat(f"{folder}/finished.json"), os.stat(f"{folder}/records.jsonl")
    except OSError:
        return None
    return [marker.st_size, marker.st_mtime_ns, records.st_size, records.st_mtime_ns]
