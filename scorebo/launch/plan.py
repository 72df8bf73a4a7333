"""`scorebo sweep --dry-run`: what would be submitted, and what it would cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorebo.launch.display import duration
from scorebo.launch.estimate import Cost, costs, kind_of
from scorebo.launch.folders import SWEEPS
from scorebo.launch.settings import SlurmSettings, read_settings, usable_cores
from scorebo.launch.submit import unfinished
from scorebo.launch.sweep import folder_name
from scorebo.store import RunStore
from scorebo.store.markers import read_checkpoint

_SOURCES = {
    "stored": "the timings of similar runs in the results",
    "stored wall": "the wall time of similar runs, which have no processor time: too long if their machine was busy",
    "pilot": "a short pilot",
    "guess": "the others: the pilot had no time for them",
}


def plan(configs: Sequence[Mapping[str, Any]], experiment: str | None = None) -> str:
    """How many runs, how many are done, core-hours, memory and wall time of the others, and the batch script.

    `experiment` is that of `Sweep.create`.
    """
    threads = max(int(config["threads"]) for config in configs)
    settings = read_settings(configs[0]["launcher"], threads)
    left = [configs[index] for index in unfinished(configs)]
    lines = [f"{len(configs)} runs, {len(configs) - len(left)} of them finished already"]
    if not left:
        return lines[0]
    results = Path(configs[0]["results"])
    known = costs(left, results)
    priced = [(config, known[kind_of(config)]) for config in left if kind_of(config) in known]
    if priced:
        lines += _estimate(priced, configs[0], settings, threads)
    else:
        lines.append("no estimate: no similar run is stored, and the pilot failed")
    if isinstance(settings, SlurmSettings):
        from scorebo.launch.slurm.launcher import batch_script

        jobs = math.ceil(len(left) / settings.runs_per_job)
        name = folder_name(experiment or (configs[0].get("experiment") or {}).get("name"))
        script = batch_script(results.resolve() / SWEEPS / f"{name}-N", threads, settings, jobs)
        lines += ["", f"batch script ({jobs} jobs; in arrays no larger than the cluster allows)", script]
    return "\n".join(lines)


def _estimate(
    priced: Sequence[tuple[Mapping[str, Any], Cost]], first: Mapping[str, Any], settings: Any, threads: int
) -> list[str]:
    left = [(cost, *_left(config)) for config, cost in priced]
    seconds = [cost.of(done, count) for cost, done, count in left]
    if isinstance(settings, SlurmSettings):
        size = settings.runs_per_job
        packed = [sum(seconds[i : i + size]) for i in range(0, len(seconds), size)]
        at_a_time = settings.array_parallelism
        core_seconds = sum(seconds) * settings.cpus  # a cluster charges for the cores of a job, used or not
        wall = max(max(packed), sum(packed) / at_a_time)
    else:
        packed, at_a_time = seconds, first.get("workers") or max(1, usable_cores() // threads)
        core_seconds = sum(cost.cpu_of(done, count, threads) for cost, done, count in left)
        wall = max(max(packed), sum(packed) / at_a_time, core_seconds / usable_cores())
    memory = max((cost.memory_mb for _, cost in priced if cost.memory_mb), default=None)
    what = "jobs" if isinstance(settings, SlurmSettings) else "workers"
    lines = [
        f"core-hours  {core_seconds / 3600:.3g}",
        f"wall time   {duration(wall)} with {min(at_a_time, len(packed))} {what} at a time; the longest run takes "
        f"{duration(max(seconds))}",
        f"memory      {f'{memory:.0f} MB a run' if memory else 'unknown'}",
    ]
    counts = Counter(cost.source for _, cost in priced)
    lines += [f"  {counts[source]} runs estimated from {text}" for source, text in _SOURCES.items() if counts[source]]
    if isinstance(settings, SlurmSettings):
        if memory and memory > 1024 * settings.memory_gb:
            lines.append(f"  more than launcher.memory_gb={settings.memory_gb:g}")
        if max(packed) > 60 * settings.minutes:
            lines.append(
                f"  a job takes longer than launcher.minutes={settings.minutes}: it will queue again and go on"
            )
    return lines


def _left(config: Mapping[str, Any]) -> tuple[int, int]:
    """How many iterations with a model a run has done, and how many it has."""
    store = RunStore(config["results"], config)
    checkpoint, _ = read_checkpoint(store.folder, store.run_id)
    initial, total = int(config["benchmark"]["initial"]), int(config["benchmark"]["total"])
    done = max(0, (checkpoint.iteration if checkpoint else 0) - initial)
    return done, total + 1 - initial
