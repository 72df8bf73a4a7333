"""What a sweep costs beside its runs, and how long `scorebo status` takes over many of them.

The overhead is the time from the command to the last run's marker, without that of the runs, which the workers note;
the runs are as small as they get. `status` is asked twice over run folders made up for the purpose: the first time it
checks every marker against its records, then it knows them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scorebo.config import as_dict, compose
from scorebo.launch.sweep import sweeps_in
from scorebo.store import RunStore

SMALL = [
    "mcmc.warmup=10",
    "mcmc.thinning=1",
    "mcmc.num_mcmc_samples=3",
    "acquisition_optimizer.raw_samples=32",
    "acquisition_optimizer.num_restarts=2",
]


def overhead(folder: Path, runs: int, workers: int) -> tuple[float, float, float]:
    """Seconds of a sweep of `runs` runs, the runs' own, shared by the workers, and those of loading the libraries."""
    settings = ["benchmark=gramacy1", "acquisition=random", "benchmark.total=4", *SMALL, f"results={folder}"]
    command = [sys.executable, "-m", "scorebo", "sweep", *settings, f"seed=range(1,{runs + 1})", f"workers={workers}"]
    began = time.time()  # of this machine, as are the times of its files
    subprocess.run(command, check=True, capture_output=True)
    while len(markers := list(folder.rglob("finished.json"))) < runs:
        time.sleep(0.01)
    whole = max(marker.stat().st_mtime for marker in markers) - began
    (sweep,) = sweeps_in(folder)
    until = time.monotonic() + 10
    while sweep.alive and time.monotonic() < until:
        time.sleep(0.01)
    own = sum(sweep.read_note(run)["wall_seconds"] for run in sweep.runs)
    (loading,) = re.findall(r"libraries loaded in ([\d.]+) s", (sweep.folder / "pool.log").read_text())
    return whole, own / workers, float(loading)


def make_runs(folder: Path, runs: int, records: int) -> None:
    """Finished run folders with records of a plausible size."""
    config = as_dict(compose(["benchmark=gramacy1", "acquisition=random"]))
    sets = {"lengthscale": [[0.123456789012345] * 2] * 16, "noise": [0.123456789012345] * 16}
    with RunStore(folder / "model", config) as store:
        store.resume()
        for k in range(1, records + 1):
            store.append({"iteration": k, "wall_seconds": {"fit": 0.1}, "hyperparameters": sets})
        store.finish()
    files = {name: (store.folder / name).read_bytes() for name in ("records.jsonl", "checkpoint.json")}
    marker = (store.folder / "finished.json").read_bytes()
    from scorebo.store.markers import write_finished  # so that each marker is that of its own run

    document = json.loads(marker)
    for seed in range(1, runs + 1):
        run = RunStore(folder / "results", {**config, "seed": seed})
        run.folder.mkdir(parents=True)
        for name, content in files.items():
            (run.folder / name).write_bytes(content)
        write_finished(run.folder, run.run_id, document["records"], document["sha256"])


def status_seconds(results: Path) -> float:
    """Seconds of the whole command."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "scorebo", "status", "--results", str(results)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(f"  {done.stdout.splitlines()[0]}")
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[2, 40], help="sizes of the sweeps")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--status-runs", type=int, default=5000)
    parser.add_argument("--records", type=int, default=51, help="of each of those runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for runs in options.runs:
            whole, own, loading = overhead(Path(name, f"sweep-{runs}"), runs, options.workers)
            limit = 2.0 + 0.05 * runs
            rest = whole - own - loading
            print(
                f"sweep of {runs} runs, {options.workers} workers: {whole:.2f} s, the runs' own {own:.2f} s; overhead"
            )
            print(f"  {rest:.2f} s (limit {limit:.2f} s), and {loading:.2f} s for loading the libraries")
        make_runs(Path(name, "many"), options.status_runs, options.records)
        print(f"status over {options.status_runs} runs of {options.records} records")
        for when in ("first", "again"):
            print(f"  {when}: {status_seconds(Path(name, 'many', 'results')):.2f} s (limit 2 s)")


if __name__ == "__main__":
    main()
