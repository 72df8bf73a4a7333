"""The paper's claims as tests: each is a few statements, and the scorecard is the verdict on every one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scorebo.report.claims import active_learning, analytic, high_dimensional, optimization
from scorebo.report.claims.base import (
    Claim,
    Evidence,
    MissingRunsError,
    Part,
    Sample,
    alike,
    below_others,
    best_count,
    greater,
    pooled,
    positive,
    within,
)
from scorebo.report.claims.judge import Finding, Statement, judge
from scorebo.report.claims.per_run import finals
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


__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "MissingRunsError", "Statement", "judge", "scorecard"]
# What claims are made of: outcomes by task, and statements on them.
__all__ += ["Part", "Sample", "alike", "below_others", "best_count", "finals", "format_scorecard", "greater", "pooled"]
__all__ += ["positive", "within"]
