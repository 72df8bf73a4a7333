"""A sweep as it was submitted: its runs, frozen, and what its launcher noted about each of them.

    results/.sweeps/<name>-<number>/
        sweep.json       who submitted what, where, and with which launcher
        runs.json        every run: its id, folder, names, and number of records
        configs.jsonl    the resolved configuration of every run; editing a YAML file later changes nothing
        notes/           <run>.json: the last that a worker noted about a run (started, failed and why, …)
        logs/            <run>.log: what a run printed
        jobs.json        launcher=slurm: which job does which runs
        lock             launcher=local: held while the sweep's process lives
        cancelled        there once the sweep was cancelled

Nothing here says that a run is finished: only its own marker in its folder does.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import itertools
import json
import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.store import RunStore, write_atomically
from scorebo.store.lock import is_locked
from scorebo.store.resume import RUN_DIGITS

if TYPE_CHECKING:
    from scorebo.launch.base import Launcher

FORMAT = 1
# Where sweeps lie: a folder each, below this one of the results.
SWEEPS = ".sweeps"
# What workers note about a run: that it started, and how it ended.
STARTED, FINISHED, FAILED, CANCELLED, BUSY = "started", "finished", "failed", "cancelled", "busy"
# A note takes this much from the beginning, so that the last one still fits when the disk has become full.
_NOTE_SIZE = 4096
_LONGEST_REASON = 1500
# File systems take 255 bytes, and a number follows.
NAME_LENGTH = 200


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep; `folder` is relative to the results, `at` its place in `configs.jsonl`."""

    run_id: str
    folder: str
    benchmark: str
    model: str
    acquisition: str
    seed: int
    records: int
    threads: int
    at: int

    @property
    def key(self) -> str:
        """What its files in the sweep are called."""
        return self.run_id[:RUN_DIGITS]

    @property
    def label(self) -> str:
        """Its names, for people."""
        return f"{self.benchmark} {self.model} {self.acquisition} seed {self.seed}"


class Sweep:
    """A sweep's folder. The results it belongs to are where the folder lies, so that both can be moved together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.results = folder.parents[1]

    @classmethod
    def create(
        cls, configs: Sequence[Mapping[str, Any]], command: Sequence[str], experiment: str | None = None
    ) -> Sweep:
        """Freeze `configs` (of one results folder and launcher; each run once) in a folder of their own.

        `experiment` names the experiments that were swept, separated by commas; by default that of the first run.
        """
        for name in ("results", "launcher", "workers"):
            if any(config.get(name) != configs[0].get(name) for config in configs):
                raise InputError(f"A sweep has one '{name}': it cannot be swept over.")
        experiment = experiment or (configs[0].get("experiment") or {}).get("name")
        results = Path(configs[0]["results"])
        sweep = cls(_new_folder(results, folder_name(experiment)))
        runs, lines, at = [], [], 0
        for config in configs:
            store = RunStore(results, config)
            nodes = store.nodes
            run = SweepRun(
                run_id=store.run_id,
                folder=str(store.folder.relative_to(results)),
                benchmark=nodes["benchmark"]["name"],
                model=nodes["model"]["name"],
                acquisition=nodes["acquisition"]["name"],
                seed=nodes["seed"],
                records=int(nodes["benchmark"]["total"]) + 1,
                threads=int(config["threads"]),
                at=at,
            )
            runs.append(run)
            lines.append((json.dumps(config) + "\n").encode())
            at += len(lines[-1])
        write_atomically(sweep.folder / "configs.jsonl", b"".join(lines))
        write_atomically(sweep.folder / "runs.json", json.dumps([asdict(run) for run in runs]))
        about = {
            "format": FORMAT,
            "experiment": experiment,
            "launcher": configs[0]["launcher"],
            "workers": configs[0].get("workers"),
            "threads": max(run.threads for run in runs),
            "command": list(command),
            "cwd": os.getcwd(),
            "host": socket.gethostname(),
            "user": getpass.getuser(),
            "python": sys.executable,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),  # for people; never compared with a clock
        }
        # Last: a folder without it was never submitted.
        write_atomically(sweep.folder / "sweep.json", json.dumps(about, indent=1) + "\n")
        return sweep

    @cached_property
    def about(self) -> dict[str, Any]:
        """What `sweep.json` says."""
        about = _read_json(self.folder / "sweep.json")
        if about.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} has format {about.get('format')}; this version of scorebo reads and writes format "
                f"{FORMAT}. Look at it with the version that wrote it, or move it away: the runs themselves stay."
            )
        return about

    @cached_property
    def launcher(self) -> Launcher:
        """What executes its runs."""
        from scorebo.launch.base import load_launcher

        return load_launcher(self.about["launcher"], self.about["cwd"])

    def command(self, indices: Iterable[int]) -> list[str]:
        """The command that executes runs of the sweep one after the other, on any machine that has its folder."""
        return [self.about["python"], "-m", "scorebo.launch.worker", str(self.folder), *map(str, indices)]

    @property
    def experiments(self) -> list[str]:
        """The experiments that were swept; none if the runs were given one by one."""
        return self.about["experiment"].split(",") if self.about["experiment"] else []

    @cached_property
    def runs(self) -> list[SweepRun]:
        """Every run, in the order of submission."""
        _ = self.about  # refuses another format
        return [SweepRun(**run) for run in _read_json(self.folder / "runs.json")]

    def config(self, index: int) -> dict[str, Any]:
        """The frozen configuration of a run, with the results where they are now."""
        with storage_errors(self.folder / "configs.jsonl", "read"), open(self.folder / "configs.jsonl", "rb") as lines:
            lines.seek(self.runs[index].at)
            return {**json.loads(lines.readline()), "results": str(self.results)}

    def store(self, index: int) -> RunStore:
        """The folder of a run."""
        return RunStore(self.results, self.config(index))

    def log(self, run: SweepRun) -> Path:
        """What a run printed."""
        return self.folder / "logs" / f"{run.key}.log"

    def note(self, run: SweepRun, state: str, **details: Any) -> None:
        """Replace the note about a run; where a disk has no room for a new file, over the old one."""
        if isinstance(details.get("reason"), str):
            details["reason"] = details["reason"][:_LONGEST_REASON]
        text = json.dumps({"state": state, **details}).encode().ljust(_NOTE_SIZE)
        path = self.folder / "notes" / f"{run.key}.json"
        try:
            write_atomically(path, text)
        except InputError:
            with storage_errors(path), open(path, "rb+", buffering=0) as file:
                file.write(text)
                os.fsync(file.fileno())

    def read_note(self, run: SweepRun) -> dict[str, Any]:
        """The last note about a run, which is no proof that it is finished; empty if there is none to be read."""
        with contextlib.suppress(OSError, ValueError), open(f"{self.folder}/notes/{run.key}.json", "rb") as file:
            found = json.loads(file.read())
            return found if isinstance(found, dict) else {}
        return {}

    def cancel(self) -> None:
        """Say that the sweep is to stop; its process or jobs, wherever they are, read it."""
        write_atomically(self.folder / "cancelled", "")

    @property
    def cancelled(self) -> bool:
        """Whether someone said so."""
        return os.path.exists(f"{self.folder}/cancelled")  # asked for every run: a Path costs ten times the question

    def lock(self) -> int:
        """Take the sweep's lock and return its descriptor, to be handed on to the process that does the runs."""
        with storage_errors(self.folder / "lock", "lock"):
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    @property
    def alive(self) -> bool:
        """Whether a process, here or on another machine that shares the folder, holds the sweep's lock."""
        return is_locked(f"{self.folder}/lock")


