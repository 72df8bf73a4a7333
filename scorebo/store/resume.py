"""Where a run goes on after it was stopped, killed or damaged: decided here, without touching anything.

A record counts once its checkpoint is written. So a good checkpoint decides, and records beyond it are cut off. Without
a checkpoint that fits, the good records decide, provided that going on after the last of them needs no sampler state.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from scorebo.errors import InputError
from scorebo.store.markers import Checkpoint, is_finished, read_checkpoint
from scorebo.store.records import Reading, parse_records, read_bytes
from scorebo.store.schema import Record

RUN_DIGITS = 12
ENVELOPE = ("run", "needs_state")


def contents(record: dict[str, Any]) -> Record:
    """A record as it was handed in, without its envelope."""
    return cast(Record, {key: value for key, value in record.items() if key not in ENVELOPE})


@dataclass(frozen=True)
class Plan:
    """The records to keep, the checkpoint that describes them, and what has to be put right before going on."""

    records: list[dict[str, Any]]
    checkpoint: Checkpoint
    finished: bool = False
    repairs: list[str] = field(default_factory=list)
    cut: bytes = b""
    cut_kind: str = "damaged"
    rewrite_checkpoint: bool = False


def plan_resume(folder: Path, run_id: str) -> Plan:
    """What to do with the folder as it is; `InputError` if it cannot be put right."""
    data = read_bytes(folder / "records.jsonl")
    reading = parse_records(data, run_id[:RUN_DIGITS])
    if reading.problem is None and is_finished(folder, run_id, data):
        return Plan(reading.records, _describe(data, len(reading.records)), finished=True)
    repairs = []
    if (folder / "finished.json").exists():
        repairs.append("finished.json does not fit records.jsonl: the run counts as unfinished")
    checkpoint, trouble = read_checkpoint(folder, run_id)
    if checkpoint is not None and checkpoint.iteration <= len(reading.records):
        return _by_checkpoint(folder, data, reading, checkpoint, repairs)
    return _by_records(folder, data, reading, checkpoint, trouble, repairs)


def _by_checkpoint(folder: Path, data: bytes, reading: Reading, checkpoint: Checkpoint, repairs: list[str]) -> Plan:
    kept, cut = data[: checkpoint.bytes], data[checkpoint.bytes :]
    if checkpoint._replace(state=None) != _describe(kept, kept.count(b"\n")):
        raise InputError(
            f"{folder / 'records.jsonl'} holds good records, but not those that checkpoint.json describes: one of the "
            "two was put there from elsewhere. Put back the one that belongs here, or delete the folder and run again."
        )
    if cut:
        why = f" ({reading.problem})" if reading.problem else ""
        repairs.append(
            f"records.jsonl goes on for {len(cut)} bytes after the last checkpoint{why}: "
            f"cut back to iteration {checkpoint.iteration}"
        )
    kind = "damaged" if reading.problem else "surplus"
    return Plan(reading.records[: checkpoint.iteration], checkpoint, repairs=repairs, cut=cut, cut_kind=kind)


def _by_records(
    folder: Path, data: bytes, reading: Reading, checkpoint: Checkpoint | None, trouble: str | None, repairs: list[str]
) -> Plan:
    count = len(reading.records)
    if reading.problem:
        repairs.append(f"records.jsonl: {reading.problem}: cut back to iteration {count}")
    if checkpoint is not None:
        repairs.append(f"checkpoint.json is at iteration {checkpoint.iteration}, the good records end at {count}")
    elif count or (folder / "checkpoint.json").exists():
        repairs.append(f"checkpoint.json {trouble}: made again from {count} good records")
    if count and reading.records[-1].get("needs_state"):
        raise InputError(
            f"The run in {folder} cannot be repaired: {'; '.join(repairs)}; and the sampler's state after iteration "
            f"{count}, which going on needs, is lost. Delete the folder and run again."
        )
    kept = data[: reading.good_bytes]
    return Plan(
        reading.records,
        _describe(kept, count),
        repairs=repairs,
        cut=data[reading.good_bytes :],
        rewrite_checkpoint=bool(repairs),
    )


def _describe(data: bytes, count: int) -> Checkpoint:
    return Checkpoint(count, len(data), hashlib.sha256(data).hexdigest())
