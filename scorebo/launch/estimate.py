"""`scorebo sweep --dry-run`: what would be submitted, and what it would cost.

The costs are those of similar runs that are stored, where there are any, or of a short pilot.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.launch.display import duration
from scorebo.launch.pilot import BEGIN_SECONDS, pilot
from scorebo.launch.submit import check_launcher, unfinished
from scorebo.launch.sweep import SWEEPS, Sweep, SweepRun, folder_name, sweeps_in
from scorebo.launch.timings import Cost, Spent, iteration_timings, spent
from scorebo.store import RunStore
from scorebo.store.identity import identity_nodes, node_name, run_id
from scorebo.store.markers import read_checkpoint
from scorebo.store.schema import NAMES
from scorebo.store.sources import archives_in, stored_runs
from scorebo.store.stored_run import RECORDS, FolderRun, StoredRun

# Similar runs that are read for one kind; more would hardly change the mean.
_ENOUGH = 5
_SOURCES = {
    "stored": "the timings of similar runs in the results",
    "stored wall": "the wall time of similar runs, which have no processor time: too long if their machine was busy",
    "pilot": "a short pilot",
    "guess": "the others: the pilot had no time for them",
}


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
        timings: list[list[Spent]] = []
        memory: list[float] = []
        for run in self._of_the_names(config):
            if len(timings) < _ENOUGH and (found := self._timing(run, config)):
                timings.append(found)
                memory += self._memory(run.name.rpartition("-")[2])
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

    def _of_the_names(self, config: Mapping[str, Any]) -> Iterator[StoredRun]:
        """The runs of this task, model and method: those in folders of their own, then those of full archives."""
        folder = self.results.joinpath(*(node_name(config, node) for node in NAMES))
        yield from map(FolderRun, sorted(folder.glob("seed-*")))
        yield from (run for run in self._archived if run.place.parts[-4:-1] == folder.parts[-3:])

    @cached_property
    def _archived(self) -> list[StoredRun]:
        paths = archives_in(self.results, []) if self.results.is_dir() else []
        return [run for path in paths for run in stored_runs(path, []) if run.exact]

    def _timing(self, run: StoredRun, config: Mapping[str, Any]) -> list[Spent]:
        try:
            nodes = run.config()
            nodes["benchmark"] = {**nodes["benchmark"], "total": config["benchmark"]["total"]}
            if run_id({**nodes, "seed": config["seed"]}) != run_id(config):
                return []
            return [spent(timings) for timings in iteration_timings(run.read(RECORDS))]
        except InputError:
            return []

    def _memory(self, key: str) -> list[float]:
        """What the workers of sweeps noted about a run."""
        peaks = [sweep.read_note(run).get("peak_memory_mb") for sweep, run in self._noted.get(key, [])]
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
        b = statistics.linear_regression(squares, typical).slope if len(typical) > 1 else 0.0
        b = max(b, 0.0)  # an iteration does not get cheaper with more observations
        a = statistics.fmean(typical) - b * statistics.fmean(squares)
        typical += [max(a + b * k * k, typical[-1]) for k in range(len(typical), count)]
    return typical


def costs(configs: Sequence[Mapping[str, Any]], results: Path, pilot_seconds: float = BEGIN_SECONDS) -> dict[str, Cost]:
    """The cost of every kind of run among `configs`; what a pilot had no time for is guessed from similar ones."""
    stored = Stored(results)
    kinds = {kind_of(config): config for config in configs}
    known = {kind: cost for kind, config in kinds.items() if (cost := stored.cost(config))}
    known |= pilot({kind: config for kind, config in kinds.items() if kind not in known}, pilot_seconds)
    measured = [(kinds[kind], cost) for kind, cost in known.items()]
    guesses = {kind: _guess(config, measured) for kind, config in kinds.items() if measured and kind not in known}
    return known | guesses


def _guess(config: Mapping[str, Any], measured: Sequence[tuple[Mapping[str, Any], Cost]]) -> Cost:
    """The mean of the kinds on the same task and model, on the same task, under the same model, or of all."""

    def names(other: Mapping[str, Any], groups: Sequence[str]) -> list[str]:
        return [node_name(other, group) for group in groups]

    for groups in (("benchmark", "model"), ("benchmark",), ("model",), ()):
        like = [cost for other, cost in measured if names(other, groups) == names(config, groups)]
        if like:
            break
    count = _models(config)
    cpu = _mean(cost.cpu_seconds for cost in like)
    return Cost([_mean(cost.seconds for cost in like) or 0.0] * count, None, "guess", [cpu] * count if cpu else None)


def seconds_left(configs: Sequence[Mapping[str, Any]], results: Path) -> list[float | None]:
    """What is left of each run in seconds of wall time, as `--dry-run` has it; None where that is not known."""
    known = costs(configs, results)
    return [
        None if (cost := known.get(kind_of(config))) is None else cost.of(_done(config), _models(config))
        for config in configs
    ]


def _mean(costs: Iterable[Sequence[float] | None]) -> float | None:
    """The mean over the kinds of runs of their seconds an iteration, where these are known."""
    means = [statistics.fmean(seconds) for seconds in costs if seconds]
    return statistics.fmean(means) if means else None


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


def plan(
    configs: Sequence[Mapping[str, Any]], experiment: str | None = None, pilot_seconds: float = BEGIN_SECONDS
) -> str:
    """How many runs, how many are done, what the others cost, and how the launcher would submit them.

    `experiment` is that of `Sweep.create`; runs that experiments share count for the first.
    """
    launcher = check_launcher(configs)
    left = [configs[index] for index in unfinished(configs)]
    lines = [f"{len(configs)} runs, {len(configs) - len(left)} of them finished already"]
    if not left:
        return lines[0]
    results = Path(configs[0]["results"])
    known = costs(left, results, pilot_seconds)
    priced = [(config, cost) for config in left if (cost := known.get(kind_of(config)))]
    counts = Counter(cost.source for _, cost in priced)
    lines += [f"  {counts[source]} runs estimated from {text}" for source, text in _SOURCES.items() if counts[source]]
    threads = max(int(config["threads"]) for config in configs)
    todo = [(cost, _done(config), _models(config)) for config, cost in priced]
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
    hours = [seconds / 3600 for seconds in work.cpu_seconds]
    return "\n".join([*lines, *_by_experiment([config for config, _ in priced], hours), *launcher.describe(work)])


def _by_experiment(configs: Sequence[Mapping[str, Any]], hours: Sequence[float]) -> list[str]:
    """A line for each experiment, where there are several: unfinished runs, their cost, and the paper's."""
    groups: dict[str, list[tuple[Mapping[str, Any], float]]] = {}
    for config, cost in zip(configs, hours, strict=True):
        groups.setdefault((config.get("experiment") or {}).get("name") or "", []).append((config, cost))
    if len(groups) < 2:
        return []
    width = max(len("experiment"), *map(len, groups))
    lines = [f"{'experiment':{width}}  {'runs':>6}  {'core-hours':>10}  {'the paper':>10}"]
    for name, members in groups.items():
        tasks = {config["benchmark"]["name"] for config, _ in members}
        each = (members[0][0].get("experiment") or {}).get("paper_core_hours")
        paper = f"{each * len(tasks):,}" if each else "–"
        lines.append(f"{name:{width}}  {len(members):6d}  {sum(cost for _, cost in members):10.1f}  {paper:>10}")
    return lines


def _done(config: Mapping[str, Any]) -> int:
    """How many iterations with a model a run has done."""
    store = RunStore(config["results"], config)
    checkpoint, _ = read_checkpoint(store.folder, store.run_id)
    return max(0, (checkpoint.iteration if checkpoint else 0) - int(config["benchmark"]["initial"]))
