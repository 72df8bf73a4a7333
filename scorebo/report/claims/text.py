"""The scorecard as text for a terminal, or as a table in Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scorebo.report.claims.base import CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED, Finding, Part
from scorebo.report.statistics.text import bracketed

if TYPE_CHECKING:
    from scorebo.report.selection import Selection

WIDTH = 118
ORDER = (SUPPORTED, CONTRADICTED, UNDECIDED, NOT_RUN)


def format_scorecard(findings: Sequence[Finding], markdown: bool = False) -> str:
    """Every claim with its verdict, and every statement of it with estimate, interval and number of seeds."""
    counts = Counter(finding.verdict for finding in findings)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER)
    return f"{(_markdown if markdown else _plain)(findings)}\n\n{len(findings)} claims: {total}."


def evidence_words(chosen: Iterable[Selection]) -> str:
    """At which scale the claims were tested, and on how many runs of each experiment: small budgets decide less."""
    scales: dict[str, list[str]] = {}
    for each in chosen:
        scales.setdefault(str(each.scale), []).append(f"{each.experiment} ({each.ended} of {each.expected})")
    parts = [f"at scale {scale} {', '.join(sorted(names))}" for scale, names in scales.items()]
    return f"Ended runs of each experiment: {'; '.join(parts)}." if parts else "No runs of any experiment."


def verdict_words(finding: Finding) -> str:
    """The verdict, with the seeds still needed, what was not run, or that the budgets are not the paper's."""
    if finding.verdict == NOT_RUN:
        return f"not run ({finding.note})"
    if finding.verdict == UNDECIDED and finding.note:
        return f"undecided ({finding.note})"
    if finding.verdict == UNDECIDED:
        more = f"about {finding.more_seeds} more seeds" if finding.more_seeds else "more seeds than can be said"
        return f"undecided ({more} needed)"
    return (
        f"{finding.verdict} (at scale {finding.scale}, not the paper's budgets)" if finding.scale else finding.verdict
    )


def _plain(findings: Sequence[Finding]) -> str:
    blocks = []
    for finding in findings:
        verdict = verdict_words(finding)
        heading = f"{finding.id:<4} {verdict[: len(finding.verdict)].upper()}{verdict[len(finding.verdict) :]}"
        text = textwrap.fill(finding.text, WIDTH, initial_indent="     ", subsequent_indent="     ")
        blocks.append(
            "\n".join([heading, text, *(f"       {_sign(part)} {statement_words(part)}" for part in finding.parts)])
        )
    return "\n".join(blocks)


def _markdown(findings: Sequence[Finding]) -> str:
    lines = ["| claim | verdict | seeds | statements |", "|---|---|---|---|"]
    for finding in findings:
        statements = "<br>".join(f"{_sign(part)} {statement_words(part)}" for part in finding.parts)
        cells = [
            f"**{finding.id}** {finding.text}",
            verdict_words(finding),
            str(finding.seeds or "–"),
            statements or "–",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _sign(part: Part) -> str:
    return {SUPPORTED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}[part.verdict]


def statement_words(part: Part) -> str:
    """The statistic with its estimate, interval and number of seeds."""
    if not part.seeds:
        return part.words if part.lacking else f"{part.words}: no seed that all have run"
    return f"{part.words}: {bracketed(part.estimate)}, {part.seeds} seed{'' if part.seeds == 1 else 's'}"
