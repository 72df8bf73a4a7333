"""The audit as text for a terminal, and in plain values."""

from __future__ import annotations

import textwrap
from typing import Any

from scorebo.report.audit import Audit, Finding
from scorebo.report.audit.base import SEVERITIES, listed, run_words

WIDTH = 118
SIGNS = dict(zip(SEVERITIES, "✗!·", strict=True))


def format_audit(audit: Audit) -> str:
    """Every finding with its runs and what to do; then how many there are of each severity."""
    blocks = [_plain(audit, finding) for finding in audit.findings]
    return "\n".join([*blocks, *([""] if blocks else []), summary(audit)])


def summary(audit: Audit) -> str:
    """How many findings of each severity there are, and what was looked at."""
    counts = {severity: sum(f.severity == severity for f in audit.findings) for severity in SEVERITIES}
    plural = {"serious": "serious", "warning": "warnings", "note": "notes"}
    words = [f"{n} {severity if n == 1 else plural[severity]}" for severity, n in counts.items() if n]
    looked = f"{len(audit.checks)} checks of {len(audit.runs)} runs"
    return f"{', '.join(words) or 'Nothing found'} ({looked}: {listed(audit.studies)})."


def runs_of(audit: Audit, finding: Finding, shown: int | None = 6) -> str:
    """The runs of a finding in words."""
    return run_words(audit.runs[audit.runs.index.isin(finding.runs)], shown)


def as_dict(audit: Audit) -> dict[str, Any]:
    """The audit in plain values: `runs` of a finding with all that names them."""
    named = audit.runs[["benchmark", "model", "acquisition", "seed"]].to_dict("index")
    findings = [
        {"check": each.check, "severity": each.severity, "studies": list(each.studies)}
        | {"what": each.what, "do": each.do}
        | {"runs": [{"run_id": run, **named[run]} for run in audit.runs.index if run in each.runs]}
        for each in audit.findings
    ]
    checks = {check.id: check.text for check in audit.checks}
    return {"num_runs": len(audit.runs), "studies": audit.studies, "checks": checks, "findings": findings}


def _plain(audit: Audit, finding: Finding) -> str:
    heading = f"{SIGNS[finding.severity]} {finding.severity.upper()}  {finding.check}"
    heading += f"  ({'; '.join(finding.studies)})" if finding.studies else ""
    parts = [("", finding.what), ("runs: ", runs_of(audit, finding) if finding.runs else ""), ("do: ", finding.do)]
    texts = [_wrapped(f"{name}{words}") for name, words in parts if words]
    return "\n".join([heading, *texts])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)
