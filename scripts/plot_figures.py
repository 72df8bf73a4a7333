"""All figures that can be drawn from a folder of results, and those that need none; a thin wrapper around `plot`.

Results are collected once. What cannot be drawn yet is named with the reason.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES, Layout, draw_runs
from scorebo.report.query import Query
from scorebo.store import collect

if TYPE_CHECKING:
    import pandas as pd


def main() -> int:
    """Draw; 1 if nothing could be drawn from the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"), help="root of the run folders")
    parser.add_argument("--out", type=Path, default=Path("results/figures"), help="folder of the figures")
    parser.add_argument("--format", choices=("pdf", "png", "svg"), default="pdf")
    parser.add_argument("--scale", help="smoke, small or paper; by default for each figure the one with most runs")
    parser.add_argument("--width", metavar="one|two|CM", help="columns of a journal, or centimeters")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="figures drawn at a time")
    parser.add_argument("figures", nargs="*", metavar="ID", help="these alone")
    options = parser.parse_args()
    if options.workers < 1:
        parser.error(f"argument --workers: at least 1, got {options.workers}")
    began, drawn = time.perf_counter(), 0
    table = None
    try:
        table = collect(options.results, points=False)
    except InputError as error:
        print(f"no results: {error}", file=sys.stderr)
    names = options.figures or list(FIGURES)
    # Fresh processes, sent what was collected: a fork would copy the locks of the libraries' threads, held or not.
    # Where one dies (memory that ran out) or cannot begin, the executor says so; `multiprocessing.Pool` waits for ever.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(options.workers, len(names)), spawn, _Task.share, (table, options)) as pool:
        try:
            for name, what, problem in pool.map(_Task.draw, names):
                drawn += what is not None
                if what is not None:
                    print(f"{name}: {what}", flush=True)
                elif problem is not None:
                    print(f"{name}: not drawn. {problem}.", file=sys.stderr)
        except BrokenProcessPool:
            print(f"a process that draws ended, after {drawn} figures; --workers 1 needs least memory", file=sys.stderr)
            return 1
    print(f"{drawn} of {len(names)} figures in {time.perf_counter() - began:.0f} s: {options.out}")
    return 0 if drawn else 1


class _Task:
    """What a process draws from: set once in each, instead of being sent with every figure."""

    evidence: Evidence | None
    options: argparse.Namespace

    @classmethod
    def share(cls, table: pd.DataFrame | None, options: argparse.Namespace) -> None:
        cls.evidence = None if table is None else Evidence(Query(options.results, options.scale), table)
        cls.options = options

    @classmethod
    def draw(cls, name: str) -> tuple[str, str | None, str | None]:
        """The figure's name, what it was drawn from, and why it could not be."""
        if name in FIGURES and FIGURES[name].source != "fits" and cls.evidence is None:
            return name, None, None
        try:
            return name, _draw(name, cls.evidence, cls.options), None
        except InputError as error:
            return name, None, str(error).partition(". ")[0]


def _draw(name: str, evidence: Evidence | None, options: argparse.Namespace) -> str:
    out = options.out / f"{name}.{options.format}"
    command = ["scorebo", "plot", name, "--results", str(options.results), "--out", str(out)]
    command += ["--scale", options.scale] if options.scale else []
    command += ["--width", options.width] if options.width else []
    return draw_runs(FIGURES[name], evidence, out, command=command, layout=Layout(options.width))


if __name__ == "__main__":
    sys.exit(main())
