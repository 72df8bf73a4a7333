"""Whether the runs behind a figure are still what they were when it was drawn."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.report.provenance import DIGITS, digests


@dataclasses.dataclass(frozen=True)
class State:
    """Runs by the first digits of their ids; `problem` says why they could not be looked at."""

    unchanged: int = 0
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    further: int = 0
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def compare_with_now(origin: Mapping[str, Any], results: Path | None = None) -> State:
    """Compare the digests kept in a figure with those of the runs in its results folder, or in another one."""
    from scorebo.selection import select
    from scorebo.store import collect, collect_hyperparameters

    before: dict[str, str] = origin["runs"]
    selection = origin["selection"]
    if not before:
        return State()
    folder = results or Path(selection.get("results", "results"))
    try:
        table = collect(folder)
    except InputError as error:
        return State(problem=str(error))
    known = table["run_id"].str[:DIGITS].isin(before)
    further = 0
    if selection.get("experiment"):
        try:
            chosen = select(table, selection["experiment"], selection["scale"], results=folder)
            further = int(chosen.table["run_id"].str[:DIGITS].drop_duplicates().isin(before).eq(False).sum())
        except InputError:
            further = 0  # the experiment, or its runs, are no longer there: what is gone is told below
    rows = table[known]
    if selection.get("source") == "hyperparameters" and len(rows):
        rows = collect_hyperparameters(folder, set(rows["run_id"]))
    now = digests(rows) if len(rows) else {}
    changed = tuple(run for run in before if run in now and now[run] != before[run])
    gone = tuple(run for run in before if run not in now)
    return State(len(before) - len(changed) - len(gone), changed, gone, further)


def in_words(origin: Mapping[str, Any], state: State) -> str:
    """For a terminal."""
    git = origin["git"]
    commit = "unknown" if git is None else git["commit"] + (" (with changes)" if git["dirty"] else "")
    packages = ", ".join(f"{name} {version}" for name, version in origin["packages"].items() if version)
    selection = ", ".join(f"{key} {value}" for key, value in origin["selection"].items() if value)
    lines = [
        ("figure", origin["figure"]),
        ("command", shlex.join(origin["command"])),
        ("commit", commit),
        ("versions", packages),
        ("runs", _runs(origin["runs"])),
        ("selection", selection or "–"),
        ("data", _verdict(origin, state)),
    ]
    return "\n".join(f"{name:<10} {text}" for name, text in lines)


def _runs(runs: Mapping[str, str]) -> str:
    if not runs:
        return "none"
    listed = ", ".join(list(runs)[:6])
    return f"{len(runs)}: {listed}{', …' if len(runs) > 6 else ''}"


def _verdict(origin: Mapping[str, Any], state: State) -> str:
    if not origin["runs"]:
        return "from small fits of its own: the same commit draws the same"
    if state.problem:
        return f"cannot be looked at: {state.problem}"
    further = f"; {state.further} further runs of the experiment are there now" if state.further else ""
    if not state.changed and not state.gone:
        return f"unchanged: all {state.unchanged} runs are as they were{further}"
    parts = []
    if state.changed:
        parts.append(f"{len(state.changed)} runs have other records ({', '.join(state.changed[:5])})")
    if state.gone:
        parts.append(f"{len(state.gone)} runs are gone ({', '.join(state.gone[:5])})")
    return f"changed: {' and '.join(parts)}, {state.unchanged} are as they were{further}"
