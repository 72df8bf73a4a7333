"""The commands that look at stored runs: their options, and what they print."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    from scorebo.cli.command import Add
    from scorebo.report.evidence import Evidence
    from scorebo.report.html.write import Following, Section
    from scorebo.report.query import Query

COMPARE_EXAMPLES = """examples:
  scorebo compare --results results --metric inference_regret --baseline nei
  scorebo compare --results results --metric negative_mll --scale small
  scorebo compare --results results/demo --experiment demo --metric rmse --json
  scorebo compare --results mine --results theirs --benchmark branin --acquisition nei,mine --seeds 1-10
  scorebo compare --results results --metric rmse --overlay published.csv

Runs are those of the experiment behind the metric's figure, as with `scorebo plot`. Methods are compared pair by pair
on the seeds both have: without --baseline each with each."""

PLOT_EXAMPLES = """examples:
  scorebo plot al-mll --results results --out al-mll.pdf
  scorebo plot al-mll --results results --scale small --healthy-only --out al-mll.svg
  scorebo plot al-rmse --results results/demo --experiment demo --out al-rmse.png
  scorebo plot al-mll --results results/tour --all --seeds 1-3 --out al-mll.png
  scorebo plot al-rmse --results results --overlay published.csv --out al-rmse.pdf
  scorebo plot al-rmse --results results --width one --font "serif, 8" --labels sal_hr=Ours --out al-rmse.pdf
  scorebo plot al-rmse --results results --no-notes --caption al-rmse.tex --data al-rmse.csv --out al-rmse.pdf
  scorebo plot sal-example --out sal-example.pdf
  scorebo plot my_module:my_figure --results results --all --out mine.pdf

A figure shows the runs of the experiment of its name (al-mll: experiment=al_mll), at the scale of which most runs are
in DIR unless --scale says which; other runs are ignored. Filters without --experiment choose among all runs."""
HEALTH_EXAMPLES = """examples:
  scorebo health --results results --experiment al_mll
  scorebo health --results results --all"""
PROVENANCE_EXAMPLES = """examples:
  scorebo provenance al-mll.pdf
  scorebo provenance report.html
  scorebo provenance figures/bo-regret.png --results /archive/results --json"""
SCORECARD_EXAMPLES = """examples:
  scorebo scorecard --results results
  scorebo scorecard --results results --scale paper --markdown
  scorebo scorecard --results results --claim my_module:my_claim

Each claim of the paper is tested on the runs of its own experiments: significantly supported or contradicted, agrees or
disagrees by its estimates (with the seeds still needed), undecided, or not run."""

REPORT_EXAMPLES = """examples:
  scorebo report --results results --out report.html
  scorebo report --results results --scale small --healthy-only --out report.html
  scorebo report --results results --experiment mine --config-dir my_configs --out report.html
  scorebo report --results mine --results theirs --benchmark branin --acquisition nei,mine --out report.html
  scorebo report --results results --run 246420321cf6 --out report.html
  scorebo report --results results --watch --out report.html
  scorebo report --results results --figure my_module:my_figure --claim my_module:my_claim --out report.html

