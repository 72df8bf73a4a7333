"""Runs that nobody goes on with: which of them concern the page, and in which groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from scorebo.launch.status import STOPPED, RunStatus, survey
from scorebo.launch.sweep import sweeps_in
from scorebo.report.provenance import DIGITS
from scorebo.report.query import Query
from scorebo.report.selection import Selection

_NUMBER = re.compile(r"\d+(\.\d+)?(e[-+]?\d+)?")


def stopped_runs(results: Path, wanted: Collection[str], chosen: Iterable[Selection], query: Query) -> list[RunStatus]:
    """The runs in a folder that failed, were lost or were cancelled.

    Args:
        results: root of the run folders.
        wanted: the beginnings of the ids of the page's runs.
        chosen: the page's experiments. What was submitted for them counts although no run on a task ever started.
        query: the filters that they must pass.
    """
    sweeps = {sweep.name: sweep for sweep in sweeps_in(results)}
    if not sweeps:
        return []
    scales = {each.experiment: each.scale for each in chosen if each.experiment is not None}

    def submitted(run: RunStatus) -> bool:
        if run.sweep is None or run.index is None:
            return False
        if not all(query.takes(column, value) for column, value in _who(run).items()):
            return False
        sweep = sweeps[run.sweep]
        own = {scales.get(name) for name in sweep.experiments} - {None}
        return bool(own) and sweep.config(run.index)["scale"] in own

    stopped = survey(results, tails=False).of(*STOPPED)
    return [run for run in stopped if run.run_id[:DIGITS] in wanted or submitted(run)]


def stopped_groups(runs: Iterable[RunStatus]) -> list[dict[str, Any]]:
    """The runs by task, model, method and reason: hundreds may be lost together.

    Reasons that differ in their numbers alone (points, processes, seconds) are the same.
    """
    groups: dict[tuple[str, ...], list[RunStatus]] = {}
    for run in runs:
        task, model, method, _ = _who(run).values()
        groups.setdefault((task, model, method, run.state, _NUMBER.sub("#", run.reason or "")), []).append(run)
    found = []
    for group in groups.values():
        reasons = dict.fromkeys(run.reason or "" for run in group)
        reason = f"{'e.g. ' if len(reasons) > 1 else ''}{next(iter(reasons))}"
        sweeps = ", ".join(dict.fromkeys(run.sweep for run in group if run.sweep)) or "–"
        line = {**_who(group[0]), "state": group[0].state, "reason": reason, "runs": len(group), "sweeps": sweeps}
        line["seeds"] = ranges(_who(run)["seed"] for run in group)
        found.append(line | {"iterations": span(run.iteration for run in group)})
    return found


def _who(run: RunStatus) -> dict[str, Any]:
    """Names and seed of a run, from its folder."""
    *_, benchmark, model, acquisition, name = Path(run.folder).parts
    return {"benchmark": benchmark, "model": model, "acquisition": acquisition, "seed": int(name.split("-")[1])}


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in few words: `1–3, 7`."""
    ordered = sorted(set(map(int, numbers)))
    starts = [k for k in ordered if k - 1 not in ordered]
    ends = [k for k in ordered if k + 1 not in ordered]
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True))


def span(numbers: Iterable[int]) -> tuple[str, int]:
    """From the least to the greatest, in words, and the greatest, which it is sorted by."""
    ordered = sorted(map(int, numbers))
    low, high = ordered[0], ordered[-1]
    return f"{low}" if low == high else f"{low} to {high}", high
