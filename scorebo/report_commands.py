"""The commands that look at stored runs: their options, and what they print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    import pandas as pd

    from scorebo.report.evidence import Evidence

COMPARE_EXAMPLES = """examples:
  scorebo compare --results results --metric inference_regret --baseline nei
  scorebo compare --results results --metric negative_mll --scale small
  scorebo compare --results results/demo --experiment demo --metric rmse --json

Runs are those of the experiment behind the metric's figure, as with `scorebo plot`. Methods are compared pair by pair
on the seeds both have: without --baseline each with each."""

PLOT_EXAMPLES = """examples:
  scorebo plot al-mll --results results --out al-mll.pdf
  scorebo plot al-mll --results results --scale small --healthy-only --out al-mll.svg
  scorebo plot al-rmse --results results/demo --experiment demo --out al-rmse.png
  scorebo plot al-mll --results results/tour --all --out al-mll.png
  scorebo plot sal-example --out sal-example.pdf

A figure shows the runs of the experiment of its name (al-mll: experiment=al_mll), at the scale of which most runs are
in DIR unless --scale says which; other runs are ignored."""
HEALTH_EXAMPLES = """examples:
  scorebo health --results results --experiment al_mll
  scorebo health --results results --all"""
WHENCE_EXAMPLES = """examples:
  scorebo whence al-mll.pdf
  scorebo whence report.html
  scorebo whence figures/bo-regret.png --results /archive/results --json"""
SCORECARD_EXAMPLES = """examples:
  scorebo scorecard --results results
  scorebo scorecard --results results --scale paper --markdown

Each claim of the paper is tested on the runs of its own experiments: supported, contradicted, undecided (with the seeds
still needed) or not run."""

REPORT_EXAMPLES = """examples:
  scorebo report --results results --out report.html
  scorebo report --results results --scale small --healthy-only --out report.html

One file that opens in any browser without a server or a network: the scorecard, every figure that the runs allow with
the command behind each curve, the samplers' health, timings, failures and provenance."""

RESULTS = "root of the run folders"
SCALE = "smoke, small or paper; by default the one with most runs there"
CONFIG_DIR = "folder with config groups of your own"

