"""The command that looks for what invalidates a study."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from scorebo.cli.report import add_selection, evidence_of, query_of

if TYPE_CHECKING:
    from scorebo.cli.command import Add

EXAMPLES = """examples:
  scorebo audit --results results
  scorebo audit --results results --experiment bo_regret --scale small
  scorebo audit --results mine --results theirs --benchmark branin --acquisition nei,mine --json
  scorebo audit --results results --all --check my_module:my_check

Records that repeat, confounded factors, unequal budgets, designs or noise, optima that were beaten, mixed versions,
unhealthy samplers, uneven fallbacks, stalls, missing seeds. Methods are compared within each experiment, and within all
other runs together; with --all or filters within all runs chosen. Exit code 1 where a finding is serious."""


def add_command(add: Add) -> None:
    """Add the command to the parser."""
    audit = add("audit", "Find what invalidates a study.", EXAMPLES, _audit)
    add_selection(audit, "those of each experiment as one study, and all others as one")
    text = "another check, of your own: module:name; may be given several times"
    audit.add_argument("--check", action="append", default=[], metavar="ID", help=text)
    audit.add_argument("--json", action="store_true", help="every finding with all its runs, as JSON")


def _audit(options: argparse.Namespace) -> int:
    from scorebo.report.audit import CHECKS, audit
    from scorebo.report.audit.text import as_dict, format_audit

    checks = [CHECKS[name] for name in dict.fromkeys([*CHECKS, *options.check])]
    found = audit(evidence_of(query_of(options)), checks)
    print(json.dumps(as_dict(found), indent=2) if options.json else format_audit(found))
    return 1 if found.serious else 0
