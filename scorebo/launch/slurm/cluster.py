"""What SLURM says about the jobs of sweeps: which are still to come, and why one that is gone ended.

Its word is never taken for a finished run: a job whose run raised may be COMPLETED for SLURM, a cancelled one may have
finished its run.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from functools import cached_property

from scorebo.errors import InputError
from scorebo.launch.base import Ended, SubmittedRun
from scorebo.launch.sweep import BUSY, FAILED, Sweep
from scorebo.launch.timings import last_bytes

_SECONDS = 20
# The states in which a job has ended. From every other state, also one that only other versions of SLURM have, a job
# goes on or ends soon. The controller queues a job again at once: what it calls NODE_FAIL or PREEMPTED stays so.
_REASONS = {
    "OUT_OF_MEMORY": "out of memory: raise launcher.memory_gb",
    "TIMEOUT": "time limit reached",
    "NODE_FAIL": "its node was lost",
    "CANCELLED": "cancelled",
    "PREEMPTED": "pre-empted",
    "BOOT_FAIL": "its node did not start",
    "DEADLINE": "deadline reached",
    "COMPLETED": "its job ended without finishing it",
    "FAILED": "its job failed",
}
# What SLURM writes at the end of a job's log; not every cluster accounts for it.
_MEMORY = re.compile(rb"exceeded memory limit|oom[-_ ]kill|out.of.memory", re.IGNORECASE)


class Cluster:
    """SLURM, asked once about all `sweeps`, and only if one of them needs it."""

    def __init__(self, sweeps: Iterable[Sweep]) -> None:
        self._sweeps = list(sweeps)
        self._jobs: dict[str, dict[int, str]] = {}
        self.notes: list[str] = []

    def has(self, run: SubmittedRun) -> bool:
        """Whether a job that is to do the run is queued or running; yes as well if SLURM does not answer.

        Only the controller knows: for the accounting a job that a restarted controller has forgotten runs for ever.
        A run that failed has had its turn: a job that goes on with further runs does not come back to it, but one that
        is ending may be queued again, and does.
        """
        job = self.job(run)
        if job is None or self._queue is None:
            return job is not None
        state, reason = self._queue.get(job, ("", ""))
        if "held" in reason.lower():
            note = f"Job {job} is held ({reason}): SLURM starts it only after `scontrol release {job}`."
            self.notes += [note] if note not in self.notes else []
        if state == "RUNNING" and run.note.get("state") == FAILED:
            return not any(index > run.index and other == job for index, other in self._jobs[run.sweep.name].items())
        return _is_live(state)

    def arrays(self, sweep: Sweep) -> list[str]:
        """The sweep's arrays of which a job is queued or running; all of them if SLURM does not answer."""
        jobs = read_jobs(sweep)
        live = jobs if self._queue is None else [job for job in jobs if _is_live(self._queue.get(job, ("", ""))[0])]
        return sorted({job.partition("_")[0] for job in live})

    def why_ended(self, run: SubmittedRun, *, elsewhere: bool = False) -> Ended:
        """Why a run's job is gone; the accounting is not asked if that is known, or the run is queued `elsewhere`."""
        job = self.job(run)
        if job is None:
            return Ended("lost", "it was never submitted: the submission was interrupted")
        log = run.sweep.folder / "jobs" / f"{job}_0_log.out"  # what it printed outside its runs, or SLURM about it
        if elsewhere or run.note.get("state") in (FAILED, BUSY):
            return Ended("lost", str(run.note.get("reason")), log)
        if _MEMORY.search(last_bytes(log, 4096)):
            return Ended("failed", f"{_REASONS['OUT_OF_MEMORY']} (job {job})", log)
        state, code = self._accounts.get(job, ("", ""))
        if self._queue and job in self._queue and state != "OUT_OF_MEMORY":
            state = self._queue[job][0]  # the accounting lags by seconds
        if not state:
            return Ended("lost", f"SLURM knows nothing of job {job} any more", log)
        if _is_live(state):
            reason = f"SLURM's controller has forgotten job {job}, which for its accounting is {state}"
            return Ended("lost", reason, log)
        status, _, number = code.partition(":")
        how = f", killed by signal {number}" if number not in ("", "0") else ""
        how = how or (f", exit code {status}" if status not in ("", "0") else "")
        reason = f"{_REASONS[state]} (job {job}: {state}{how})"
        return Ended("cancelled" if state == "CANCELLED" else "failed", reason, log)

    def job(self, run: SubmittedRun) -> str | None:
        """The job that is to do a run."""
        if run.sweep.name not in self._jobs:
            jobs = read_jobs(run.sweep)
            self._jobs[run.sweep.name] = {index: job for job, indices in jobs.items() for index in indices}
        return self._jobs[run.sweep.name].get(run.index)

    @cached_property
    def _queue(self) -> dict[str, tuple[str, str]] | None:
        """State, and reason for it, of the jobs that wait, run, or ended lately; None if SLURM does not answer."""
        users = ",".join(sorted({sweep.about["user"] for sweep in self._sweeps}))
        output = self._ask("squeue", "--noheader", "--array", "--states=all", f"--user={users}", "--format=%i|%T|%r")
        lines = [line.split("|", 2) for line in (output or "").splitlines()]
        return None if output is None else {job: (state, reason) for job, state, reason in lines}

    @cached_property
    def _accounts(self) -> dict[str, tuple[str, str]]:
        """State and exit code of the jobs of all sweeps, from the accounting."""
        arrays = sorted({job.partition("_")[0] for sweep in self._sweeps for job in read_jobs(sweep)})
        output = self._ask(
            "sacct", "--noheader", "--parsable2", "--format=JobID,State,ExitCode", f"--jobs={','.join(arrays)}"
        )
        ended: dict[str, tuple[str, str]] = {}
        for line in (output or "").splitlines():
            name, state, code = line.split("|")[:3]
            job, _, step = name.partition(".")
            first = state.split()[0] if state else ""
            # The job's own line has the state; its steps know better about a signal or memory.
            if not step or first == "OUT_OF_MEMORY":
                ended[job] = (first, code)
            elif job in ended and not code.endswith(":0"):
                ended[job] = (ended[job][0], code)
        return ended

    def _ask(self, *command: str) -> str | None:
        try:
            return ask(*command)
        except InputError as error:
            self.notes.append(str(error))
            return None


def _is_live(state: str) -> bool:
    return state != "" and state not in _REASONS


def read_jobs(sweep: Sweep) -> dict[str, list[int]]:
    """The runs of every job of a sweep."""
    try:
        return json.loads((sweep.folder / "jobs.json").read_bytes())
    except (OSError, ValueError):
        return {}


def ask(*command: str) -> str:
    """The answer of a SLURM command."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise InputError(f"{command[0]} gave no answer: {' '.join(str(said).split())}") from error


def largest_array() -> int:
    """Jobs that an array may have here."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config"))
    return int(found.group(1)) if found else 1001
