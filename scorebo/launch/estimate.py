"""What a sweep would cost: from the stored timings of similar runs, where there are any, or from a short pilot."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.launch import run_notes
from scorebo.launch.sweep import Sweep, SweepRun, sweeps_in
from scorebo.launch.timings import Spent, iteration_timings, spent
from scorebo.store.identity import identity_nodes, node_name, read_config, run_id

# Similar runs that are read for one kind; more would hardly change the mean.
_ENOUGH = 5


@dataclass(frozen=True)
class Cost:
    """What a kind of run takes where no other work slows it down.

    Attributes:
        seconds: wall time of each iteration with a model, that after the initial design first.
        memory_mb: peak memory.
        source: "stored", "stored wall" (without processor times), "pilot" or "guess".
        cpu_seconds: processor time of each of these iterations; None where nobody knows.
    """

    seconds: list[float]
    memory_mb: float | None
    source: str
    cpu_seconds: list[float] | None = None

    def of(self, first: int, last: int) -> float:
        """Wall time of the iterations `first` … `last`, counted like `seconds` from 0, the last not included."""
        return _sum(self.seconds, first, last)

    def cpu_of(self, first: int, last: int, threads: int) -> float:
        """Processor time of these iterations; where it is not known, as if every thread computed all the time."""
        return threads * self.of(first, last) if self.cpu_seconds is None else _sum(self.cpu_seconds, first, last)


def _sum(values: Sequence[float], first: int, last: int) -> float:
    missing = max(0, last - max(first, len(values)))
    return sum(values[first:last]) + missing * (values[-1] if values else 0.0)


def kind_of(config: Mapping[str, Any]) -> str:
    """What runs that differ only in their seed have in common."""
    return json.dumps({**identity_nodes(config), "seed": None}, sort_keys=True)


class Stored:
    """The timings and memory of the runs that are there."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._noted: dict[str, list[tuple[Sweep, SweepRun]]] = {}
        for sweep in sweeps_in(results):
            for run in sweep.runs:
                self._noted.setdefault(run.key, []).append((sweep, run))

    def cost(self, config: Mapping[str, Any]) -> Cost | None:
        """The median over some similar runs, which may have another seed and another budget; None without any."""
        folder = self.results.joinpath(*(node_name(config, node) for node in ("benchmark", "model", "acquisition")))
        timings: list[list[Spent]] = []
        memory: list[float] = []
        for path in sorted(folder.glob("seed-*")):
            if len(timings) < _ENOUGH and (found := self._timing(path, config)):
                timings.append(found)
                memory += self._memory(path.name.rpartition("-")[2])
        if not timings:
            return None
        peak = max(memory, default=None)
        # Runs without processor times may have been on a busy machine: they count only where there are no others.
        complete = [timing for timing in timings if all(item.cpu is not None for item in timing)]
        wall = extrapolated([[item.wall for item in timing] for timing in complete or timings], _models(config))
        if not complete:
            return Cost(wall, peak, "stored wall")
        cpu = extrapolated([[item.cpu or 0.0 for item in timing] for timing in complete], _models(config))
        return Cost(wall, peak, "stored", cpu)

    def _timing(self, path: Path, config: Mapping[str, Any]) -> list[Spent]:
        try:
            nodes = read_config(path / "config.yaml")
            nodes["benchmark"] = {**nodes["benchmark"], "total": config["benchmark"]["total"]}
            if run_id({**nodes, "seed": config["seed"]}) != run_id(config):
                return []
            return [spent(timings) for timings in iteration_timings((path / "records.jsonl").read_bytes())]
        except (InputError, OSError):
            return []

    def _memory(self, key: str) -> list[float]:
        """What the workers of sweeps noted about a run."""
        peaks = [run_notes.read_note(sweep, run).get("peak_memory_mb") for sweep, run in self._noted.get(key, [])]
        return [float(peak) for peak in peaks if peak]


def _models(config: Mapping[str, Any]) -> int:
    """Iterations of a run that fit a model: the queries and the closing one."""
    return int(config["benchmark"]["total"]) + 1 - int(config["benchmark"]["initial"])


def extrapolated(timings: Sequence[Sequence[float]], count: int) -> list[float]:
    """The seconds of `count` iterations; beyond what was measured a + b·k², fitted by least squares.

    The median over the runs: the first one of an installation also compiles.
    """
    longest = max(map(len, timings))
    typical = [
        statistics.median(timing[k] for timing in timings if k < len(timing)) for k in range(min(longest, count))
    ]
    if len(typical) < count:
        squares = [float(k * k) for k in range(len(typical))]
        a, b = _line(squares, typical)
        typical += [max(a + b * k * k, typical[-1]) for k in range(len(typical), count)]
    return typical


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Intercept and slope, the latter not negative: an iteration does not get cheaper with more observations."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((value - mean_x) ** 2 for value in x)
    slope = sum((u - mean_x) * (v - mean_y) for u, v in zip(x, y, strict=True)) / spread if spread else 0.0
    return mean_y - max(slope, 0.0) * mean_x, max(slope, 0.0)


def costs(configs: Sequence[Mapping[str, Any]], results: Path) -> dict[str, Cost]:
    """The cost of every kind of run among `configs`; what a pilot had no time for is guessed from the others."""
    from scorebo.launch.pilot import pilot

    stored = Stored(results)
    kinds = {kind_of(config): config for config in configs}
    known = {kind: cost for kind, config in kinds.items() if (cost := stored.cost(config))}
    known |= pilot({kind: config for kind, config in kinds.items() if kind not in known})
    guess = _mean([cost.seconds for cost in known.values()])
    cpu_guess = _mean([cost.cpu_seconds for cost in known.values() if cost.cpu_seconds])
    for kind, config in kinds.items():
        if kind not in known and guess:
            count = _models(config)
            known[kind] = Cost([guess] * count, None, "guess", [cpu_guess] * count if cpu_guess else None)
    return known


def _mean(costs: Sequence[Sequence[float]]) -> float | None:
    """The mean over the kinds of runs of their seconds an iteration."""
    means = [sum(seconds) / len(seconds) for seconds in costs if seconds]
    return sum(means) / len(means) if means else None
