"""The paper's claims as tests: each is a small object, and the scorecard is the verdict on every one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scorebo.report.claims import active_learning, analytic, high_dimensional, optimization
from scorebo.report.claims.base import Claim, Evidence, Finding, Part, judge
from scorebo.report.claims.text import format_scorecard

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (*active_learning.CLAIMS, *analytic.CLAIMS, *high_dimensional.CLAIMS, *optimization.CLAIMS),
        key=lambda claim: int(claim.id[1:]),
    )
}
# P15 and P16 need no runs.
CLAIMS_ABOUT_RUNS = [claim for claim in CLAIMS.values() if claim not in analytic.CLAIMS]


def scorecard(evidence: Evidence, claims: Iterable[Claim] = CLAIMS.values()) -> list[Finding]:
    """The verdict on every claim (or on some), in the paper's order."""
    findings = []
    for claim in claims:
        evidence.asked.clear()
        findings.append(replace(judge(claim, evidence), scale=evidence.reduced_scale))
    return findings


__all__ = [
    "CLAIMS",
    "CLAIMS_ABOUT_RUNS",
    "Claim",
    "Evidence",
    "Finding",
    "Part",
    "format_scorecard",
    "judge",
    "scorecard",
]
