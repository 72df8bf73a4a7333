"""The interface of launchers, which decide where the runs of a sweep are executed.

A launcher is a dataclass: its fields are its settings, `launcher.NAME=VALUE`. The config `launcher/my.yaml` names the
class by `_target_`; a package may also name it by an entry point `my` of the group `scorebo.launchers`. Either is
chosen by `launcher=my`. What a launcher starts, wherever, is `sweep.command([index, …])`, which executes runs, resumes
them from their last record and leaves notes and logs in the sweep's folder.
"""

from __future__ import annotations

import dataclasses
import pkgutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scorebo.errors import InputError, check_choice
from scorebo.launch.sweep import Sweep, SweepRun

if TYPE_CHECKING:
    from scorebo.launch.estimate import Workload


# States of runs that nobody goes on with by itself.
STOPPED = ("failed", "lost", "cancelled")


class SubmittedRun:
    """A run as a part of one sweep; it may be part of others as well."""

    def __init__(self, sweep: Sweep, index: int) -> None:
        self.sweep = sweep
        self.index = index

    @property
    def run(self) -> SweepRun:
        """Its names and folder."""
        return self.sweep.runs[self.index]

    @cached_property
    def note(self) -> dict[str, Any]:
        """The last note of a worker about it, read once; see `Sweep.note`."""
        return self.sweep.read_note(self.run)


class Ended(NamedTuple):
    """Why a launcher does not execute a run any more.

    Attributes:
        state: "failed", "cancelled", or "lost" if the reason is unknown.
        reason: for the user. The reason that a worker noted comes first.
        log: what to read if the run itself printed nothing.
    """

    state: str
    reason: str
    log: Path | None = None


@dataclass
class Poll:
    """The runs that ended, with reasons; all others wait or run. `notes` tell the user what else to know."""

    ended: dict[SubmittedRun, Ended]
    notes: list[str] = field(default_factory=list)
    pause: float = 0.0


@dataclass(frozen=True)
class Launcher(ABC):
    """Executes the runs of sweeps; subclasses are dataclasses of their settings.

    Attributes:
        pause: seconds between two polls.
    """

    pause: ClassVar[float] = 0.3

    def check(self, threads: int, workers: int | None) -> None:
        """Raise `InputError` for settings that cannot be used with so many threads a run, and with `workers=N`."""
        if workers is not None:
            raise InputError(f"workers={workers} has no effect with this launcher: leave it out.")

    def check_machine(self) -> None:  # noqa: B027 - every machine will do for most launchers
        """Raise `InputError` if runs cannot be submitted from this machine."""

    @abstractmethod
    def submit(self, sweep: Sweep, indices: Sequence[int]) -> None:
        """Have the runs `indices` of a sweep executed, and return at once."""

    @classmethod
    @abstractmethod
    def poll(cls, runs: Sequence[SubmittedRun]) -> Poll:
        """Which of these unfinished runs, of all sweeps of this launcher, ended; `run.sweep.launcher` has settings."""

    @abstractmethod
    def cancel(self, sweep: Sweep) -> None:
        """Stop a sweep. Its workers stop by themselves after their current iteration."""

    def describe(self, work: Workload) -> list[str]:
        """The lines that `scorebo sweep --dry-run` shows: what the sweep costs, and how it would be submitted."""
        return work.costs(sum(work.cpu_seconds))


def load_launcher(node: Mapping[str, Any], folder: str) -> Launcher:
    """The launcher of a `launcher` node, whose class may lie in a module of `folder`."""
    if folder not in sys.path:
        sys.path.append(folder)
    what = f"launcher '{node.get('name')}' (_target_: {node.get('_target_')})"
    try:
        kind = pkgutil.resolve_name(node.get("_target_") or "")
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"The class of {what} cannot be loaded: {error}. Name one in its YAML file.") from error
    if not isinstance(kind, type) or not issubclass(kind, Launcher):
        raise InputError(f"The class of {what} is not a subclass of scorebo.launch.Launcher.")
    options = {name: value for name, value in node.items() if name not in ("name", "_target_")}
    allowed = {option.name for option in dataclasses.fields(kind)}
    for name in options:
        check_choice(f"option of launcher '{node.get('name')}'", name, allowed)
    try:
        return kind(**options)
    except TypeError as error:
        raise InputError(f"{what} cannot be made: {error}.") from error


def poll(runs: Iterable[SubmittedRun]) -> Poll:
    """What the launchers of unfinished runs know about them; no launcher is asked about cancelled sweeps."""
    sweeps: dict[str, list[SubmittedRun]] = {}
    for run in runs:
        sweeps.setdefault(run.sweep.name, []).append(run)
    known = Poll({})
    groups: dict[type[Launcher], list[SubmittedRun]] = {}
    for name, members in sweeps.items():
        if members[0].sweep.cancelled:
            known.ended |= dict.fromkeys(members, Ended("cancelled", f"{name} was cancelled"))
            continue
        try:
            groups.setdefault(type(members[0].sweep.launcher), []).extend(members)
        except InputError as error:  # its class is gone; other sweeps are shown nevertheless
            known.ended |= dict.fromkeys(members, Ended("lost", str(error)))
    for kind, members in groups.items():
        found = kind.poll(members)
        for state in {ended.state for ended in found.ended.values()}:
            check_choice(f"state of an ended run in {kind.__name__}.poll", state, STOPPED)
        known.ended |= found.ended
        known.notes += found.notes
        known.pause = max(known.pause, kind.pause)
    return known
