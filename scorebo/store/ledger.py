"""`ledger.jsonl`: every numerical fallback, retry and failure of a run, a dated JSON line each.

A line names the iteration, which is what `scorebo replay` needs besides the run's own files. What a record itself tells
is entered after it is stored, and entered by the next start where a kill came between; an evaluation, or any other part
of an iteration, that fails is entered as it happens, each time, with the `attempt` within its iteration where failed
points are avoided.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scorebo.files import storage_errors
from scorebo.store.records import read_bytes

LEDGER = "ledger.jsonl"
EVALUATION = "evaluation failed"
ITERATION = "iteration failed"
REFRESH = "refresh"

Entry = dict[str, Any]


def entries_of(record: Mapping[str, Any]) -> list[Entry]:
    """What a record tells of retries and fallbacks: `kind`, `reason` where there is one, `count` of how many."""
    mcmc = record.get("mcmc") or {}
    fallback, refresh_reason, beaten = mcmc.get("fallback"), mcmc.get("refresh_reason"), record.get("optimum_violation")
    missing = record.get("metrics_failure")
    told = (
        ("sampler retried", mcmc.get("retries"), mcmc.get("retry_reason")),
        ("sampler replaced", fallback and 1, fallback),
        (REFRESH, refresh_reason and 1, refresh_reason),
        ("acquisition fell back", record.get("acquisition_fallbacks"), None),
        ("block jittered", record.get("jittered_blocks"), None),
        ("optimum beaten", beaten and 1, f"by {beaten}"),
        ("metrics failed", missing and 1, missing),
    )
    return [
        {"iteration": record["iteration"], "kind": kind, "count": count} | ({"reason": reason} if reason else {})
        for kind, count, reason in told
        if count
    ]


def enter(folder: Path, entries: Iterable[Entry]) -> Path:
    """Append entries to the ledger of a run folder, which is returned."""
    path = folder / LEDGER
    time = datetime.now(UTC).isoformat(timespec="seconds")
    lines = "".join(json.dumps({"time": time, **entry}) + "\n" for entry in entries)
    if lines:
        with storage_errors(path), open(path, "a+b") as ledger:
            # A line that was cut short by a kill is left alone, on a line of its own.
            ledger.seek(max(0, ledger.tell() - 1))
            broken = ledger.read(1) not in (b"", b"\n")
            ledger.write((b"\n" if broken else b"") + lines.encode())
            ledger.flush()
            os.fsync(ledger.fileno())
    return path


def read_ledger(folder: Path) -> list[Entry]:
    """The entries in the order they were made; lines that are not whole are left out."""
    return parse_ledger(read_bytes(folder / LEDGER))


def parse_ledger(data: bytes) -> list[Entry]:
    """As `read_ledger`, from the file's bytes."""
    entries = []
    for line in data.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("iteration"), int) and isinstance(entry.get("kind"), str):
            entries.append(entry)
    return entries


def complete(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Enter what the records tell and the ledger does not have."""
    there = {(entry["iteration"], entry["kind"]) for entry in read_ledger(folder)}
    told = [entry for record in records for entry in entries_of(record)]
    enter(folder, [entry for entry in told if (entry["iteration"], entry["kind"]) not in there])
