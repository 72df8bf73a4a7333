"""How long `scorebo collect` takes and how much memory, over synthetic runs with valid records: all read for the first
time, none changed since, and a few that went on. Limits: a minute and 2 GB for 5,000 runs of 100 iterations.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "validation"))  # which invents the results

from synthetic_results import make_results, write_records

from scorebo.config.compose_many import Composer
from scorebo.store import RunStore
from scorebo.store.records import read_records

METHODS = ("scorebo_hr", "nei", "jes", "mes", "bald")


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
    seeds = list(range(1, -(-runs // len(METHODS)) + 1))
    size = [f"benchmark.total={iterations - 1}"]  # the final record comes on top
    configs = [
        config
        for method in METHODS
        for config in composer.compose(["benchmark=hartmann6", f"acquisition={method}", *size], seeds)
    ][:runs]
    make_results(results, configs)
    return [RunStore(results, config).folder for config in configs]


def go_on(folder: Path) -> None:
    """One more record of a run."""
    run = (folder / "config.yaml").read_text().split("Run ")[1].split(":")[0]
    records = read_records(folder / "records.jsonl").records
    write_records(folder, run, [*records, {**records[-1], "iteration": len(records) + 1}])


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
