"""A stored run as its readers see it, whether it lies in a folder of its own or in an archive."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.store.cache import Part, Stamp, stamp_of
from scorebo.store.columns import run_columns
from scorebo.store.environment import last_session
from scorebo.store.folder import check_format
from scorebo.store.identity import node_name, parse_config, run_id, run_seed
from scorebo.store.ledger import LEDGER, Entry, parse_ledger
from scorebo.store.markers import marked_run
from scorebo.store.records import Reading, parse_records, read_bytes
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.schema import NAMES

CONFIG, RECORDS, FINISHED = "config.yaml", "records.jsonl", "finished.json"
CHECKPOINT, ENVIRONMENT, REPAIRS = "checkpoint.json", "environment.json", "repairs.log"
# What is kept of a run: all but its lock, and what a repair has set aside.
FILES = (CONFIG, RECORDS, FINISHED, CHECKPOINT, ENVIRONMENT, LEDGER, REPAIRS)


class StoredRun(ABC):
    """A run by the bytes of its files, which are read when they are asked for.

    Args:
        place: where it lies, for people: its folder; of a run in an archive below the path of the archive.
    """

    # Whether numbers are as they were recorded.
    exact = True

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.place.name

    @abstractmethod
    def read(self, file: str) -> bytes:
        """The bytes of one of `FILES`; none if the run does not have it."""

    @abstractmethod
    def stamp(self) -> Stamp:
        """What is another when anything about the run has changed."""

    @abstractmethod
    def content(self) -> tuple[str, ...]:
        """Digests of its records and of its marker, which are equal for copies of a run."""

    def config(self) -> dict[str, Any]:
        """Its configuration: the nodes that decide its numbers, and how they are displayed."""
        return parse_config(self.read(CONFIG), self.place / CONFIG)

    def session(self) -> dict[str, Any]:
        """Its last start, see `describe_session`; empty if that is not known."""
        return last_session(self.read(ENVIRONMENT))

    def ledger(self) -> list[Entry]:
        """What failed or fell back."""
        return parse_ledger(self.read(LEDGER))

    @abstractmethod
    def check_format(self) -> None:
        """Refuse a run that another version wrote in a way that would be misread."""

    def describe(self) -> dict[str, Any]:
        """Its names, `seed`, `run_id` and `display`, and itself as `stored`; what cannot be a run is refused."""
        config = self.config()
        identity = run_id(config)
        if named_after(self.name) not in (None, identity[:RUN_DIGITS]):
            raise InputError(f"{self.place}: config.yaml is not that of the run the folder is named after")
        names = {node: node_name(config, node) for node in NAMES}
        display = {node: config[node]["display"] for node in names if "display" in config[node]}
        return {**names, "seed": run_seed(config), "run_id": identity, "display": display, "stored": self}

    def reading(self, identity: str) -> tuple[Reading, bool]:
        """Its good records, and whether it is finished."""
        data = self.read(RECORDS)
        marker = self.read(FINISHED)
        finished = bool(marker) and marked_run(marker, self.place / FINISHED, data) == identity
        return parse_records(data, identity[:RUN_DIGITS]), finished

    def good_records(self, identity: str, problems: list[str]) -> tuple[list[dict[str, Any]], bool]:
        """As `reading`; what is wrong after the good records is added to `problems`."""
        (records, _, problem), finished = self.reading(identity)
        if problem:
            problems.append(f"{self.place}: {RECORDS} {problem}; the {len(records)} records before it are used")
        return records, finished

    def part(self, problems: list[str]) -> Part:
        """What `collect` makes of it."""
        run = self.describe()
        records, finished = self.good_records(run["run_id"], problems)
        del run["stored"]
        task = (records[0].get("task") if records else None) or {}
        run |= {name: task.get(name) for name in ("maximize", "optimal_value")}
        return Part({**run, "finished": finished, "run": self.name}, run_columns(records))


class FolderRun(StoredRun):
    """A run in a folder of its own."""

    def read(self, file: str) -> bytes:
        """The bytes of a file of the folder."""
        return read_bytes(self.place / file)

    def stamp(self) -> Stamp:
        """Size and times of the files that decide what is collected."""
        return stamp_of(self.place)

    def check_format(self) -> None:
        """Refuse a folder of another format."""
        check_format(self.place)

    def content(self) -> tuple[str, ...]:
        """Digests of its records and of its marker."""
        return tuple(hashlib.sha256(self.read(file)).hexdigest() for file in (RECORDS, FINISHED))


def named_after(name: str) -> str | None:
    """The first digits of the id of the run that a folder is named after; None if it has another name."""
    digits = name.rpartition("-")[2]
    return digits if name.startswith("seed-") and len(digits) == RUN_DIGITS else None


def refuse_conflict(run: StoredRun, other: StoredRun) -> None:
    """Refuse two copies of a run that do not hold the same."""
    if os.path.realpath(run.place) != os.path.realpath(other.place) and run.content() != other.content():
        raise InputError(
            f"{run.place} and {other.place} hold the same run ({run.name}) with different content. Remove one, or "
            "leave its folder or archive out."
        )
