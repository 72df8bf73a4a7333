"""The scorecard as text for a terminal, or as a table in Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scorebo.report.claims.base import (
    AGREES,
    CONTRADICTED,
    DISAGREES,
    ESTIMATED,
    NOT_RUN,
    SHOWN,
    SUPPORTED,
    TESTED,
    UNDECIDED,
    VERDICTS,
)
from scorebo.report.claims.judge import Finding, Statement

if TYPE_CHECKING:
    from scorebo.report.selection import Selection

WIDTH = 118
SIGNS = dict(zip(VERDICTS, "✓△?▽✗–", strict=True))
ROLES = {ESTIMATED: "a description: its estimate counts", SHOWN: "shown beside, does not count"}
LEGEND = {
    SUPPORTED: "significant in every tested part",
    AGREES: "the estimates are with the paper, not significantly",
    UNDECIDED: "fewer than five seeds, or parts that point different ways",
    DISAGREES: "the estimates are against the paper, not significantly",
    CONTRADICTED: "significantly against it in a part",
}


def format_scorecard(findings: Sequence[Finding], markdown: bool = False) -> str:
    """Every claim with its verdict, and every statement of it with estimate, interval and number of seeds."""
    counts = Counter(finding.verdict for finding in findings)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    legend = "\n".join(f"{SIGNS[verdict]} {verdict}: {words}" for verdict, words in LEGEND.items())
    text = (_markdown if markdown else _plain)(findings)
    return f"{text}\n\n{len(findings)} claims: {total}.\n\n{legend}"


def evidence_words(chosen: Iterable[Selection]) -> str:
    """At which scale the claims were tested, and on how many runs of each experiment: small budgets decide less."""
    scales: dict[str, list[str]] = {}
    for each in chosen:
        scales.setdefault(str(each.scale), []).append(f"{each.experiment} ({each.ended} of {each.expected})")
    parts = [f"at scale {scale} {', '.join(sorted(names))}" for scale, names in scales.items()]
    return f"Ended runs of each experiment: {'; '.join(parts)}." if parts else "No runs of any experiment."


def verdict_words(finding: Finding) -> str:
    """The verdict, with the seeds that would decide it, what was not run, or that the budgets are not the paper's."""
    notes = [finding.note] if finding.note else []
    if finding.verdict in (AGREES, UNDECIDED, DISAGREES) and not finding.note:
        more = f"about {finding.more_seeds} more seeds" if finding.more_seeds else "more seeds than can be said"
        notes.append(f"{more} needed" if finding.verdict == UNDECIDED else f"not significant: {more} needed")
    if finding.scale and finding.verdict != NOT_RUN:
        notes.append(f"at scale {finding.scale}, not the paper's budgets")
    return f"{finding.verdict} ({'; '.join(notes)})" if notes else finding.verdict


def _plain(findings: Sequence[Finding]) -> str:
    blocks = []
    for finding in findings:
        verdict = verdict_words(finding)
        heading = f"{finding.id:<4} {verdict[: len(finding.verdict)].upper()}{verdict[len(finding.verdict) :]}"
        text = textwrap.fill(finding.text, WIDTH, initial_indent="     ", subsequent_indent="     ")
        lines = (f"       {SIGNS[part.verdict]} {statement_words(part)}" for part in finding.parts)
        blocks.append("\n".join([heading, text, *lines]))
    return "\n".join(blocks)


def _markdown(findings: Sequence[Finding]) -> str:
    lines = ["| claim | verdict | seeds | statements |", "|---|---|---|---|"]
    for finding in findings:
        statements = "<br>".join(f"{SIGNS[part.verdict]} {statement_words(part)}" for part in finding.parts)
        cells = [
            f"**{finding.id}** {finding.text}",
            verdict_words(finding),
            str(finding.seeds or "–"),
            statements or "–",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def statement_words(statement: Statement) -> str:
    """The sentence with the number of seeds, and how many would decide it."""
    if not statement.seeds:
        return statement.words
    unit = statement.unit if statement.seeds == 1 else f"{statement.unit}s"
    words = f"{statement.words}, {statement.seeds} {unit}"
    if statement.needed and statement.needed > statement.seeds:
        words += f", decided by about {statement.needed}"
    return words if statement.role == TESTED else f"{words} [{ROLES[statement.role]}]"
