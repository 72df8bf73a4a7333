"""The paper's claims as tests: each is a small object, and the scorecard is the verdict on every one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scorebo.report.claims import active_learning, analytic, high_dimensional, optimization
from scorebo.report.claims.base import Claim, Evidence, Finding, MissingRunsError, Part, judge
from scorebo.report.claims.per_run import finals
from scorebo.report.claims.statements import alike, below_others, greater, holds, positive, within
from scorebo.report.claims.text import format_scorecard
from scorebo.report.registry import Registry

_PAPER = (*active_learning.CLAIMS, *analytic.CLAIMS, *high_dimensional.CLAIMS, *optimization.CLAIMS)
CLAIMS = Registry(Claim, sorted(_PAPER, key=lambda claim: int(claim.id[1:])))


def scorecard(evidence: Evidence, claims: Iterable[Claim] = CLAIMS.values()) -> list[Finding]:
    """The verdict on every claim (or on some): the paper's in its order, then those of installed packages."""
    findings = []
    for claim in claims:
        evidence.asked.clear()
        findings.append(replace(judge(claim, evidence), scale=evidence.reduced_scale))
    return findings


__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "MissingRunsError", "Part", "judge", "scorecard"]
# What claims are made of: outcomes by task, and statements that are tested on them.
__all__ += ["alike", "below_others", "finals", "format_scorecard", "greater", "holds", "positive", "within"]
