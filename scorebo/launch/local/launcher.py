"""`launcher=local`: the pool of a sweep as a process in the background."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorebo.errors import InputError, check_integer, check_number
from scorebo.files import storage_errors
from scorebo.launch.base import Ended, Launcher, Poll, SubmittedRun
from scorebo.launch.sweep import FAILED, FINISHED, Sweep

if TYPE_CHECKING:
    from scorebo.launch.estimate import Workload

_CANCEL_SECONDS = 30.0


@dataclass(frozen=True)
class Local(Launcher):
    """A pool of `workers` processes on this machine; for the settings see `configs/launcher/local.yaml`."""

    minutes: float | None = None

    def check(self, threads: int, workers: int | None) -> None:
        """Check ranges."""
        if self.minutes is not None:
            check_number("launcher.minutes", self.minutes, 0.0, exclusive=True)
        if workers is not None:
            check_integer("workers", workers, 1)

    def submit(self, sweep: Sweep, indices: Sequence[int]) -> None:
        """Start the pool in a session of its own, which a closed terminal does not end, and return at once."""
        # Taken here and handed on, so that the sweep is at no moment without someone who holds its lock.
        lock = sweep.lock()
        command = [sys.executable, "-m", "scorebo.launch.local.pool", str(sweep.folder), str(lock)]
        log = sweep.folder / "pool.log"
        try:
            with storage_errors(log), open(log, "ab") as output:
                # The shell ends at once: the pool is nobody's child, and ignores an interrupt from a keyboard.
                subprocess.run(
                    ["/bin/sh", "-c", '"$@" &', "sh", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=sweep.about["cwd"],
                    start_new_session=True,
                    pass_fds=(lock,),
                    check=True,
                )
        finally:
            os.close(lock)

    @classmethod
    def poll(cls, runs: Sequence[SubmittedRun]) -> Poll:
        """A run ended if its worker said so, or the pool is gone."""
        sweeps = {run.sweep.name: run.sweep for run in runs}
        alive = {name for name, sweep in sweeps.items() if sweep.alive}
        over = (FAILED, FINISHED)
        ended = Ended("lost", "the sweep's process ended without it")
        return Poll({r: ended for r in runs if r.sweep.name not in alive or r.note.get("state") in over})

    def cancel(self, sweep: Sweep) -> None:
        """Wait for the pool, which looks for itself whether it was cancelled."""
        deadline = time.monotonic() + _CANCEL_SECONDS
        while sweep.alive:
            if time.monotonic() > deadline:
                raise InputError(f"The process of {sweep.name} on {sweep.about['host']} did not stop; it was told to.")
            time.sleep(0.05)

    def describe(self, work: Workload) -> list[str]:
        """Runs share the workers, and the workers share the cores."""
        at_a_time = num_workers(work.workers, work.threads)
        core_seconds = sum(work.cpu_seconds)
        wall = max(sum(work.seconds) / at_a_time, core_seconds / usable_cores())
        return work.costs(core_seconds, wall, f"{min(at_a_time, len(work.seconds))} workers")


def num_workers(workers: int | None, threads: int) -> int:
    """Workers of a pool: as many as asked for, or as there are cores for."""
    return workers or max(1, usable_cores() // threads)


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