One file that opens in any browser without a server or a network: every figure that the runs allow with ranks, paired
tests, single runs behind the means and the command behind each curve; the scorecard, the samplers' health, timings,
failures and provenance; filters for all of it. Of runs that the options choose it shows the figures of their
experiment, or one for each metric, and the claims that are about them. Up to 20 runs have a view each (metrics,
queries, hyperparameters, diagnostics, ledger); of more those named by --run. --watch follows running sweeps."""

RESULTS = "root of the run folders (default: results), or an archive; given several times, the runs of all of them"
SCALE = "of the experiment: smoke, small or paper; by default the one with most runs there"
CONFIG_DIR = "folder with config groups of your own"
FILTERS = ("benchmark", "acquisition", "model")
SELECTORS = ("experiment", "scale", *FILTERS, "seeds")


def add_commands(add: Add) -> None:
    """Add the commands to the parser."""
    plot = add("plot", "Draw a figure from stored runs.", PLOT_EXAMPLES, _plot)
    plot.add_argument("figure", metavar="ID", help="see `scorebo list figures`; one of your own: module:name")
    plot.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.pdf, FILE.png or FILE.svg")
    add_selection(plot, "those of the experiment that has the figure's name")
    plot.add_argument("--healthy-only", action="store_true", help="without runs whose sampler was unhealthy")
    _add_layout(plot)
    words = "half standard errors and sort indices in place of ranks, as in the authors' released plots"
    plot.add_argument("--released-style", action="store_true", help=words)
    _add_overlay(plot, "drawn dashed behind")
    _add_reference(plot)

    text = "Say where a figure or report comes from, and whether its data changed."
    provenance = add("provenance", text, PROVENANCE_EXAMPLES, _provenance)
    provenance.add_argument("file", type=Path, metavar="FILE", help="made by `scorebo plot` or `report`")
    provenance.add_argument(
        "--results", type=Path, action="append", metavar="DIR", help="where its runs are now, if they were moved"
    )
    provenance.add_argument("--json", action="store_true", help="all of it, as JSON")

    health = add("health", "Show how the samplers of stored runs did.", HEALTH_EXAMPLES, _health)
    add_selection(health, "all of them")

    compare = add("compare", "Compare methods, paired by seed, with intervals and tests.", COMPARE_EXAMPLES, _compare)
    compare.add_argument("--metric", default="inference_regret", metavar="NAME", help="inference_regret, rmse, …")
    compare.add_argument("--baseline", metavar="METHOD", help="the method that all others are compared with")
    add_selection(compare, "those of the experiment behind the metric's figure")
    _add_overlay(compare, "tabulated at the same numbers of observations")
    _add_reference(compare)
    compare.add_argument("--json", action="store_true", help="every number, as JSON")

    report = add("report", "Write one HTML page with everything that stored runs show.", REPORT_EXAMPLES, _report)
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.html")
    add_selection(report, "those of each figure's and claim's own experiment; all, if there are none of these")
    report.add_argument("--healthy-only", action="store_true", help="without runs whose sampler was unhealthy")
    _add_reference(report)
    _add_own(report, "figure")
    _add_own(report, "claim")
    text = "a run that gets a view of its own, by the beginning of its id; may be given several times"
    report.add_argument("--run", action="append", default=[], metavar="ID", help=text)
    text = "write it again every SECONDS (30) while runs are queued or running; the open page reloads itself"
    report.add_argument("--watch", type=_seconds, nargs="?", const=30.0, metavar="SECONDS", help=text)

    scorecard = add("scorecard", "Test the paper's claims against stored runs.", SCORECARD_EXAMPLES, _scorecard)
    add_selection(scorecard, "those of each claim's own experiments")
    _add_own(scorecard, "claim")
    scorecard.add_argument("--markdown", action="store_true", help="a table in Markdown")
    scorecard.add_argument("--json", action="store_true", help="every number, as JSON")


def _add_layout(plot: argparse.ArgumentParser) -> None:
    group = plot.add_argument_group("how it looks, and what is written beside it")
    text = "columns of a journal, or centimeters; by default as wide as the panels need, up to two columns"
    group.add_argument("--width", metavar="one|two|CM", help=text)
    group.add_argument("--font", metavar="FONT", help='a family, a size in points, or both: "Times New Roman, 9"')
    text = "what a task, method, model, axis or panel is called, e.g. sal_hr=Ours; may be given several times"
    group.add_argument("--labels", action="append", default=[], metavar="NAME=TEXT,…", help=text)
    group.add_argument("--no-notes", action="store_true", help="no notes below the panels (they are in the caption)")
    text = "write a caption: what the band is, seeds, smoothing, notes; FILE.tex is escaped for LaTeX"
    group.add_argument("--caption", type=Path, metavar="FILE", help=text)
    group.add_argument("--data", type=Path, metavar="FILE.csv", help="write the numbers that are drawn")


def _add_overlay(parser: argparse.ArgumentParser, how: str) -> None:
    text = f"published curves (columns task, metric, method, n, value, source), {how}"
    parser.add_argument("--overlay", type=Path, metavar="FILE.csv", help=text)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    text = "reference runs too (`scorebo reference list`); no results of one's own are needed then"
    parser.add_argument("--reference", action="store_true", help=text)
    text = "a method that stands out and is compared with each other one, those of an experiment without it too"
    parser.add_argument("--challenger", metavar="METHOD", help=text)


def _add_own(parser: argparse.ArgumentParser, what: str) -> None:
    text = f"another {what}, of your own: module:name; may be given several times"
    parser.add_argument(f"--{what}", action="append", default=[], metavar="ID", help=text)


def add_selection(parser: argparse.ArgumentParser, default: str, *, results: bool = True) -> None:
    """The options that choose runs, the same for every command; `default` says which are meant without them.

    Without `results` the command has the folder as an argument of its own.
    """
    group = parser.add_argument_group("which runs", f"By default {default}. Filters narrow --experiment and --all.")
    if results:
        group.add_argument("--results", type=Path, action="append", metavar="DIR", help=RESULTS)
    group.add_argument("--experiment", metavar="NAME", help="only runs of this experiment")
    group.add_argument("--scale", metavar="SCALE", help=SCALE)
    group.add_argument("--all", action="store_true", help="every run in DIR, whether of an experiment or not")
    for name in FILTERS:
        group.add_argument(f"--{name}", action="append", metavar="NAME,…", help=f"filter: only runs of these {name}s")
    group.add_argument("--seeds", action="append", metavar="SEEDS", help="filter: only these seeds, e.g. 1-5,8")
    group.add_argument("--config-dir", type=Path, metavar="DIR", help=CONFIG_DIR)


def query_of(options: argparse.Namespace) -> Query:
    """What the options of `add_selection` ask for."""
    from scorebo.report.query import Query

    return Query.from_dict(vars(options))


def evidence_of(query: Query) -> Evidence:
    """The runs asked for; prints what could not be read."""
    from scorebo.report.evidence import Evidence, collect_asked

    table = collect_asked(query)
    for problem in table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    return Evidence(query, table)


def _plot(options: argparse.Namespace) -> None:
    from scorebo.report.figures import FIGURES, draw_runs
    from scorebo.report.figures.layout import Layout, read_labels
    from scorebo.report.overlay import read_overlay

    figure, query = FIGURES[options.figure], query_of(options)
    published = read_overlay(options.overlay) if options.overlay else None
    layout = Layout(options.width, options.font, read_labels(options.labels), not options.no_notes)
    own_fits = figure.source == "fits"
    if own_fits and (query.explicit or query.scale):
        raise InputError(f"{figure.id} is drawn from small fits of its own: it takes no options about runs.")
    evidence = None if own_fits else evidence_of(query)
    more = {"released_style": options.released_style, "published": published, "layout": layout}
    more |= {"caption": options.caption, "data": options.data}
    words = draw_runs(figure, evidence, options.out, command=options.given, **more)
    print(f"{figure.id}: {options.out} ({words})")


def _provenance(options: argparse.Namespace) -> None:
    from scorebo.report import provenance, provenance_check

    origin = provenance.read(options.file)
    state = provenance_check.compare_with_now(origin, options.results)
    if options.json:
        print(json.dumps({**origin, "now": state._asdict()}, indent=2))
    else:
        print(provenance_check.in_words(origin, state))


def _health(options: argparse.Namespace) -> None:
    from scorebo.report.statistics.health import format_health

    chosen = evidence_of(query_of(options)).selection()
    print(f"{format_health(chosen.table)}\n\n({chosen})")


def _compare(options: argparse.Namespace) -> None:
    from scorebo.report.overlay import beside, format_beside, read_overlay
    from scorebo.report.statistics import compare
    from scorebo.report.statistics.text import as_plain, format_comparison
    from scorebo.store.schema import METRICS

    metric = METRICS[check_choice("metric", options.metric, METRICS)]
    chosen = evidence_of(query_of(options)).selection(metric.experiment)
    comparison = compare(chosen.table, options.metric, options.baseline, options.challenger)
    published = beside(chosen.table, options.metric, read_overlay(options.overlay)) if options.overlay else None
    if options.json:
        found = {} if published is None else {"published": published.to_dict("records")}
        print(json.dumps({"runs": str(chosen), **as_plain(comparison), **as_plain(found)}, indent=2))
        return
    tables = [format_comparison(comparison)]
    if published is not None:
        tables.append(format_beside(published, metric.label))
    print("\n\n".join([*tables, f"({chosen})"]))


def check_html(out: Path) -> None:
    """Refuse another ending for the file of a report."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The report's file must end in .html, got '{out}'.")


