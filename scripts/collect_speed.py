"""How long `scorebo collect` takes and how much memory, over synthetic runs with valid records: all read for the first
time, none changed since, and a few that went on. Limits: a minute and 2 GB for 5,000 runs of 100 iterations.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from scorebo.composer import Composer
from scorebo.store import RunStore
from scorebo.store.markers import FORMAT
from scorebo.store.sealed import seal
from scorebo.store.stored_config import config_text

METHODS = ("scorebo_hr", "nei", "jes", "mes", "bald")
SETS, DIM, INITIAL = 16, 6, 7
FIELDS = (
    *("negative_mll", "nlpd", "rmse", "inference_regret", "in_sample_inference_regret", "simple_regret"),
    *("best_observed", "inference_value", "acquisition_value"),
)
HEALTH = ("acceptance", "step_size", "tree_depth_mean", "ess_bulk", "rhat", "energy_bfmi", "seconds")


def main() -> None:
    """Make the runs that are missing, then measure in a fresh process each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "results", type=Path, metavar="DIR", help="where the synthetic runs are kept (about 5 KB a record)"
    )
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--changed", type=int, default=50, help="runs that go on before the last measurement")
    options = parser.parse_args()
    folders = make_runs(options.results, options.runs, options.iterations)
    size = sum((folder / "records.jsonl").stat().st_size for folder in folders)
    print(f"{len(folders)} runs, {options.iterations} iterations each, {size / 1e9:.2f} GB of records")
    measure("the first time", options.results)
    measure("nothing changed", options.results)
    for folder in folders[: options.changed]:
        go_on(folder)
    measure(f"{options.changed} runs went on", options.results)


def make_runs(results: Path, runs: int, iterations: int) -> list[Path]:
    """Folders of runs on hartmann6; those that are there already are left as they are."""
    composer = Composer()
    seeds = range(1, -(-runs // len(METHODS)) + 1)
    configs = [
        config
        for method in METHODS
        for config in composer.compose(["benchmark=hartmann6", f"acquisition={method}"], list(seeds))
    ]
    stores = [RunStore(results, config) for config in configs[:runs]]
    for number, store in enumerate(stores):
        if not (store.folder / "finished.json").exists():
            store.folder.mkdir(parents=True, exist_ok=True)
            (store.folder / "config.yaml").write_text(config_text(store.nodes))
            write_records(
                store.folder, store.run_id, make_lines(store.run_id, np.random.default_rng(number), iterations)
            )
    return [store.folder for store in stores]


def make_lines(run: str, rng: np.random.Generator, iterations: int, first: int = 1) -> list[bytes]:
    """Sealed records `first` … of a run."""
    numbers = rng.random((iterations + 1 - first, len(FIELDS) + len(HEALTH) + 2 * DIM + 10)).tolist()
    sets = rng.lognormal(size=(iterations + 1 - first, SETS, DIM + 3))
    return [
        seal(make_record(run, k, row, draws)) for k, (row, draws) in enumerate(zip(numbers, sets, strict=True), first)
    ]


def make_record(run: str, iteration: int, numbers: list[float], draws: np.ndarray) -> dict[str, Any]:
    """A record with all that the loop writes."""
    take = iter(numbers)
    record: dict[str, Any] = {"iteration": iteration, "run": run[:12], "kind": "query"}
    record |= {"x": [next(take) for _ in range(DIM)], "y": next(take), "f": next(take)}
    record |= {"seconds": {phase: next(take) for phase in ("fit", "metrics", "acquisition", "evaluate")}}
    if iteration <= INITIAL:
        absent = dict.fromkeys((*FIELDS, "mcmc", "hyperparameters", "output_mean", "output_std", "output_sign"))
        return record | absent | {"kind": "initial", "num_observations": None}
    mcmc: dict[str, Any] = {name: next(take) for name in HEALTH}
    mcmc |= {"sampler": "nuts", "draws": 256, "divergences": 0, "gradient_evaluations": 5000, "retries": 0}
    mcmc |= {"tree_depth_max": 4, "fallback": None, "effective_sets": None, "refreshed": None, "refreshes": None}
    return record | {name: next(take) for name in FIELDS} | {
        "num_observations": iteration - 1,
        "jittered_blocks": 0,
        "acquisition_fallbacks": 0,
        "optimum_violation": 0.0,
        "recommended_x": [next(take) for _ in range(DIM)],
        "mcmc": mcmc,
        "hyperparameters": {
            "lengthscale": draws[:, :DIM].tolist(),
            **{name: draws[:, DIM + k].tolist() for k, name in enumerate(("outputscale", "noise", "mean"))},
        },
        "noise_floor": 1e-6,
        "output_mean": next(take),
        "output_std": next(take),
        "output_sign": -1.0,
    }  # fmt: skip


def write_records(folder: Path, run: str, lines: list[bytes]) -> None:
    """The records of a run and its marker, without the care a real run takes of power failures."""
    data = b"".join(lines)
    (folder / "records.jsonl").write_bytes(data)
    marker = {"format": FORMAT, "run_id": run, "records": len(lines), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "finished.json").write_bytes(seal(marker))


def go_on(folder: Path) -> None:
    """One more record of a run."""
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    run = (folder / "config.yaml").read_text().split("Run ")[1].split(":")[0]
    more = make_lines(run, np.random.default_rng(len(lines)), len(lines) + 1, len(lines) + 1)
    write_records(folder, run, lines + more)


def measure(what: str, results: Path) -> None:
    """Time and peak memory of the command in a process of its own."""
    out = results.parent / f"{results.name}.parquet"
    command = [sys.executable, "-m", "scorebo", "collect", str(results), "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = done.communicate()[0].strip()
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest of all children so far: the first is the largest, or the figure would not matter.
    print(f"{what}: {seconds:.1f} s ({processor:.1f} s of processor), at most {after.ru_maxrss / 1e6:.2f} GB; {said}")


if __name__ == "__main__":
    main()
