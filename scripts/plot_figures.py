"""All figures that can be drawn from a folder of results, and those that need none; a thin wrapper around `plot`.

Results are collected once. What cannot be drawn yet is named with the reason.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from scorebo.errors import InputError
from scorebo.report import FIGURES, draw
from scorebo.report.evidence import Evidence
from scorebo.report.figures import figure_input


def main() -> int:
    """Draw; 1 if nothing could be drawn from the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"), help="root of the run folders")
    parser.add_argument("--out", type=Path, default=Path("results/figures"), help="folder of the figures")
    parser.add_argument("--format", choices=("pdf", "png", "svg"), default="pdf")
    parser.add_argument("--scale", help="smoke, small or paper; by default for each figure the one with most runs")
    parser.add_argument("--one-column", action="store_true", help="laid out for one column of a journal instead of two")
    parser.add_argument("figures", nargs="*", metavar="ID", help="these alone")
    options = parser.parse_args()
    began, drawn = time.perf_counter(), 0
    evidence = None
    try:
        evidence = Evidence(options.results, options.scale)
    except InputError as error:
        print(f"no results: {error}", file=sys.stderr)
    for name in options.figures or FIGURES:
        try:
            if name in FIGURES and FIGURES[name].source != "fits" and evidence is None:
                continue
            what = _draw(name, evidence, options)
        except InputError as error:
            print(f"{name}: not drawn. {str(error).partition('. ')[0]}.", file=sys.stderr)
            continue
        drawn += 1
        print(f"{name}: {what}", flush=True)
    print(f"{drawn} of {len(options.figures or FIGURES)} figures in {time.perf_counter() - began:.0f} s: {options.out}")
    return 0 if drawn else 1


def _draw(name: str, evidence: Evidence | None, options: argparse.Namespace) -> str:
    out = options.out / f"{name}.{options.format}"
    command = ["scorebo", "plot", name, "--results", str(options.results), "--out", str(out)]
    command += ["--scale", options.scale] if options.scale else []
    command += ["--one-column"] if options.one_column else []
    if evidence is None or (name in FIGURES and FIGURES[name].source == "fits"):
        draw(name, None, out, command=command, narrow=options.one_column)
        return "from small fits of its own"
    table, chosen, notes = figure_input(name, evidence)
    assert chosen is not None  # of a figure that is drawn from runs
    selection: dict[str, object] = {"results": str(options.results.resolve()), "experiment": chosen.experiment}
    selection |= {"scale": chosen.scale, "source": FIGURES[name].source, "healthy_only": False}
    draw(name, table, out, command=command, selection=selection, notes=notes, narrow=options.one_column)
    return str(chosen)


if __name__ == "__main__":
    sys.exit(main())
