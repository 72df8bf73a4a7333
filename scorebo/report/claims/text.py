"""The scorecard as text for a terminal, or as a table in Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from scorebo.report.claims.base import CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED, Finding, Part
from scorebo.report.statistics.text import bracketed

WIDTH = 118
ORDER = (SUPPORTED, CONTRADICTED, UNDECIDED, NOT_RUN)


def format_scorecard(findings: Sequence[Finding], markdown: bool = False) -> str:
    """Every claim with its verdict, and every statement of it with estimate, interval and number of seeds."""
    counts = Counter(finding.verdict for finding in findings)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER)
    return f"{(_markdown if markdown else _plain)(findings)}\n\n{len(findings)} claims: {total}."


def verdict_words(finding: Finding) -> str:
    """The verdict, with the seeds still needed or what was not run."""
    if finding.verdict == NOT_RUN:
        return f"not run ({finding.note})"
    if finding.verdict == UNDECIDED:
        more = f"about {finding.more_seeds} more seeds" if finding.more_seeds else "more seeds than can be said"
        return f"undecided ({more} needed)"
    return finding.verdict


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
    return f"{part.words}: {bracketed(part.estimate)}, {part.seeds} seeds"
