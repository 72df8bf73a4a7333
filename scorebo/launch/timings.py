"""How fast a run is: by its own stopwatch, and by the clock of the file system it lies on; no other clock is asked."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scorebo.launch.sweep import SWEEPS

# Enough for some records; the last few tell the pace.
_TAIL_BYTES = 1 << 16
_LAST = 3
# A record has many numbers more: its timings alone are parsed.
_TIMINGS = re.compile(rb'"(wall_seconds|cpu_seconds)":(\{[^{}]*\})')


class Spent(NamedTuple):
    """What an iteration takes where no other work slows it down.

    Attributes:
        wall: seconds.
        cpu: processor seconds, child processes included; None where a record has none.
    """

    wall: float
    cpu: float | None


@dataclass(frozen=True)
class Cost:
    """What a kind of run takes where no other work slows it down.

    Attributes:
        seconds: wall time of each iteration with a model, that after the initial design first.
        memory_mb: peak memory.
        source: "stored", "stored wall" (without processor times), "pilot" or "guess".
        cpu_seconds: processor time of each of these iterations; None where nobody knows.
    """

    seconds: list[float]
    memory_mb: float | None
    source: str
    cpu_seconds: list[float] | None = None

    def of(self, first: int, last: int) -> float:
        """Wall time of the iterations `first` … `last`, counted like `seconds` from 0, the last not included."""
        return _sum(self.seconds, first, last)

    def cpu_of(self, first: int, last: int, threads: int) -> float:
        """Processor time of these iterations; where it is not known, as if every thread computed all the time."""
        return threads * self.of(first, last) if self.cpu_seconds is None else _sum(self.cpu_seconds, first, last)


def _sum(values: Sequence[float], first: int, last: int) -> float:
    missing = max(0, last - max(first, len(values)))
    return sum(values[first:last]) + missing * (values[-1] if values else 0.0)


def spent(record: Mapping[str, Any]) -> Spent:
    """What the iteration of a record takes, from its `wall_seconds` and `cpu_seconds` by phase.

    Fit, metrics and acquisition only compute: where they took longer than their processor time, they waited for a
    processor. An evaluation may wait for something else, so that all its wall time counts.
    """
    wall, cpu = record["wall_seconds"], record.get("cpu_seconds")
    if cpu is None:
        return Spent(sum(wall.values()), None)
    free = sum(time if phase == "evaluate" else min(time, cpu[phase]) for phase, time in wall.items())
    return Spent(free, sum(cpu.values()))


def iteration_timings(records: bytes) -> Iterator[dict[str, dict[str, float]]]:
    """`wall_seconds` and `cpu_seconds` of every iteration with a model."""
    for line in records.splitlines():
        with contextlib.suppress(ValueError):  # a damaged line
            timings = {name.decode(): json.loads(phases) for name, phases in _TIMINGS.findall(line)}
            if "fit" in timings.get("wall_seconds", {}):
                yield timings


def seconds_per_iteration(folder: Path) -> float | None:
    """The mean wall time of the last few iterations of a run; None before the first with a model."""
    last = list(iteration_timings(last_bytes(folder / "records.jsonl", _TAIL_BYTES)))[-_LAST:]
    return sum(sum(timings["wall_seconds"].values()) for timings in last) / len(last) if last else None


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
