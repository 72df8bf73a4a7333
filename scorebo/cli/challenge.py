"""The commands `reference` and `challenge`: parse, call, print."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    from scorebo.cli.command import Add
    from scorebo.report.challenge import Challenge

REFERENCE_EXAMPLES = """examples:
  scorebo reference list
  scorebo plot al-mll --reference --out al-mll.pdf
  scorebo compare --reference --metric negative_mll --baseline bald
  SCOREBO_REFERENCE=archives scorebo reference list

Reference runs are archives that come with the project: in a checkout all that have been computed, in an installed
package those of the active-learning suite. $SCOREBO_REFERENCE names others, a file or a folder of archives."""
CHALLENGE_EXAMPLES = """examples:
  scorebo challenge acquisition=my_acquisition --config-dir my_configs --scale smoke --wait
  scorebo challenge acquisition=my_acquisition --config-dir my_configs benchmark=gramacy1 --seeds 5 --dry-run
  scorebo challenge acquisition=my_acquisition --config-dir my_configs --suite bo launcher=slurm launcher.partition=cpu

Runs the method on the tasks and seeds of reference runs (`scorebo reference list`), with which its runs share initial
designs and noise, compares it with each of their methods, and writes a report in which it stands out. Without --wait
it submits the runs, as `scorebo sweep` does, and returns. The same command again goes on: it submits what failed, says
what is still running, and compares when all runs have finished.
suites: al, bo, saas, gp8, additive, warped, or any experiment that has reference runs (docs/challenge.md)"""


def add_commands(add: Add) -> None:
    """Add the parsers of the two commands."""
    from scorebo.cli.launch import add_wait

    reference = add(
        "reference", "Show the reference runs that new ones can be compared with.", REFERENCE_EXAMPLES, _list
    )
    reference.add_argument("action", choices=["list"], metavar="ACTION", help="list")
    reference.add_argument("--json", action="store_true", help="for programs")

    text = "Run a new method and compare it with reference runs."
    challenge = add("challenge", text, CHALLENGE_EXAMPLES, _challenge)
    challenge.add_argument("overrides", nargs="*", metavar="SETTING=VALUE", help="acquisition=NAME; where to run it")
    challenge.add_argument("--config-dir", type=Path, metavar="DIR", help="folder with config groups of your own")
    challenge.add_argument("--suite", default="al", metavar="SUITE", help="al (the default), bo, saas, …")
    text = "smoke, small or paper; by default the one of which the reference has most runs"
    challenge.add_argument("--scale", metavar="SCALE", help=text)
    challenge.add_argument("--seeds", type=int, metavar="N", help="the first N seeds alone")
    challenge.add_argument("--metric", action="append", metavar="NAME", help="compare by these; by default the suite's")
    challenge.add_argument(
        "--out", type=Path, metavar="FILE", help="of the report: FILE.html; by default in the results"
    )
    add_wait(challenge)
    challenge.add_argument("--dry-run", action="store_true", help="only say what would be run and what it would cost")


def _list(options: argparse.Namespace) -> int:
    from scorebo.report.reference import describe_held, held
    from scorebo.store.reference import reference_archives

    problems: list[str] = []
    found = held(reference_archives(), problems)
    print(json.dumps([each._asdict() for each in found]) if options.json else describe_held(found))
    for problem in problems:
        print(f"scorebo: {problem}", file=sys.stderr)
    return int(bool(problems))


def _challenge(options: argparse.Namespace) -> int:
    from scorebo.cli.report import check_html
    from scorebo.report.challenge import prepare, suite_named
    from scorebo.store.schema import METRICS

    if options.seeds is not None and options.seeds < 1:
        raise InputError(f"--seeds must be a whole number of at least 1, got {options.seeds}.")
    for metric in options.metric or ():
        check_choice("metric", metric, METRICS)
    if options.out is not None:
        check_html(options.out)
    suite = suite_named(options.suite, options.config_dir)
    given = {"scale": options.scale, "seeds": options.seeds, "config_dir": options.config_dir}
    challenge = prepare(options.overrides, suite, **given)
    print(challenge)
    for note in challenge.notes:
        print(f"scorebo: {note}", file=sys.stderr)
    if options.dry_run:
        from scorebo.launch.estimate import plan

        print(plan(challenge.configs))
        return 0
    if (code := _run(challenge, options.wait)) is not None:
        return code
    _compare(challenge, options)
    return 0


def _run(challenge: Challenge, wait: bool) -> int | None:
    """Submit what is neither finished nor in hand; the exit code, or None when all runs are finished."""
    from scorebo.cli.launch import wait_for
    from scorebo.launch.submit import in_hand, submit, unfinished
    from scorebo.launch.sweep import sweeps_in
    from scorebo.store import run_id

    left = [challenge.configs[index] for index in unfinished(challenge.configs)]
    print(f"{len(challenge.configs)} runs, {len(challenge.configs) - len(left)} of them finished already")
    if not left:
        return None
    waiting = in_hand(left, challenge.suite.experiment)
    ids = {run.run_id for run in waiting}
    sweeps = [s for s in sweeps_in(challenge.results) if s.name in {run.sweep for run in waiting}]
    if waiting:
        print(f"{len(waiting)} of them running or queued in {', '.join(sweep.name for sweep in sweeps)}")
    new = [config for config in left if run_id(config) not in ids]
    if new:
        sweeps.append(submit(new, sys.argv))
        print(f"{sweeps[-1].name} submitted ({sweeps[-1].about['launcher']['name']}): {len(new)} runs")
    if not wait:
        print(
            f"`scorebo status {challenge.suite.experiment} --results {challenge.results}` says how it goes. The same "
            "command again compares when all have finished."
        )
        return 0
    code = wait_for(challenge.results, sweeps)
    return code or 1 if unfinished(challenge.configs) else None


def _compare(challenge: Challenge, options: argparse.Namespace) -> None:
    from scorebo.cli.report import evidence_of
    from scorebo.report.challenge import comparisons
    from scorebo.report.html import write_report
    from scorebo.report.html.comparison import comparison_section
    from scorebo.report.statistics.text import format_comparison

    evidence = evidence_of(challenge.query)
    found = comparisons(evidence, challenge.suite, options.metric)
    print("\n\n".join(map(format_comparison, found)))
    out = options.out or challenge.results / f"challenge-{challenge.method}-{challenge.suite.experiment}.html"
    section = comparison_section(found)
    figures = challenge.suite.figures
    _, words = write_report(evidence, out, invocation=options.given, figures=figures, more=[section])
    print(f"\n{out} ({words})")
