"""A complete comparison in minutes: run, store, draw, and print the numbers.

The runs are those of an experiment with reduced budgets, `demo` (active learning) or `demo_bo` (optimisation); started
again, it finishes what is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tqdm import tqdm

from scorebo.errors import InputError, check_integer
from scorebo.experiments import sweep_configs
from scorebo.launch import Progress, run_all
from scorebo.store import RunStore, read_records, run_id


def main() -> int:
    """Run the demo; 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default="demo", help="name of the experiment config")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where runs are kept (default: results/EXPERIMENT)")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    parser.add_argument("overrides", nargs="*", metavar="SETTING=VALUE", help="e.g. benchmark.total=10")
    options = parser.parse_args()
    results = options.results or Path("results", options.experiment)

    try:
        check_integer("--workers", options.workers, 1)
        configs = sweep_configs([f"experiment={options.experiment}", f"results={results}", *options.overrides])
    except InputError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    began = time.perf_counter()
    failures = [failure for failure in run_with_progress(configs, options.workers) if failure is not None]
    for failure in failures:
        print(f"A run failed: {failure}", file=sys.stderr)
    if failures:
        return 1
    print(f"\n{len(configs)} runs in {time.perf_counter() - began:.0f} s.\n")
    report(results, configs)
    return 0


def run_with_progress(configs: list[dict], workers: int) -> list[BaseException | None]:
    """Run all; one bar over all records on a terminal, a line per finished run elsewhere."""
    labels = [f"{c['benchmark']['name']} {c['acquisition']['name']} seed {c['seed']}" for c in configs]
    total = sum(config["benchmark"]["total"] + 1 for config in configs)
    stores = [RunStore(config["results"], config) for config in configs]
    stored = sum(len(read_records(store.folder / "records.jsonl").records) for store in stores)
    finished = sum(store.is_finished() for store in stores)
    live = sys.stderr.isatty()
    print(f"{len(configs)} runs, {total} records, {stored} of them there already, {workers} processes", file=sys.stderr)
    with tqdm(total=total, initial=stored, unit="record", disable=not live, dynamic_ncols=True) as bar:

        def show(progress: Progress) -> None:
            nonlocal finished
            bar.set_description_str(labels[progress.run])
            bar.set_postfix_str(progress.summary, refresh=False)
            bar.update()
            if progress.iteration == progress.num_records:
                finished += 1
                if not live:
                    line = f"[{finished}/{len(configs)}] {labels[progress.run]}: {progress.summary}"
                    print(line, file=sys.stderr, flush=True)

        return run_all(configs, workers, show)


def report(results: Path, configs: list[dict]) -> None:
    """Draw the figures, write the table, and print the final values and where everything is; of these runs alone."""
    from scorebo.report import OPTIMISATION_METRICS, draw, format_summary
    from scorebo.store import collect, write_table

    figures = configs[0]["experiment"]["figures"]
    table = collect(results)
    table = table[table["run_id"].isin({run_id(config) for config in configs})]
    optimised = "bo-regret" in figures
    print(format_summary(table, OPTIMISATION_METRICS) if optimised else format_summary(table))
    write_table(table, results / "table.csv")
    paths = [results / f"{figure}.png" for figure in figures]
    for figure, path in zip(figures, paths, strict=True):
        draw(figure, table, path)
    print()
    print(f"figures  {', '.join(map(str, paths))}")
    print(f"table    {results / 'table.csv'}")


if __name__ == "__main__":
    sys.exit(main())
