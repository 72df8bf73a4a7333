"""The paper's claims as tests: each is a small object, and the scorecard is the verdict on every one."""

from __future__ import annotations

from dataclasses import replace

from scorebo.report.claims import active_learning, exact, high_dimensional, optimisation
from scorebo.report.claims.base import Claim, Evidence, Finding, Part, judge
from scorebo.report.claims.text import format_scorecard

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (*active_learning.CLAIMS, *exact.CLAIMS, *high_dimensional.CLAIMS, *optimisation.CLAIMS),
        key=lambda claim: int(claim.id[1:]),
    )
}


def scorecard(evidence: Evidence) -> list[Finding]:
    """The verdict on every claim, in the paper's order."""
    findings = []
    for claim in CLAIMS.values():
        evidence.asked.clear()
        findings.append(replace(judge(claim, evidence), scale=evidence.reduced_scale))
    return findings


__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Part", "format_scorecard", "judge", "scorecard"]
