"""What the ledgers of all runs below a folder tell, in lines to read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from scorebo.store.collect import describe_runs, find_runs
from scorebo.store.ledger import REFRESH, read_ledger

SHOWN = 8
# Cold chains that are part of the sampler's plan.
SCHEDULED = ("first", "scheduled")


def ledger_lines(
    results: Path, *, scheduled: bool = False, run_ids: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """One line per run, kind and reason: `run` (the folder), `kind`, `reason`, `iterations`, `count` in all.

    Args:
        results: root of the run folders.
        scheduled: the full NUTS runs that are part of the sequential sampler's plan too.
        run_ids: of these runs alone.
    """
    chosen = None if run_ids is None else {run["folder"] for run in describe_runs(results, [], run_ids)}
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for folder in sorted(find_runs(results) if chosen is None else chosen):
        for entry in read_ledger(folder):
            reason = str(entry.get("reason", ""))
            if entry["kind"] == REFRESH and reason in SCHEDULED and not scheduled:
                continue
            line = lines.setdefault(
                (str(folder), entry["kind"], reason),
                {"run": str(folder), "kind": entry["kind"], "reason": reason, "iterations": [], "count": 0},
            )
            if entry["iteration"] not in line["iterations"]:
                line["iterations"].append(entry["iteration"])
            line["count"] += entry.get("count", 1)
    return list(lines.values())


def describe_line(line: dict[str, Any]) -> str:
    """A line in words, with the command that repeats what happened."""
    iterations = line["iterations"]
    more = f" and {len(iterations) - SHOWN} more" if len(iterations) > SHOWN else ""
    times = f", {line['count']} times" if line["count"] > len(iterations) else ""
    reason = f" ({line['reason']})" if line["reason"] else ""
    when = f"iteration{'s' if len(iterations) > 1 else ''} {', '.join(map(str, iterations[:SHOWN]))}{more}"
    return f"{line['kind']}{reason}{times}: {when}\n  scorebo replay {line['run']} --iteration {iterations[0]}"
