"""Models of real runs, for scripts that check one step of a run: runs of the harness, and their fits made again.

A run is made where it is missing, by `mcmc=sequential` to save time and with its model judged only at the ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from scorebo.acquisition import Context
from scorebo.benchmarks.base import Benchmark
from scorebo.config import as_dict, compose, instantiate
from scorebo.gp import FullyBayesianGP
from scorebo.run.loop import execute
from scorebo.search.box import unit_box
from scorebo.store import find_runs, read_records
from scorebo.store.identity import read_config
from scorebo.transforms.standardize import DataTransform

SYNTHETIC = ("branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6")
# Seeds of runs on which settings are chosen come below this one, those of runs that are reported from it on.
HELD_OUT = 101


class Fit(NamedTuple):
    """The model that a run had after n observations, and what its proposal was made from."""

    task: str
    acquisition: str
    seed: int
    n: int
    context: Context


def arguments(
    description: str, seeds: Sequence[int] = (HELD_OUT,), tasks: Sequence[str] = SYNTHETIC
) -> argparse.ArgumentParser:
    """The options that say which runs are looked at."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--results", type=Path, default=Path("results/trajectories"), help="where the runs are kept")
    parser.add_argument("--tasks", nargs="+", default=list(tasks))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
    parser.add_argument("--total", type=int, default=101, help="observations of a run")
    parser.add_argument("--observed", type=int, nargs="+", default=[10, 20, 40, 60, 80, 100], help="n of the fits")
    parser.add_argument("--report-only", action="store_true", help="take the runs there are")
    return parser


def make_runs(options: argparse.Namespace, acquisitions: Sequence[str]) -> None:
    """Make the runs that are missing, unless only a report is asked for."""
    if options.report_only:
        return
    for seed in options.seeds:
        for acquisition in acquisitions:
            for task in options.tasks:
                budget = [f"benchmark.total={options.total}", f"metrics_every={options.total}"]
                cheap = [] if acquisition == "nei_map" else ["mcmc=sequential", "mcmc.num_features=2048"]
                names = [f"benchmark={task}", f"acquisition={acquisition}", f"seed={seed}"]
                execute(as_dict(compose([*names, *budget, *cheap, f"results={options.results}"])))


def stored_fits(options: argparse.Namespace, acquisitions: Sequence[str]) -> Iterator[Fit]:
    """The fits of the runs that were asked for, by run and n; of a run that is not finished those there are."""
    for folder in sorted(find_runs(options.results)):
        config = read_config(folder / "config.yaml")
        task, acquisition, seed = config["benchmark"]["name"], config["acquisition"]["name"], config["seed"]
        if task not in options.tasks or acquisition not in acquisitions or seed not in options.seeds:
            continue
        bounds = instantiate("benchmark", config["benchmark"], expected=Benchmark).for_seed(seed).bounds
        records = read_records(folder / "records.jsonl").records
        for n in options.observed:
            if n < len(records) and records[n]["hyperparameters"] is not None:
                yield Fit(task, acquisition, seed, n, _context(task, seed, bounds, records[: n + 1]))


def _context(task: str, seed: int, bounds: torch.Tensor, records: list[Any]) -> Context:
    """What the last of the records proposed from."""
    *before, record = records
    X, y = (torch.tensor([point[name] for point in before], dtype=torch.float64) for name in ("x", "y"))
    transform = DataTransform(bounds, record["output_sign"], record["output_mean"], record["output_std"])
    sets: Any = {name: torch.tensor(value, dtype=torch.float64) for name, value in record["hyperparameters"].items()}
    model = FullyBayesianGP(transform.to_unit(X), transform.to_model(y), noise_floor=record["noise_floor"], **sets)
    return Context(model, unit_box(model.dim), task, seed, len(before) + 1)
