"""Processor time of this process and of all processes it has started; other work on the machine does not change it."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterator


def processor_seconds() -> float:
    """Processor seconds so far: of all threads, of child processes that have ended, and of those that are alive.

    Live children are read from `/proc`; on a system without it a child counts once it has ended.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(_ticks(pid) for pid in _descendants(os.getpid()))
    return time.process_time() + ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Processor time of a process and of its own children that have ended; 0 if it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
    return 0


def _descendants(pid: int) -> Iterator[int]:
    threads: list[str] = []
    with contextlib.suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")
    children: list[int] = []
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
            children += map(int, file.read().split())
    for child in children:
        yield child
        yield from _descendants(child)
