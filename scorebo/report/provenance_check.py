"""Whether the runs behind a figure, or a report, are still what they were when it was drawn."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from scorebo.errors import InputError
from scorebo.report.evidence import Evidence
from scorebo.report.provenance import DIGITS, commit_words, digests, package_words
from scorebo.report.query import Query
from scorebo.store import collect
from scorebo.store.moments import hyperparameter_table
from scorebo.store.sources import Sources


class State(NamedTuple):
    """Runs by the first digits of their ids; `problem` says why they could not be looked at.

    `rounded` are runs with other numbers that are there as summaries now, or were when the figure was drawn.
    """

    unchanged: int = 0
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    further: int = 0
    rounded: tuple[str, ...] = ()
    problem: str = ""


def compare_with_now(origin: Mapping[str, Any], results: Sources | None = None) -> State:
    """Compare the digests kept in a file with those of the runs in its results folders, or in others."""
    before: dict[str, str] = origin["runs"]
    selection = origin["selection"]
    if not before:
        return State()
    try:
        query = Query.from_dict(selection, results)
        table = collect(query.folders, points=False)
    except InputError as error:
        return State(problem=str(error))
    known = table["run_id"].str[:DIGITS].isin(before)
    further = len(_belonging(table, query, selection.get("experiments") or {}) - set(before))
    rows = table[known]
    if selection.get("source") == "hyperparameters" and len(rows):
        rows = hyperparameter_table(query.folders, set(rows["run_id"]))
    now = digests(rows) if len(rows) else {}
    summaries = {*table.attrs["summaries"], *origin.get("summaries", ())}
    differ = [run for run in before if run in now and now[run] != before[run]]
    changed = tuple(run for run in differ if run not in summaries)
    rounded = tuple(run for run in differ if run in summaries)
    gone = tuple(run for run in before if run not in now)
    return State(len(before) - len(differ) - len(gone), changed, gone, further, rounded)


def _belonging(table: pd.DataFrame, query: Query, experiments: Mapping[str, str]) -> set[str]:
    """The runs that the same selection would choose now; of a report those of all its `experiments` at their scales."""
    queries = [replace(query, experiment=name, scale=scale) for name, scale in experiments.items()] or [query]
    found: set[str] = set()
    for each in queries:
        # An experiment that is no longer there, or none of whose runs is: what is gone is told anyway.
        with contextlib.suppress(InputError):
            # A file that keeps neither names no runs that could be looked for.
            rows = Evidence(each, table).table if each.explicit else table[:0]
            found |= set(rows["run_id"].str[:DIGITS])
    return found


def in_words(origin: Mapping[str, Any], state: State) -> str:
    """For a terminal."""
    selection = ", ".join(_choice(key, value) for key, value in origin["selection"].items() if value)
    lines = [
        ("figure", origin["figure"]),
        ("command", shlex.join(origin["command"])),
        ("commit", commit_words(origin["git"])),
        ("versions", package_words(origin["packages"])),
        ("runs", _runs(origin["runs"])),
        ("selection", selection or "–"),
        ("data", _verdict(origin, state)),
    ]
    return "\n".join(f"{name:<10} {text}" for name, text in lines)


def _choice(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{key} {', '.join(f'{name} ({scale})' for name, scale in value.items())}"
    if isinstance(value, list):
        return f"{key} {', '.join(value)}"
    return key.replace("_", " ") if value is True else f"{key} {value}"


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
    further = f"; {state.further} further runs of the selection are there now" if state.further else ""
    if state.rounded:
        count = len(state.rounded)
        further += f"; {count} cannot be compared, as summaries have them in single precision ({state.rounded[0]}, …)"
    if not state.changed and not state.gone:
        if state.rounded:
            return f"as far as can be told unchanged: {state.unchanged} runs are as they were{further}"
        return f"unchanged: all {state.unchanged} runs are as they were{further}"
    parts = []
    if state.changed:
        parts.append(f"{len(state.changed)} runs have other records ({', '.join(state.changed[:5])})")
    if state.gone:
        parts.append(f"{len(state.gone)} runs are gone ({', '.join(state.gone[:5])})")
    return f"changed: {' and '.join(parts)}, {state.unchanged} are as they were{further}"
