"""Where every run stands: finished, running, queued, failed, lost or cancelled.

Finished is what the run's own marker says; running is whose lock is held; queued is what a living pool, or SLURM's
queue, still has before it. Of the rest a worker, or SLURM, knows why it is not finished (failed, or cancelled by
someone), or nobody (lost). No clock of another machine is asked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.launch import run_notes
from scorebo.launch.finished_runs import Verified
from scorebo.launch.slurm.cluster import Cluster, job_log
from scorebo.launch.sweep import Sweep, SweepRun, sweeps_in
from scorebo.launch.timings import file_time, last_bytes, seconds_per_iteration, seconds_since_record
from scorebo.store import find_runs
from scorebo.store.checksummed import unseal
from scorebo.store.lock import is_locked
from scorebo.store.stored_config import read_config

STATES = ("finished", "running", "queued", "failed", "lost", "cancelled")
# Nobody goes on with these by itself.
STOPPED = ("failed", "lost", "cancelled")
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

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Survey:
    """Every run asked about, and what could not be found out."""

    runs: list[RunStatus]
    notes: list[str]

    def of(self, *states: str) -> list[RunStatus]:
        """The runs in one of `states`."""
        return [run for run in self.runs if run.state in states]


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
    known: dict[str, list[tuple[Sweep, int]]] = {}
    asked: dict[str, SweepRun] = {}
    chosen = {sweep.name for sweep in (everything if which is None else sweeps_in(results, which))}
    for sweep in everything:
        for index, run in enumerate(sweep.runs):
            known.setdefault(run.folder, []).append((sweep, index))
            if sweep.name in chosen:
                asked[run.folder] = run
    if which is None:
        for path in find_runs(results):
            relative = str(path.relative_to(results))
            asked.setdefault(relative, _without_sweep(relative))
    verified = Verified(results)
    finished, problems = verified.finished(asked)
    cluster = Cluster(sweep for sweep in everything if sweep.about["launcher"]["name"] == "slurm")
    now = file_time(results)
    runs = []
    for folder, run in asked.items():
        status = RunStatus(run.run_id, run.label, folder, "finished", run.records, run.records or None)
        where = known.get(folder, [])
        if where:
            status.sweep, status.index = where[-1][0].name, where[-1][1]
        if folder not in finished:
            _unfinished(status, results / folder, where, problems.get(folder), cluster, now)
            if tails and status.state == "failed" and status.log:
                status.log_tail = last_lines(Path(status.log))
        runs.append(status)
    # A run may have finished, and its pool or job ended, since its marker was looked for.
    doubtful = {status.folder: status for status in runs if status.state in STOPPED}
    for folder in verified.finished(doubtful)[0]:
        status = doubtful[folder]
        status.state, status.iteration = "finished", status.records or 0
        status.reason = status.log = status.log_tail = None
    verified.save()
    return Survey(runs, cluster.notes)


def last_lines(log: Path, count: int = LOG_LINES) -> str:
    """The end of a log; empty if there is none."""
    lines = last_bytes(log, 8192).decode(errors="replace").splitlines()
    return "\n".join(line for line in lines[-count:])


def _unfinished(
    status: RunStatus,
    folder: Path,
    where: Sequence[tuple[Sweep, int]],
    problem: str | None,
    cluster: Cluster,
    now: float | None,
) -> None:
    """Fill in the state of a run that is not finished, and how far it is."""
    status.iteration = 0
    with contextlib.suppress(OSError, ValueError):
        os.stat(folder / "records.jsonl")  # without its records a run starts from the beginning
        status.iteration = int(unseal((folder / "checkpoint.json").read_bytes()[:-1])["iteration"])
    if is_locked(f"{folder}/lock"):
        status.state = "running"
        if status.records is None:  # no sweep knows it
            with contextlib.suppress(InputError, KeyError):
                status.records = int(read_config(folder / "config.yaml")["benchmark"]["total"]) + 1
        _pace(status, folder, now)
    elif problem is not None:
        status.state, status.reason = "failed", problem
    else:
        status.state, status.reason, status.log = _metrics(status, folder, where, cluster)


def _metrics(
    status: RunStatus, folder: Path, where: Sequence[tuple[Sweep, int]], cluster: Cluster
) -> tuple[str, str | None, str | None]:
    """State, reason and log of a run that nobody is at, from the last sweep that knows anything about it."""
    for sweep, index in where:
        if _is_pending(sweep, index, cluster):
            return "queued", None, None
    if os.path.exists(f"{folder}/checkpoint.json") and not os.path.exists(f"{folder}/records.jsonl"):
        return "lost", _NO_RECORDS, None
    damaged = os.path.exists(f"{folder}/finished.json")
    for sweep, index in reversed(where):
        run = sweep.runs[index]
        told = run_notes.read_note(sweep, run)
        if told.get("state") == run_notes.BUSY:
            continue  # it was in the hands of another sweep
        path = _log(sweep, index, cluster)
        if told.get("state") == run_notes.FAILED:
            return "failed", told.get("reason"), path
        if damaged:  # whatever became of its job or pool, which the run had no need of any more
            return "lost", _DAMAGED, path
        if sweep.cancelled:
            return "cancelled", f"{sweep.name} was cancelled", path
        if sweep.about["launcher"]["name"] == "slurm":
            state, reason = cluster.why_ended(sweep, index)
            return state, reason, path
        return "lost", "the sweep's process ended without it", path
    if damaged:
        return "lost", f"{_DAMAGED}; the same command mends it", None
    stopped = f"stopped at iteration {status.iteration}; the same command goes on from there"
    return "lost", stopped if status.iteration else "never started", None


def _log(sweep: Sweep, index: int, cluster: Cluster) -> str | None:
    """What there is to read about a run: what it printed, or else its job."""
    job = cluster.job(sweep, index)
    logs = [str(sweep.log(sweep.runs[index])), *([str(job_log(sweep, job))] if job else [])]
    return next((log for log in logs if os.path.exists(log) and os.path.getsize(log)), None)


def _is_pending(sweep: Sweep, index: int, cluster: Cluster) -> bool:
    if sweep.cancelled:
        return False
    on_slurm = sweep.about["launcher"]["name"] == "slurm"
    if not on_slurm and not sweep.alive:
        return False
    told = run_notes.read_note(sweep, sweep.runs[index]).get("state")
    if on_slurm:
        return cluster.has(sweep, index, failed=told == run_notes.FAILED)
    return told not in (run_notes.FAILED, run_notes.FINISHED)


def holds(sweep: Sweep, index: int, cluster: Cluster) -> bool:
    """Whether a sweep may have an unfinished run in its hands: before it, or at it, also if its pool has died since."""
    told = run_notes.read_note(sweep, sweep.runs[index]).get("state")
    return told == run_notes.STARTED or _is_pending(sweep, index, cluster)


def _pace(status: RunStatus, folder: Path, now: float | None) -> None:
    """How fast a running run is, and how long it still takes."""
    status.seconds_since_record = seconds_since_record(folder, now)
    status.seconds_per_iteration = seconds_per_iteration(folder)
    if status.records is not None and status.seconds_per_iteration is not None:
        status.seconds_left = max(0, status.records - status.iteration) * status.seconds_per_iteration


def _without_sweep(folder: str) -> SweepRun:
    """A run that no sweep knows, from where it lies."""
    *_, benchmark, model, acquisition, last = ["?"] * 3 + folder.split("/")
    seed, _, digits = last.removeprefix("seed-").rpartition("-")
    number = int(seed) if seed.isdecimal() else -1
    return SweepRun(digits, folder, benchmark, model, acquisition, number, records=0, threads=1, at=0)


def summary(runs: Iterable[RunStatus]) -> dict[str, int]:
    """How many runs are in each state."""
    counts = dict.fromkeys(STATES, 0)
    for run in runs:
        counts[run.state] += 1
    return counts
