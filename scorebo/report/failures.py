"""What the ledgers of stored runs tell, in lines to read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from scorebo.store.collect import describe_runs
from scorebo.store.ledger import REFRESH
from scorebo.store.sources import Sources, runs_by_digits
from scorebo.store.stored_run import StoredRun

SHOWN = 8
# Cold chains that are part of the sampler's plan.
SCHEDULED = ("first", "scheduled")


def runs_in(results: Sources, run_ids: Collection[str] | None = None) -> list[StoredRun]:
    """The runs of folders and archives; of `run_ids` alone, each once, if these are given."""
    if run_ids is not None:
        return [run["stored"] for run in describe_runs(results, [], run_ids)]
    return list(runs_by_digits(results).values())


def ledger_lines(runs: Iterable[StoredRun], *, scheduled: bool = False) -> list[dict[str, Any]]:
    """One line per run, kind and reason: `run` (its place), `kind`, `reason`, `iterations`, `count` in all.

    Args:
        runs: whose ledgers are read.
        scheduled: the full NUTS runs that are part of the sequential sampler's plan too.
    """
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: run.place):
        folder = run.place
        for entry in run.ledger():
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