def _report(options: argparse.Namespace) -> None:
    from scorebo.report.html import write_report

    check_html(options.out)
    query = query_of(options)
    more = {"figures": options.figure, "claims": options.claim, "runs": options.run}

    def write(state: Following | None) -> str:
        evidence = evidence_of(query)
        section = _comparison_with(evidence)
        figures, words = write_report(
            evidence, options.out, invocation=options.given, follow=state, more=section, **more
        )
        drawn = sum(figure.data is not None for figure in figures)
        size = options.out.stat().st_size / 1e6
        return f"{drawn} of {len(figures)} figures, {size:.1f} MB ({words})"

    if options.watch is None:
        print(f"{options.out}: {write(None)}")
        return
    from scorebo.report.html.watch import follow

    try:
        follow(write, query.folders, lambda words: print(f"{options.out}: {words}", flush=True), pause=options.watch)
    except KeyboardInterrupt:
        print(f"scorebo: not following any more; {options.out} stays as it was last written.", file=sys.stderr)


def _seconds(text: str) -> float:
    """A pause in seconds, as argparse reads it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 86400.0:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 1 to 86400, got '{text}'")
    return value


def _comparison_with(evidence: Evidence) -> list[Section]:
    """The section about the challenger, where there is one and an experiment says by what it is compared."""
    from scorebo.report.challenge import comparisons, suite_named
    from scorebo.report.html.comparison import comparison_section

    query = evidence.query
    if not query.challenger or not query.experiment:
        return []
    return [comparison_section(comparisons(evidence, suite_named(query.experiment, query.config_dir)))]


def _scorecard(options: argparse.Namespace) -> None:
    from scorebo.report.claims import CLAIMS, format_scorecard, scorecard
    from scorebo.report.claims.text import evidence_words
    from scorebo.report.statistics.text import as_plain

    claims = [CLAIMS[name] for name in dict.fromkeys([*CLAIMS, *options.claim])]
    evidence = evidence_of(query_of(options))
    findings = scorecard(evidence, claims)
    if options.json:
        print(json.dumps(as_plain(findings), indent=2))
    else:
        print(f"{format_scorecard(findings, options.markdown)}\n\n{evidence_words(evidence.chosen)}")
