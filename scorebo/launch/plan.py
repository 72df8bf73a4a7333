"""`scorebo sweep --dry-run`: what would be submitted, and what it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorebo.launch.display import duration
from scorebo.launch.estimate import costs, kind_of
from scorebo.launch.folders import SWEEPS
from scorebo.launch.submit import check_launcher, unfinished
from scorebo.launch.sweep import folder_name
from scorebo.store import RunStore
from scorebo.store.markers import read_checkpoint

_SOURCES = {
    "stored": "the timings of similar runs in the results",
    "stored wall": "the wall time of similar runs, which have no processor time: too long if their machine was busy",
    "pilot": "a short pilot",
    "guess": "the others: the pilot had no time for them",
}


@dataclass(frozen=True)
class Workload:
    """The unfinished runs of a sweep that could be submitted.

    Attributes:
        folder: of the sweep, its number apart.
        runs: how many there are.
        threads: of a run, at most.
        workers: the setting of that name.
        seconds: wall time of each run whose cost is known.
        cpu_seconds: processor time of each of these.
        memory_mb: the largest peak memory; None if unknown.
    """

    folder: Path
    runs: int
    threads: int
    workers: int | None
    seconds: list[float]
    cpu_seconds: list[float]
    memory_mb: float | None

    def costs(self, core_seconds: float, wall: float | None = None, at_a_time: str = "") -> list[str]:
        """Core-hours, wall time (None: unknown) with so much `at_a_time`, and memory, a line each."""
        if not self.seconds:
            return ["no estimate: no similar run is stored, and the pilot failed"]
        longest = max(self.seconds)
        whole = "unknown" if wall is None else f"{duration(max(wall, longest))} with {at_a_time} at a time"
        return [
            f"core-hours  {core_seconds / 3600:.3g}",
            f"wall time   {whole}; the longest run takes {duration(longest)}",
            f"memory      {f'{self.memory_mb:.0f} MB a run' if self.memory_mb else 'unknown'}",
        ]


def plan(configs: Sequence[Mapping[str, Any]], experiment: str | None = None) -> str:
    """How many runs, how many are done, what the others cost, and how the launcher would submit them.

    `experiment` is that of `Sweep.create`.
    """
    launcher = check_launcher(configs)
    left = [configs[index] for index in unfinished(configs)]
    lines = [f"{len(configs)} runs, {len(configs) - len(left)} of them finished already"]
    if not left:
        return lines[0]
    results = Path(configs[0]["results"])
    known = costs(left, results)
    priced = [(config, known[kind_of(config)]) for config in left if kind_of(config) in known]
    counts = Counter(cost.source for _, cost in priced)
    lines += [f"  {counts[source]} runs estimated from {text}" for source, text in _SOURCES.items() if counts[source]]
    threads = max(int(config["threads"]) for config in configs)
    todo = [(cost, *_left(config)) for config, cost in priced]
    name = folder_name(experiment or (configs[0].get("experiment") or {}).get("name"))
    work = Workload(
        folder=results.resolve() / SWEEPS / f"{name}-N",
        runs=len(left),
        threads=threads,
        workers=configs[0].get("workers"),
        seconds=[cost.of(done, count) for cost, done, count in todo],
        cpu_seconds=[cost.cpu_of(done, count, threads) for cost, done, count in todo],
        memory_mb=max((cost.memory_mb for _, cost in priced if cost.memory_mb), default=None),
    )
    return "\n".join(lines + launcher.describe(work))


def _left(config: Mapping[str, Any]) -> tuple[int, int]:
    """How many iterations with a model a run has done, and how many it has."""
    store = RunStore(config["results"], config)
    checkpoint, _ = read_checkpoint(store.folder, store.run_id)
    initial, total = int(config["benchmark"]["initial"]), int(config["benchmark"]["total"])
    done = max(0, (checkpoint.iteration if checkpoint else 0) - initial)
    return done, total + 1 - initial
