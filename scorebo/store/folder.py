"""What a run folder holds besides its records: the configuration, the sessions, and notes of what was repaired."""

from __future__ import annotations

import itertools
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from scorebo.errors import InputError
from scorebo.files import storage_errors, write_atomically
from scorebo.store.environment import describe_session
from scorebo.store.identity import config_text, read_config, run_id
from scorebo.store.markers import FORMAT, refuse_other_format
from scorebo.store.records import read_bytes


def write_config(folder: Path, nodes: dict[str, Any]) -> None:
    """Write `config.yaml` in a new folder; in one that was used before, see that it is still the same run's."""
    path = folder / "config.yaml"
    if path.exists() or read_bytes(folder / "records.jsonl"):
        check_config(folder, run_id(nodes))
    else:
        write_atomically(path, config_text(nodes))


def check_config(folder: Path, expected: str) -> None:
    """Refuse a folder whose `config.yaml` is not that of the run `expected`."""
    path = folder / "config.yaml"
    if run_id(read_config(path)) != expected:
        raise InputError(
            f"{path} is not the configuration this run started with: it was edited, or comes from another run. "
            "Put it back, or delete the folder and run again."
        )


def check_format(folder: Path) -> None:
    """Refuse a folder of another format; `environment.json`, written first, names it unless it is damaged."""
    path = folder / "environment.json"
    try:
        document = orjson.loads(read_bytes(path))
    except ValueError:
        return
    if isinstance(document, dict) and "format" in document:
        refuse_other_format(path, document["format"])


def note_session(folder: Path, threads: int | None) -> list[str]:
    """Add this start of the run to `environment.json`; returns what had to be repaired."""
    path = folder / "environment.json"
    before = read_bytes(path)
    repairs = []
    try:
        sessions = json.loads(before)["sessions"] if before else []
        if not isinstance(sessions, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        set_aside(path, "damaged", before)
        repairs.append("environment.json could not be read: set aside, a new one started")
        log_repair(folder, repairs[-1])
        sessions = []
    sessions.append(describe_session(threads))
    write_atomically(path, json.dumps({"format": FORMAT, "sessions": sessions}, indent=1) + "\n")
    return repairs


def log_repair(folder: Path, text: str) -> None:
    """Add a dated line to `repairs.log`."""
    path = folder / "repairs.log"
    with storage_errors(path), open(path, "a", encoding="utf-8") as log:
        log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")
        log.flush()
        os.fsync(log.fileno())


def set_aside(path: Path, kind: str, data: bytes) -> None:
    """Keep bytes that are about to leave `path` under the first free name, e.g. `records.damaged-1.jsonl`."""
    names = (path.with_name(f"{path.stem}.{kind}-{number}{path.suffix}") for number in itertools.count(1))
    write_atomically(next(name for name in names if not name.exists()), data)
