"""What must be known before any number is read: synthetic results, runs that are missing or not finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from scorebo.report.evidence import Evidence
from scorebo.report.selection import Selection

UNKNOWN = "do not say what computed them"
NAMED = 4  # experiments that a mark names


class Mark(NamedTuple):
    """One of the marks at the top of the page: a word, and what it means here."""

    kind: str
    text: str


def marks(evidence: Evidence, rows: pd.DataFrame, sessions: Mapping[str, Mapping[str, Any]]) -> list[Mark]:
    """The marks of a page.

    Args:
        evidence: the runs.
        rows: the records that the page is about.
        sessions: run -> what it was computed with; empty where that is not known.
    """
    total, found = rows["run_id"].nunique(), []
    invented = sum(bool(session.get("synthetic")) for session in sessions.values())
    if invented:
        what = "They say nothing about the methods."
        found.append(Mark("Synthetic", f"{invented:,} of {total:,} runs are invented, not computed. {what}"))
    chosen = [evidence.selection()] if evidence.query.explicit else evidence.chosen
    found += [Mark("Partial", text) for text in _partial(chosen, rows)]
    reduced = [f"{each.experiment} ({each.scale})" for each in chosen if each.scale not in (None, "paper")]
    if reduced:
        found.append(Mark("Reduced", f"Budgets below the paper's: {_some(sorted(reduced))}."))
    unknown = sum(not session for session in sessions.values())
    if unknown:
        found.append(Mark("Unknown origin", f"{unknown:,} of {total:,} runs {UNKNOWN}."))
    return found


def _partial(chosen: Sequence[Selection], rows: pd.DataFrame) -> Iterable[str]:
    """In one sentence what is missing of experiments, in another how many runs have not ended."""
    lacking = [
        f"{each.experiment} has {each.found:,} of {each.expected:,}" for each in chosen if each.found < each.expected
    ]
    if lacking:
        yield f"Runs are missing: {_some(lacking)}."
    ended = rows.drop_duplicates("run_id", keep="last")["finished"].astype(bool)
    if not ended.all():
        yield f"{(~ended).sum():,} of {len(ended):,} runs have not finished."


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return f"{', '.join(words[:NAMED])}{more}"
