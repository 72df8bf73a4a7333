"""How fast a run is: by its own stopwatch, and by the clock of the file system it lies on; no other clock is asked."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from scorebo.launch.folders import SWEEPS

# Enough for some records; the last few tell the pace.
_TAIL_BYTES = 1 << 16
_LAST = 3
_PHASES = re.compile(rb'"seconds":\{([^}]*)\}')
_NUMBER = re.compile(rb":([0-9.eE+-]+)")


def iteration_seconds(records: bytes) -> list[float]:
    """Seconds of every iteration with a model among `records`; the initial design says nothing about what follows."""
    return [sum(map(float, _NUMBER.findall(phases))) for phases in _PHASES.findall(records) if b'"fit"' in phases]


def seconds_per_iteration(folder: Path) -> float | None:
    """The mean over the last few iterations of a run; None before the first with a model."""
    spent = iteration_seconds(last_bytes(folder / "records.jsonl", _TAIL_BYTES))[-_LAST:]
    return sum(spent) / len(spent) if spent else None


def seconds_since_record(folder: Path, now: float | None) -> float | None:
    """Seconds since a run's last record; `now` is what `file_time` said."""
    with contextlib.suppress(OSError):
        return None if now is None else max(0.0, now - os.stat(folder / "checkpoint.json").st_mtime)
    return None


def file_time(results: Path) -> float | None:
    """What the file system that holds the results takes for now; None if nothing can be written there."""
    path = results / SWEEPS / ".now"
    with contextlib.suppress(OSError):
        path.touch()
        return path.stat().st_mtime
    return None


def last_bytes(path: Path, size: int) -> bytes:
    """The end of a file; none if it cannot be read."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read()
    return b""
