"""Where every run stands: finished, running, queued, failed, lost or cancelled.

Finished is what the run's own marker says, or what a full archive in the results folder holds; running is whose lock is
held; queued is what the launcher of a sweep still has before it. Of the rest a worker, or the launcher, knows why it is
not finished (failed, or cancelled by someone), or nobody (lost). No clock of another machine is asked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scorebo.errors import InputError
from scorebo.launch.base import STOPPED, Poll, SubmittedRun, poll
from scorebo.launch.finished_runs import FinishedRuns
from scorebo.launch.sweep import BUSY, FAILED, STARTED, Sweep, SweepRun, sweeps_in
from scorebo.launch.timings import file_time, last_bytes, seconds_per_iteration, seconds_since_record
from scorebo.store import find_runs
from scorebo.store.checksummed import unseal
from scorebo.store.identity import read_config
from scorebo.store.lock import is_locked

STATES = ("finished", "running", "queued", *STOPPED)
LOG_LINES = 5
_NO_RECORDS = "its records.jsonl is missing; the same command starts it from the beginning"
_DAMAGED = "its finished.json does not fit its records: one of the two was changed after it had finished"


@dataclass
class RunStatus:
    """A run and where it stands; `index` is its place in `sweep`, the last one it was part of."""

    run_id: str
    label: str
    folder: str
    state: str
    iteration: int = 0
    records: int | None = None
    seconds_per_iteration: float | None = None
    seconds_left: float | None = None
    seconds_since_record: float | None = None
    reason: str | None = None
    log: str | None = None
    log_tail: str | None = None
    sweep: str | None = None
    index: int | None = None


@dataclass
class Survey:
    """Every run asked about, what could not be found out, and the least seconds until the next survey."""

    runs: list[RunStatus]
    notes: list[str]
    pause: float = 0.0

    def of(self, *states: str) -> list[RunStatus]:
        """The runs in one of `states`."""
        return [run for run in self.runs if run.state in states]

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in each state."""
        return {state: len(self.of(state)) for state in STATES}


def survey(results: Path, which: str | None = None, *, tails: bool = True) -> Survey:
    """Where the runs of an experiment or sweep stand; without `which` those of all sweeps and all others there.

    Args:
        results: root of the run folders.
        which: an experiment's or a sweep's name.
        tails: read the last lines of the logs of failed runs.
    """
    results = Path(results)
    if not results.is_dir():
        raise InputError(f"There is no results folder '{results}'. Name one with --results DIR.")
    everything = sweeps_in(results)
    known: dict[str, list[SubmittedRun]] = {}
    asked: dict[str, SweepRun] = {}
    chosen = {sweep.name for sweep in (everything if which is None else sweeps_in(results, which))}
    for sweep in everything:
        for index, run in enumerate(sweep.runs):
            known.setdefault(run.folder, []).append(SubmittedRun(sweep, index))
            if sweep.name in chosen:
                asked[run.folder] = run
    checked = FinishedRuns(results)
    if which is None:
        for path in find_runs(results):
            relative = str(path.relative_to(results))
            asked.setdefault(relative, _without_sweep(relative))
        for folder, records in checked.archived.items():
            asked.setdefault(folder, _without_sweep(folder, records))
    finished, problems = checked.finished(asked)
    now = file_time(results)
    runs, idle = [], []
    for folder, run in asked.items():
        status = RunStatus(run.run_id, run.label, folder, "finished", run.records, run.records or None)
        runs.append(status)
        if where := known.get(folder):
            status.sweep, status.index = where[-1].sweep.name, where[-1].index
        if folder not in finished and not _is_at_work(status, results / folder, problems.get(folder), now):
            idle.append(status)
    polled = poll(run for status in idle for run in known.get(status.folder, ()))
    for status in idle:
        where = known.get(status.folder, [])
        status.state, status.reason, status.log = _why_idle(status, results / status.folder, where, polled)
    for status in runs if tails else ():
        if status.state == "failed" and status.log:
            tail = last_bytes(Path(status.log), 8192).decode(errors="replace").splitlines()
            status.log_tail = "\n".join(tail[-LOG_LINES:])
    # A run may have finished, and its pool or job ended, since its marker was looked for.
    doubtful = {status.folder: status for status in runs if status.state in STOPPED}
    for folder in checked.finished(doubtful)[0]:
        status = doubtful[folder]
        status.state, status.iteration = "finished", status.records or 0
        status.reason = status.log = status.log_tail = None
    checked.save()
    return Survey(runs, [*checked.damaged, *polled.notes], polled.pause)


