"""Whole runs with both samplers, paired by seed: does `mcmc=sequential` end where `mcmc=nuts` does?

A run with either sampler sees the same design and the same noise. Started again, it finishes what is missing. For each
task the mean difference (sequential − nuts) of the last record's metric with its 95 % interval (Student's t on the
pairs) is printed as Markdown.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.run.loop import execute  # noqa: E402
from scorebo.store import RunStore, read_records  # noqa: E402


class Task(NamedTuple):
    """A benchmark, the acquisition that chooses its points, the reduced budget, and the metric compared."""

    benchmark: str
    acquisition: str
    total: int
    metric: str


TASKS = (
    Task("gramacy1", "sal_hr", 30, "negative_mll"),
    Task("gramacy2", "sal_hr", 40, "negative_mll"),
    Task("hartmann6_al", "sal_hr", 40, "negative_mll"),
    Task("branin", "scorebo_hr", 40, "inference_regret"),
    Task("hartmann3", "scorebo_hr", 40, "inference_regret"),
)
SAMPLERS = ("nuts", "sequential")


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many pairs")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    names = [task.benchmark for task in TASKS]
    parser.add_argument("--tasks", nargs="+", choices=names, default=names)
    parser.add_argument("--results", type=Path, default=Path("results/sequential"), help="where the runs are kept")
    parser.add_argument("--report-only", action="store_true", help="print the table of the runs there are")
    options = parser.parse_args()
    tasks = [task for task in TASKS if task.benchmark in options.tasks]
    seeds = range(options.first, options.first + options.seeds)
    if not options.report_only:
        for seed in seeds:
            for task in tasks:
                for sampler in SAMPLERS:
                    execute(configuration(task, sampler, seed, options.results))
            print(f"seed {seed} done", flush=True)
    print("| task | evaluations | metric | pairs | nuts | sequential | difference | 95 % interval | sd of a pair |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = [task_row(task, seeds, options.results) for task in tasks]
    print("\n".join(rows))


def configuration(task: Task, sampler: str, seed: int, results: Path) -> dict[str, Any]:
    """The configuration of one run."""
    settings = [f"benchmark={task.benchmark}", f"acquisition={task.acquisition}", f"mcmc={sampler}", f"seed={seed}"]
    features = ["mcmc.num_features=2048"] if task.acquisition == "scorebo_hr" else []
    # Only the last model is compared, which is judged in any case.
    budget = [f"benchmark.total={task.total}", f"metrics_every={task.total}"]
    return as_dict(compose([*settings, *budget, *features, f"results={results}"]))


def task_row(task: Task, seeds: range, results: Path) -> str:
    """Paired comparison of the finished runs of one task."""
    pairs = [pair for seed in seeds if (pair := final_pair(task, seed, results)) is not None]
    if len(pairs) < 2:
        return f"| {task.benchmark}, {task.acquisition} | {task.total} | {task.metric} | {len(pairs)} | | | | | |"
    values = np.array(pairs)
    difference = values[:, 1] - values[:, 0]
    error = difference.std(ddof=1) / math.sqrt(len(pairs))
    half = stats.t.ppf(0.975, len(pairs) - 1) * error
    metric = "log10 inference regret" if task.metric == "inference_regret" else "negative MLL"
    means = " | ".join(f"{mean:.3f}" for mean in (*values.mean(axis=0), difference.mean()))
    interval = f"[{difference.mean() - half:.3f}, {difference.mean() + half:.3f}]"
    sd = f"{difference.std(ddof=1):.3f}"
    name = f"{task.benchmark}, {task.acquisition}"
    return f"| {name} | {task.total} | {metric} | {len(pairs)} | {means} | {interval} | {sd} |"


def final_pair(task: Task, seed: int, results: Path) -> tuple[float, float] | None:
    """The last metric of both runs, None unless both are finished."""
    finals = []
    for sampler in SAMPLERS:
        store = RunStore(results, configuration(task, sampler, seed, results))
        if not store.is_finished():
            return None
        value = float(read_records(store.folder / "records.jsonl").records[-1][task.metric])
        finals.append(math.log10(max(value, 1e-12)) if task.metric == "inference_regret" else value)
    return finals[0], finals[1]


if __name__ == "__main__":
    main()
