"""What a job of a cluster does: its runs, one after the other, and what happens when it is told to stop.

A job that is pre-empted, or near its time limit, queues again and its run goes on from its last record; SLURM itself
queues a job again whose node is lost. A job that spent all its time without a single new record does not: it would for
ever.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from submitit.helpers import Checkpointable, DelayedSubmission

from scorebo.errors import InputError
from scorebo.launch.slurm.launcher import Slurm
from scorebo.launch.sweep import BUSY, FAILED, Sweep
from scorebo.launch.worker import work
from scorebo.store.markers import read_checkpoint

# A run that another process has is waited for this long, as it may be that of a job that is being killed; then left.
_BUSY_SECONDS = 60.0
# SLURM sends the signal up to a minute early.
_EARLY_SECONDS = 75.0


class Job(Checkpointable):
    """The runs a job does, one after the other; pickled by submitit, and again whenever the job is queued again."""

    def __init__(self, sweep: Path, indices: Sequence[int], settings: Slurm) -> None:
        self.sweep = sweep
        self.indices = list(indices)
        self.settings = settings
        self.before: dict[int, int] = {}
        self.began = 0.0
        self.stopping = False

    def __call__(self) -> dict[str, str]:
        """Do the runs; raises, so that SLURM knows as well, if one was not finished."""
        import submitit

        sweep = Sweep(self.sweep)
        sys.path.insert(0, sweep.about["cwd"])
        self.began, self.stopping = time.monotonic(), False
        self.before = {index: _iteration(sweep, index) for index in self.indices}
        job = submitit.JobEnvironment().job_id
        ends = {}
        for index in self.indices:
            if self.stopping or sweep.cancelled:
                break
            ends[sweep.runs[index].label] = _work_when_free(sweep, index, job)
        failed = [label for label, end in ends.items() if end == FAILED]
        if failed:
            raise RuntimeError(f"Not finished: {', '.join(failed)}; see the logs in {sweep.folder / 'logs'}.")
        return ends

    def checkpoint(self) -> DelayedSubmission:
        """What submitit queues again when the job is told to stop; raises if queueing again would be no use."""
        sweep = Sweep(self.sweep)
        elapsed = time.monotonic() - self.began
        limit = 60.0 * self.settings.minutes
        progressed = any(_iteration(sweep, index) > before for index, before in self.before.items())
        if elapsed > limit - self.settings.signal_seconds - _EARLY_SECONDS and not progressed:
            self.stopping = True
            raise InputError(
                f"time limit: no iteration was completed in launcher.minutes={self.settings.minutes}: "
                "the task hangs, or a job needs more time."
            )
        return DelayedSubmission(Job(self.sweep, self.indices, self.settings))


def _work_when_free(sweep: Sweep, index: int, job: str) -> str:
    began = time.monotonic()
    while True:
        end = work(sweep, index, job=job)
        if end != BUSY or time.monotonic() - began > _BUSY_SECONDS:
            return end
        time.sleep(1.0)


def _iteration(sweep: Sweep, index: int) -> int:
    """How far a run is; one whose folder is refused has its turn like the others, and is told why then."""
    run = sweep.runs[index]
    checkpoint = None
    with contextlib.suppress(InputError):
        checkpoint, _ = read_checkpoint(sweep.results / run.folder, run.run_id)
    return 0 if checkpoint is None else checkpoint.iteration