def _is_at_work(status: RunStatus, folder: Path, problem: str | None, now: float | None) -> bool:
    """Fill in how far an unfinished run is; whether some process has it, or it cannot be read, which decides."""
    status.iteration = 0
    with contextlib.suppress(OSError, ValueError):
        os.stat(folder / "records.jsonl")  # without its records a run starts from the beginning
        status.iteration = int(unseal((folder / "checkpoint.json").read_bytes()[:-1])["iteration"])
    if is_locked(f"{folder}/lock"):
        status.state = "running"
        if status.records is None:  # no sweep knows it
            with contextlib.suppress(InputError, KeyError):
                status.records = int(read_config(folder / "config.yaml")["benchmark"]["total"]) + 1
        status.seconds_since_record = seconds_since_record(folder, now)
        status.seconds_per_iteration = seconds_per_iteration(folder)
        if status.records is not None and status.seconds_per_iteration is not None:
            status.seconds_left = max(0, status.records - status.iteration) * status.seconds_per_iteration
    elif problem is not None:
        status.state, status.reason = "failed", problem
    return status.state != "finished"


def _why_idle(
    status: RunStatus, folder: Path, where: Sequence[SubmittedRun], polled: Poll
) -> tuple[str, str | None, str | None]:
    """State, reason and log of a run that nobody is at, from the last sweep that knows anything about it."""
    if any(run not in polled.ended for run in where):
        return "queued", None, None
    if os.path.exists(f"{folder}/checkpoint.json") and not os.path.exists(f"{folder}/records.jsonl"):
        return "lost", _NO_RECORDS, None
    damaged = os.path.exists(f"{folder}/finished.json")
    for run in reversed(where):
        noted, ended = run.note.get("state"), polled.ended[run]
        if noted == BUSY:
            continue  # it was in the hands of another sweep
        logs = [path for path in (run.sweep.log(run.run), ended.log) if path is not None]
        path = next((str(log) for log in logs if os.path.exists(log) and os.path.getsize(log)), None)
        if noted == FAILED:
            return "failed", run.note.get("reason"), path
        if damaged:  # whatever became of its job or pool, which the run had no need of any more
            return "lost", _DAMAGED, path
        return ended.state, ended.reason, path
    if damaged:
        return "lost", f"{_DAMAGED}; the same command mends it", None
    stopped = f"stopped at iteration {status.iteration}; the same command goes on from there"
    return "lost", stopped if status.iteration else "never started", None


def runs_held(sweeps: Iterable[Sweep], folders: Collection[str]) -> dict[str, set[str]]:
    """Of each sweep, by name, the unfinished runs of `folders` that it may have in its hands.

    They are before it, or it is at them, also if its pool has died since.
    """
    runs = [SubmittedRun(s, index) for s in sweeps for index, run in enumerate(s.runs) if run.folder in folders]
    ended = poll(runs).ended
    held: dict[str, set[str]] = {}
    for run in runs:
        if run not in ended or run.note.get("state") == STARTED:
            held.setdefault(run.sweep.name, set()).add(run.run.folder)
    return held


def _without_sweep(folder: str, records: int = 0) -> SweepRun:
    """A run that no sweep knows, from where it lies."""
    *_, benchmark, model, acquisition, last = ["?"] * 3 + folder.split("/")
    seed, _, digits = last.removeprefix("seed-").rpartition("-")
    number = int(seed) if seed.isdecimal() else -1
    return SweepRun(digits, folder, benchmark, model, acquisition, number, records, threads=1, at=0)
