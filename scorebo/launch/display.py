"""A survey in words, and one that goes on until nothing is left to wait for."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tqdm import tqdm

from scorebo.launch.base import Launcher
from scorebo.launch.status import STATES, STOPPED, RunStatus, Survey, survey

_MOST = 20
# Options of `scorebo retry`, and the states of the runs they choose.
RETRIES = {"failed": ("failed", "lost"), "cancelled": ("cancelled",)}


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def describe(state: Survey, results: Path) -> str:
    """Counts, what is running and how far, what stopped and why, in the run folders below `results`."""
    counts = state.counts
    lines = ["  ".join(f"{name} {counts[name]}" for name in STATES) + f"  of {len(state.runs)} runs"]
    for name in ("running", *STOPPED):
        runs, in_words = state.of(name), _progress if name == "running" else _stopped
        if runs:
            lines += ["", name, *map(in_words, runs[:_MOST])]
        if len(runs) > _MOST:
            lines.append(f"  … and {len(runs) - _MOST} more; --json has all")
    options = [f"--{name}" for name, states in RETRIES.items() if any(run.sweep for run in state.of(*states))]
    if options:
        command = f"scorebo retry {' '.join(options)} --results {results}"
        lines += ["", f"`{command}` submits them again; they go on from their last record."]
    return "\n".join(lines)


def _progress(run: RunStatus) -> str:
    text = f"  {run.label}: iteration {run.iteration} of {run.records or '?'}"
    if run.seconds_per_iteration is not None:
        text += f", {duration(run.seconds_per_iteration)} an iteration"
    if run.seconds_left is not None:
        text += f", {duration(run.seconds_left)} left"
    since = run.seconds_since_record
    if since is not None and since > max(60.0, 10 * (run.seconds_per_iteration or 0.0)):
        text += f"; no record for {duration(since)}"
    return text


def _stopped(run: RunStatus) -> str:
    lines = [f"  {run.label}, at iteration {run.iteration}: {_reason(run) or 'no reason known'}"]
    if run.log and run.state != "cancelled":
        lines.append(f"    log: {run.log}")
    lines += [f"    | {line}" for line in (run.log_tail or "").splitlines()]
    return "\n".join(lines)


def _reason(run: RunStatus) -> str:
    """Why a run stopped, on one line, however the error was laid out."""
    return " ".join((run.reason or "").split())


def wait(results: Path, which: str, *, pause: float = Launcher.pause) -> Survey:
    """Show the progress of a sweep until no run of it is queued or running: a bar on a terminal, lines elsewhere.

    Args:
        results: root of the run folders.
        which: the sweep's name.
        pause: seconds between two looks.
    """
    live = sys.stderr.isatty()
    seen: set[str] = set()
    told: set[str] = set()
    with tqdm(unit="record", disable=not live, dynamic_ncols=True) as bar:
        while True:
            began = time.perf_counter()
            now = survey(results, which, tails=False)
            counts = now.counts
            bar.total = sum(run.records or 0 for run in now.runs)
            bar.n = sum(run.iteration for run in now.runs)
            bar.set_description_str("  ".join(f"{name} {counts[name]}" for name in STATES if counts[name]))
            ended = [run for run in now.of("finished", *STOPPED) if run.folder not in seen]
            for run in ended if not live else ():
                why = f": {_reason(run)}" if run.reason else ""
                print(f"[{len(seen) + 1}/{len(now.runs)}] {run.label} {run.state}{why}", file=sys.stderr, flush=True)
                seen.add(run.folder)
            for note in now.notes:  # a held job, or a SLURM that does not answer, may be waited for for ever
                if note not in told:
                    bar.write(f"scorebo: {note}", file=sys.stderr)
                    told.add(note)
            if not counts["running"] and not counts["queued"]:
                return survey(results, which)
            # A large survey is not made all the time.
            time.sleep(max(pause, 4 * (time.perf_counter() - began)))
