"""The audit: what invalidates a study, found in the stored runs by a list of small checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from scorebo.report.audit import progress, records, settings, versions
from scorebo.report.audit.base import SERIOUS, SEVERITIES, Check, Finding
from scorebo.report.audit.study import Study, studies_of
from scorebo.report.evidence import Evidence
from scorebo.report.registry import Registry
from scorebo.report.selection import Selection

CHECKS = Registry(Check, (*records.CHECKS, *settings.CHECKS, *versions.CHECKS, *progress.CHECKS))


@dataclass(frozen=True)
class Audit:
    """What was found.

    Args:
        findings: the serious ones first, of equals in the order of the checks.
        runs: a row a run that was looked at, with its id as index.
        checks: those that were made.
        studies: the names of the studies whose methods were compared.
    """

    findings: list[Finding]
    runs: pd.DataFrame
    checks: list[Check]
    studies: list[str]

    @property
    def serious(self) -> int:
        """How many findings are serious."""
        return sum(finding.severity == SERIOUS for finding in self.findings)


def audit(
    evidence: Evidence, checks: Iterable[Check] = CHECKS.values(), chosen: Sequence[Selection] | None = None
) -> Audit:
    """Make every check (or some) of the runs of the evidence.

    Args:
        evidence: the runs.
        checks: which are made.
        chosen: the experiments whose runs are looked at, in place of all that have runs, and of all other runs.
    """
    whole, studies = studies_of(evidence, chosen)
    made = list(checks)
    found = [
        replace(finding, check=check.id, studies=(study.name,) if check.compares else ())
        for check in made
        for study in (studies if check.compares else [whole])
        for finding in check.test(study)
    ]
    joined = sorted(_joined(found), key=lambda finding: SEVERITIES.index(finding.severity))
    return Audit(joined, whole.runs, made, [study.name for study in studies])


def _joined(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that say the same as one."""
    joined: dict[tuple[str, ...], Finding] = {}
    for each in findings:
        key = (each.check, each.severity, each.what, each.do)
        other = joined.get(key, each)
        studies = tuple(dict.fromkeys([*other.studies, *each.studies]))
        joined[key] = replace(each, runs=other.runs | each.runs, studies=studies)
    return list(joined.values())


__all__ = ["CHECKS", "Audit", "Check", "Finding", "Study", "audit"]
