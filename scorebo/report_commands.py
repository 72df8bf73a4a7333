"""The commands that look at stored runs: their options, and what they print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    import pandas as pd

COMPARE_EXAMPLES = """examples:
  scorebo compare --results results --metric inference_regret --baseline nei
  scorebo compare --results results --metric negative_mll --scale small
  scorebo compare --results results/demo --experiment demo --metric rmse --json

Runs are those of the experiment behind the metric's figure, as with `scorebo plot`. Methods are compared pair by pair
on the seeds both have: without --baseline each with each."""

SCORECARD_EXAMPLES = """examples:
  scorebo scorecard --results results
  scorebo scorecard --results results --scale paper --markdown

Each claim of the paper is tested on the runs of its own experiments: supported, contradicted, undecided (with the seeds
still needed) or not run."""

RESULTS = "root of the run folders"
SCALE = "smoke, small or paper; by default the one with most runs there"
CONFIG_DIR = "folder with config groups of your own"

Add = Callable[[str, str, str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Add the commands to the parser."""
    compare = add("compare", "Compare methods, paired by seed, with intervals and tests.", COMPARE_EXAMPLES)
    compare.add_argument("--metric", default="inference_regret", metavar="NAME", help="inference_regret, rmse, …")
    compare.add_argument("--baseline", metavar="METHOD", help="the method that all others are compared with")
    add_selection(compare, "the metric's own")
    compare.add_argument("--json", action="store_true", help="every number, as JSON")
    compare.set_defaults(command=_compare)

    scorecard = add(
        "scorecard", "Say of each of the paper's claims whether stored runs support it.", SCORECARD_EXAMPLES
    )
    scorecard.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help=RESULTS)
    scorecard.add_argument("--scale", metavar="SCALE", help=SCALE)
    scorecard.add_argument("--config-dir", type=Path, metavar="DIR", help=CONFIG_DIR)
    scorecard.add_argument("--markdown", action="store_true", help="a table in Markdown")
    scorecard.add_argument("--json", action="store_true", help="every number, as JSON")
    scorecard.set_defaults(command=_scorecard)


def add_selection(parser: argparse.ArgumentParser, whose: str) -> None:
    """The options that say which runs are looked at."""
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help=RESULTS)
    parser.add_argument("--scale", metavar="SCALE", help=SCALE)
    parser.add_argument("--experiment", metavar="NAME", help=f"runs of another experiment than {whose}")
    parser.add_argument("--all", action="store_true", help="every run in DIR, whether of an experiment or not")
    parser.add_argument("--config-dir", type=Path, metavar="DIR", help=CONFIG_DIR)


def chosen_runs(options: argparse.Namespace, experiment: str) -> tuple[pd.DataFrame, str]:
    """The table of the runs that the options choose, and which these are in words; problems are printed."""
    from scorebo.selection import select, select_all
    from scorebo.store import collect

    if options.all and (options.scale or options.experiment):
        raise InputError("--all draws every run: it goes with neither --scale nor --experiment.")
    table = collect(options.results)
    for problem in table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    if options.all:
        return select_all(table, options.results), f"all {table['run_id'].nunique()} runs in {options.results}"
    chosen = select(
        table, options.experiment or experiment, options.scale, results=options.results, config_dir=options.config_dir
    )
    return chosen.table, str(chosen)


def _compare(options: argparse.Namespace) -> None:
    from scorebo.report.statistics import METRICS, compare
    from scorebo.report.statistics.text import as_plain, format_comparison

    metric = METRICS[check_choice("metric", options.metric, METRICS)]
    table, what = chosen_runs(options, metric.experiment)
    comparison = compare(table, options.metric, options.baseline)
    if options.json:
        print(json.dumps({"runs": what, **as_plain(comparison)}, indent=2))
    else:
        print(f"{format_comparison(comparison)}\n\n({what})")


def _scorecard(options: argparse.Namespace) -> None:
    from scorebo.report.claims import Evidence, format_scorecard, scorecard
    from scorebo.report.statistics.text import as_plain

    if options.scale:
        from scorebo.scales import SCALES

        check_choice("scale", options.scale, SCALES)
    evidence = Evidence(options.results, options.scale, options.config_dir)
    for problem in evidence.table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    findings = scorecard(evidence)
    print(json.dumps(as_plain(findings), indent=2) if options.json else format_scorecard(findings, options.markdown))