Add = Callable[[str, str, str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Add the commands to the parser."""
    plot = add("plot", "Draw a figure of the paper from stored runs.", PLOT_EXAMPLES)
    plot.add_argument("figure", metavar="ID", help="see `scorebo list figures`")
    plot.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.pdf, FILE.png or FILE.svg")
    add_selection(plot, "the figure's own")
    plot.add_argument("--healthy-only", action="store_true", help="without runs whose sampler was unhealthy")
    plot.add_argument("--one-column", action="store_true", help="laid out for one column of a journal instead of two")
    plot.set_defaults(command=_plot)

    whence = add("whence", "Say where a figure or report comes from, and whether its data changed.", WHENCE_EXAMPLES)
    whence.add_argument("file", type=Path, metavar="FILE", help="made by `scorebo plot` or `report`")
    whence.add_argument("--results", type=Path, metavar="DIR", help="where its runs are now, if they were moved")
    whence.add_argument("--json", action="store_true", help="all of it, as JSON")
    whence.set_defaults(command=_whence)

    health = add("health", "Show how the samplers of stored runs did.", HEALTH_EXAMPLES)
    add_selection(health, "all of them")
    health.set_defaults(command=_health)

    compare = add("compare", "Compare methods, paired by seed, with intervals and tests.", COMPARE_EXAMPLES)
    compare.add_argument("--metric", default="inference_regret", metavar="NAME", help="inference_regret, rmse, …")
    compare.add_argument("--baseline", metavar="METHOD", help="the method that all others are compared with")
    add_selection(compare, "the metric's own")
    compare.add_argument("--json", action="store_true", help="every number, as JSON")
    compare.set_defaults(command=_compare)

    report = add("report", "Write one HTML page with everything that stored runs show.", REPORT_EXAMPLES)
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.html")
    report.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help=RESULTS)
    report.add_argument("--scale", metavar="SCALE", help=SCALE)
    report.add_argument("--config-dir", type=Path, metavar="DIR", help=CONFIG_DIR)
    report.add_argument("--healthy-only", action="store_true", help="without runs whose sampler was unhealthy")
    report.set_defaults(command=_report)

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


@dataclass(frozen=True)
class Chosen:
    """The runs that the options choose: their rows, which these are in words, and how to choose them again.

    `missing` says which runs of the experiment are not there, if any.
    """

    table: pd.DataFrame
    words: str
    selection: dict[str, Any]
    missing: tuple[str, ...] = ()


def chosen_runs(options: argparse.Namespace, experiment: str | None) -> Chosen:
    """The runs of the experiment (or of the one named instead), or with `--all` whatever there is; prints problems."""
    from scorebo.selection import select, select_all
    from scorebo.store import collect

    if options.all and (options.scale or options.experiment):
        raise InputError("--all draws every run: it goes with neither --scale nor --experiment.")
    table = collect(options.results, points=False)
    for problem in table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    where = {"results": str(options.results.resolve())}
    name = options.experiment or experiment
    if options.all or name is None:
        words = f"all {table['run_id'].nunique()} runs in {options.results}"
        return Chosen(select_all(table, options.results), words, where)
    chosen = select(table, name, options.scale, results=options.results, config_dir=options.config_dir)
    again = {**where, "experiment": name, "scale": chosen.scale}
    return Chosen(chosen.table, str(chosen), again, tuple(chosen.missing))


def _plot(options: argparse.Namespace) -> None:
    from scorebo.report import FIGURES, draw
    from scorebo.report.health import health_note, unhealthy_runs
    from scorebo.store import collect_hyperparameters

    figure = FIGURES[check_choice("figure", options.figure, FIGURES)]
    if figure.source == "fits":
        draw(options.figure, None, options.out, command=options.given, narrow=options.one_column)
        print(f"{options.figure}: {options.out} (from small fits of its own)")
        return
    chosen = chosen_runs(options, options.figure.replace("-", "_"))
    table, notes = chosen.table, [*chosen.missing, *health_note(chosen.table, options.healthy_only)]
    if options.healthy_only:
        table = table[~table["run_id"].isin(unhealthy_runs(table))].reset_index(drop=True)
        if table.empty:
            raise InputError("No run has a healthy sampler: see `scorebo health`.")
    if figure.source == "hyperparameters":
        table = collect_hyperparameters(options.results, set(table["run_id"]))
    selection = {**chosen.selection, "source": figure.source, "healthy_only": options.healthy_only}
    how = {"command": options.given, "selection": selection, "notes": notes, "narrow": options.one_column}
    draw(options.figure, table, options.out, **how)
    print(f"{options.figure}: {options.out} ({chosen.words})")


def _whence(options: argparse.Namespace) -> None:
    from scorebo.report import provenance, whence

    origin = provenance.read(options.file)
    state = whence.compare_with_now(origin, options.results)
    print(json.dumps({**origin, "now": state.as_dict()}, indent=2) if options.json else whence.in_words(origin, state))


def _health(options: argparse.Namespace) -> None:
    from scorebo.report.health import format_health

    chosen = chosen_runs(options, None)
    print(f"{format_health(chosen.table)}\n\n({chosen.words})")


def _compare(options: argparse.Namespace) -> None:
    from scorebo.report.statistics import METRICS, compare
    from scorebo.report.statistics.text import as_plain, format_comparison

    metric = METRICS[check_choice("metric", options.metric, METRICS)]
    chosen = chosen_runs(options, metric.experiment)
    comparison = compare(chosen.table, options.metric, options.baseline)
    if options.json:
        print(json.dumps({"runs": chosen.words, **as_plain(comparison)}, indent=2))
    else:
        print(f"{format_comparison(comparison)}\n\n({chosen.words})")


def _report(options: argparse.Namespace) -> None:
    from scorebo.report.html import write_report

    if options.out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The report's file must end in .html, got '{options.out}'.")
    figures = write_report(
        _evidence(options, healthy_only=options.healthy_only),
        options.out,
        config_dir=options.config_dir,
        invocation=options.given,
    )
    drawn = sum(figure.data is not None for figure in figures)
    print(f"{options.out}: {drawn} of {len(figures)} figures, {options.out.stat().st_size / 1e6:.1f} MB")


def _scorecard(options: argparse.Namespace) -> None:
    from scorebo.report.claims import format_scorecard, scorecard
    from scorebo.report.claims.text import evidence_words
    from scorebo.report.statistics.text import as_plain

    evidence = _evidence(options)
    findings = scorecard(evidence)
    if options.json:
        print(json.dumps(as_plain(findings), indent=2))
    else:
        print(f"{format_scorecard(findings, options.markdown)}\n\n{evidence_words(evidence.chosen)}")


def _evidence(options: argparse.Namespace, *, healthy_only: bool = False) -> Evidence:
    """The runs that the options name; prints what could not be read."""
    from scorebo.report.evidence import Evidence

    if options.scale:
        from scorebo.scales import SCALES

        check_choice("scale", options.scale, SCALES)
    evidence = Evidence(options.results, options.scale, options.config_dir, healthy_only=healthy_only)
    for problem in evidence.table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    return evidence