def folder_name(experiment: str | None) -> str:
    """What the folder of a sweep is called, its number apart."""
    return (experiment or "sweep").replace(",", "+")[:NAME_LENGTH]


def sweeps_in(results: Path, which: str | None = None) -> list[Sweep]:
    """The sweeps of a results folder, oldest first; `which`: those of an experiment, or the one of that name."""
    sweeps: list[Sweep] = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        sweeps += [Sweep(path) for _, path in _numbered(results) if (path / "sweep.json").exists()]
    if which is None:
        return sweeps
    chosen = [sweep for sweep in sweeps if which in (sweep.name, *sweep.experiments)]
    if not chosen:
        known = {name for sweep in sweeps for name in (sweep.name, *sweep.experiments)}
        there = f"There are {', '.join(sorted(known))}." if known else "None was submitted there."
        raise InputError(f"No sweep or experiment '{which}' in {results}. {there}")
    return chosen


def _new_folder(results: Path, name: str) -> Path:
    """`<name>-<n>` with the next number of all sweeps; safe with another submission at the same time."""
    parent = results / SWEEPS
    with storage_errors(parent):
        if results.exists() and not results.is_dir():
            raise InputError(f"The results folder {results} is a file. Choose another with results=DIR.")
        parent.mkdir(parents=True, exist_ok=True)
        last = max((number for number, _ in _numbered(results)), default=0)
        for number in itertools.count(last + 1):
            folder = parent / f"{name}-{number}"
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                break
        (folder / "logs").mkdir()
        (folder / "notes").mkdir()
    return folder.resolve()


def _numbered(results: Path) -> list[tuple[int, Path]]:
    """What ends in a number where sweeps lie, in the order of the numbers."""
    endings = ((path.name.rpartition("-")[2], path) for path in (results / SWEEPS).iterdir())
    return sorted((int(ending), path) for ending, path in endings if ending.isdecimal())


def _read_json(path: Path) -> Any:
    """What a file of a sweep holds."""
    with storage_errors(path, "read"):
        data = path.read_bytes()
    try:
        return json.loads(data)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}. Move its folder away; the runs themselves stay.") from error
