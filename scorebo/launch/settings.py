"""The `launcher` node of a sweep: which options there are, and what they may be."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from scorebo.errors import InputError, check_choice, check_integer, check_number


@dataclass(frozen=True)
class LocalSettings:
    """`launcher=local`: a pool of processes; see `configs/launcher/local.yaml`."""

    name: ClassVar[str] = "local"
    minutes: float | None = None

    def check(self, threads: int) -> None:
        """Refuse what cannot be."""
        if self.minutes is not None:
            check_number("launcher.minutes", self.minutes, 0.0, exclusive=True)


@dataclass(frozen=True)
class SlurmSettings:
    """`launcher=slurm`: jobs of a cluster; see `configs/launcher/slurm.yaml`."""

    name: ClassVar[str] = "slurm"
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    minutes: int = 240
    memory_gb: float = 4
    cpus: int = 1
    array_parallelism: int = 256
    runs_per_job: int = 1
    signal_seconds: int = 120
    setup: list[str] = field(default_factory=list)

    def check(self, threads: int) -> None:
        """Refuse what cannot be, and fewer cores than the runs have threads."""
        for name in ("minutes", "cpus", "array_parallelism", "runs_per_job", "signal_seconds"):
            check_integer(f"launcher.{name}", getattr(self, name), 1)
        if self.signal_seconds >= 60 * self.minutes:
            raise InputError(
                f"launcher.signal_seconds={self.signal_seconds} must be less than launcher.minutes={self.minutes}."
            )
        check_number("launcher.memory_gb", self.memory_gb, 0.0, exclusive=True)
        for name in ("partition", "account", "qos", "constraint"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InputError(f"launcher.{name} must be a text or null, got {value!r}.")
        if not isinstance(self.setup, list) or not all(isinstance(line, str) for line in self.setup):
            raise InputError(f"launcher.setup must be a list of lines, got {self.setup!r}.")
        if self.cpus < threads:
            raise InputError(f"launcher.cpus={self.cpus} is fewer than threads={threads}: give a job a core a thread.")


Settings = LocalSettings | SlurmSettings
_KINDS: dict[str, type[Settings]] = {kind.name: kind for kind in (LocalSettings, SlurmSettings)}


def read_settings(node: Mapping[str, Any], threads: int) -> Settings:
    """The checked settings of a `launcher` node; an unknown option is answered with the allowed ones."""
    kind = _KINDS[check_choice("launcher", node.get("name"), _KINDS)]
    allowed = [option.name for option in dataclasses.fields(kind)]
    options = {name: value for name, value in node.items() if name != "name"}
    for name in options:
        check_choice(f"option of launcher '{kind.name}'", name, allowed)
    settings = kind(**options)
    settings.check(threads)
    return settings


def check_workers(workers: int | None, launcher: Mapping[str, Any]) -> None:
    """Refuse a number of local processes for a launcher that starts none."""
    if workers is not None and launcher["name"] != LocalSettings.name:
        raise InputError(
            f"workers={workers} has no effect with launcher={launcher['name']}: launcher.array_parallelism={workers} "
            "limits how many jobs run at a time."
        )


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
