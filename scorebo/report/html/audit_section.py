"""The audit on the page: findings with their runs and what to do."""

from __future__ import annotations

from scorebo.report.audit import audit
from scorebo.report.audit.base import NOTE, SERIOUS, WARNING
from scorebo.report.audit.text import SIGNS, runs_of, summary
from scorebo.report.evidence import Evidence
from scorebo.report.html.templates import part

# The looks of a severity, among those of the page's badges.
_LOOKS = {SERIOUS: "contradicted", WARNING: "warning", NOTE: "not-run"}


def audit_section(evidence: Evidence) -> str:
    """What the audit finds in the runs that the page shows, as `scorebo audit` does."""
    found = audit(evidence, chosen=None if evidence.query.explicit else evidence.chosen)
    rows = [
        {"severity": each.severity, "look": _LOOKS[each.severity], "sign": SIGNS[each.severity]}
        | {"check": each.check, "what": each.what, "do": each.do, "where": ", ".join(each.studies)}
        | {"runs": runs_of(found, each), "count": len(each.runs)}
        for each in found.findings
    ]
    return part("audit", rows, summary(found), file="audit.html")
