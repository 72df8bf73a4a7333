"""A complete comparison in minutes: run, store, draw, and print the numbers.

The runs are those of an experiment with reduced budgets, `demo` (active learning) or `demo_bo` (optimization); started
again, it finishes what is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from scorebo.config.overrides import check_effect
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError, check_integer
from scorebo.launch.display import describe, wait
from scorebo.launch.submit import cancel, submit, unfinished
from scorebo.store import run_id


def main() -> int:
    """Run the demo; 1 if a run is not finished."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default="demo", help="name of the experiment config")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where runs are kept (default: results/EXPERIMENT)")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    parser.add_argument("overrides", nargs="*", metavar="SETTING=VALUE", help="e.g. benchmark.total=10")
    options = parser.parse_args()
    results = options.results or Path("results", options.experiment)

    try:
        check_integer("--workers", options.workers, 1)
        own = [f"experiment={options.experiment}", f"results={results}", f"workers={options.workers}"]
        configs = sweep_configs([*own, *options.overrides])
        check_effect(options.overrides, configs, sweep=True)
    except InputError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    began = time.perf_counter()
    if not run(configs):
        return 1
    print(f"\n{len(configs)} runs in {time.perf_counter() - began:.0f} s.\n")
    report(results, configs)
    return 0


def run(configs: list[dict]) -> bool:
    """Run what is not finished and show progress; an interrupt stops the runs as well. Whether all are finished."""
    if not unfinished(configs):
        return True
    sweep = submit(configs, sys.argv)
    try:
        state = wait(sweep.results, sweep.name)
    except KeyboardInterrupt:
        cancel(sweep)
        raise
    finished = len(state.of("finished")) == len(state.runs)
    if not finished:
        print(describe(state, sweep.results), file=sys.stderr)
    return finished


def report(results: Path, configs: list[dict]) -> None:
    """Draw the figures, write the table, and print the final values and where everything is; of these runs alone."""
    from scorebo.report import OPTIMIZATION_METRICS, draw, format_summary
    from scorebo.store import collect, write_table

    figures = configs[0]["experiment"]["figures"]
    table = collect(results)
    table = table[table["run_id"].isin({run_id(config) for config in configs})]
    optimized = "bo-regret" in figures
    print(format_summary(table, OPTIMIZATION_METRICS) if optimized else format_summary(table))
    write_table(table, results / "table.csv")
    paths = [results / f"{figure}.png" for figure in figures]
    for figure, path in zip(figures, paths, strict=True):
        draw(figure, table, path)
    print()
    print(f"figures  {', '.join(map(str, paths))}")
    print(f"table    {results / 'table.csv'}")


if __name__ == "__main__":
    sys.exit(main())
