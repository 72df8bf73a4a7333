"""The `scorebo` command: parse, call, print. Numerical libraries load only after the number of threads is set."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from scorebo import __version__
from scorebo.cli.archive import add_commands as add_archive_commands
from scorebo.cli.audit import add_command as add_audit_command
from scorebo.cli.challenge import add_commands as add_challenge_commands
from scorebo.cli.completion import add_command as add_completion_command
from scorebo.cli.data import add_commands as add_data_commands
from scorebo.cli.launch import add_commands as add_launch_commands
from scorebo.cli.report import SELECTORS, add_selection, query_of
from scorebo.cli.report import add_commands as add_report_commands
from scorebo.errors import InputError

# The config group behind each list.
PLURALS = {f"{group}s": group for group in ("benchmark", "acquisition", "model", "experiment")}
# What a command is added with: its name, what it does, examples, and the function that does it.
Command = Callable[[argparse.Namespace], int | None]
Add = Callable[[str, str, str, Command], argparse.ArgumentParser]
LISTED = (*PLURALS, "figures")
# Flags that hand `scorebo run` over to Hydra.
MULTIRUN = {"-m", "--multirun"}

RUN_EXAMPLES = """examples:
  scorebo run benchmark=gramacy1 acquisition=sal_hr seed=1
  scorebo run benchmark=ishigami acquisition=bald model=al_lognormal_no_outputscale
  scorebo run benchmark=branin_al acquisition=sal_ws benchmark.total=20 mcmc.num_mcmc_samples=8 results=/tmp/runs
  scorebo run --config-dir my_configs benchmark=my_task acquisition=my_acquisition
  scorebo run -m benchmark=gramacy1 acquisition=bald,sal_hr seed=1,2 hydra/launcher=submitit_slurm

With -m, Hydra's own multirun and launchers do the runs (also as `python -m scorebo -m …`); see `scorebo sweep`.
The same command again skips a finished run and resumes an unfinished one.
settings changed most: results, seed, threads, benchmark.initial, benchmark.total, benchmark.noise_std, mcmc.warmup,
mcmc.thinning, mcmc.num_mcmc_samples, mcmc.num_optima, mcmc.num_features, metrics_every, on_failure"""
COLLECT_EXAMPLES = """examples:
  scorebo collect results --out table.parquet
  scorebo collect results/gramacy1 --out gramacy1.csv
  scorebo collect results --experiment al_mll --seeds 1-5 --out al_mll.parquet
  scorebo collect results --hyperparameters --out hyperparameters.parquet
  scorebo collect results cluster.parquet laptop.parquet --out table.csv

With --hyperparameters one row per run, iteration and hyperparameter set, in the task's own units: outputscale and noise
are variances of the task's outputs, mean is one of them; lengthscale_1 … are in units of the sides of the box.
Runs whose files did not change since the last time are not read again (DIR/.cache); --fresh reads and checks all."""
REPLAY_EXAMPLES = """examples:
  scorebo replay results/branin/bo_lognormal/nei/seed-1-0f3c2a9b41de --iteration 37
  scorebo replay 0f3c2a --results results --iteration 37

Nothing is written. Exit code 0: bit-equal to the stored record, timings apart; 1: not. For an iteration
that failed: 0 if it fails again in the same way."""
FAILURES_EXAMPLES = """examples:
  scorebo failures results
  scorebo failures results/branin --json

Retries and fallbacks of the samplers, acquisitions and metrics, and evaluations and iterations that failed, from the
runs' ledgers."""
LIST_EXAMPLES = """examples:
  scorebo list benchmarks
  scorebo list acquisitions --config-dir my_configs"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when done, 1 if a run failed or a finding is serious, 2 with one message for a mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run_command(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader, `head` for one, has seen enough. What is still to be written goes nowhere, quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InputError as error:
        print(f"scorebo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("scorebo: interrupted. What was recorded is kept; the same command goes on from there.", file=sys.stderr)
        return 130


def _run_command(given: list[str]) -> int:
    if MULTIRUN & set(given if given[:1] == ["run"] else given[:1]):
        from scorebo.cli.multirun import main as multirun

        multirun(given[1:] if given[0] == "run" else given)  # Hydra reports by itself
        return 0
    parser = build_parser()
    options, rest = parser.parse_known_args(given)
    if hasattr(options, "overrides"):
        from scorebo.cli.hints import check_settings

        check_settings(given, rest)
    # argparse takes positional arguments in one piece only; those after an option come back unread.
    if any(argument.startswith("-") for argument in rest) or (rest and not hasattr(options, "overrides")):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.overrides += rest
    options.given = ["scorebo", *given]
    logging.basicConfig(level=logging.WARNING, format="scorebo: %(message)s", stream=sys.stderr)
    # linear_operator compiles with what torch has deprecated since; nothing a user could do about it.
    warnings.filterwarnings("ignore", message=r"`torch\.jit\.", category=FutureWarning)
    # Hydra logs what it also raises; it is reported once, by `main`.
    logging.getLogger("hydra").setLevel(logging.CRITICAL)
    return int(options.command(options) or 0)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="scorebo", description="Self-correcting Bayesian optimization and Bayesian active learning, reproducibly."
    )
    parser.add_argument("--version", action="version", version=f"scorebo {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, text: str, examples: str, command: Command) -> argparse.ArgumentParser:
        layout = argparse.RawDescriptionHelpFormatter
        added = commands.add_parser(name, help=text, description=text, epilog=examples, formatter_class=layout)
        added.set_defaults(command=command)
        return added

    run = add("run", "Run one experiment, or finish it.", RUN_EXAMPLES, _run)
    run.add_argument("overrides", nargs="*", metavar="SETTING=VALUE", help="configuration, in Hydra's grammar")
    run.add_argument("--config-dir", type=Path, metavar="DIR", help="folder with config groups of your own")
    run.add_argument("--quiet", action="store_true", help="no progress")

    add_launch_commands(add)

    collect = add("collect", "Gather the records of all runs in one tidy table.", COLLECT_EXAMPLES, _collect)
    collect.add_argument("results", type=Path, nargs="+", metavar="DIR|FILE", help="roots of run folders, archives")
    collect.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.parquet or FILE.csv")
    collect.add_argument(
        "--hyperparameters", action="store_true", help="every hyperparameter set instead of the metrics"
    )
    collect.add_argument("--fresh", action="store_true", help="read every run, also those that did not change")
    add_selection(collect, "all of them", results=False)

    add_challenge_commands(add)
    add_report_commands(add)
    add_archive_commands(add)
    add_audit_command(add)

    replay = add("replay", "Repeat one iteration of a stored run and compare.", REPLAY_EXAMPLES, _replay)
    replay.add_argument("run", metavar="RUN", help="folder of the run, or the beginning of its id")
    replay.add_argument("--iteration", type=int, required=True, metavar="K", help="counted from 1")
    words = "a folder or an archive in which to look for an id; may be given several times"
    replay.add_argument("--results", type=Path, action="append", metavar="DIR|FILE", help=words)

    failures = add("failures", "List what failed or fell back on something simpler.", FAILURES_EXAMPLES, _failures)
    failures.add_argument(
        "results", type=Path, nargs="*", default=[Path("results")], metavar="DIR|FILE", help="run folders, archives"
    )
    failures.add_argument(
        "--scheduled", action="store_true", help="the sequential sampler's scheduled full NUTS runs too"
    )
    failures.add_argument("--json", action="store_true", help="as JSON, one object a line")
    add_selection(failures, "all of them", results=False)

    add_data_commands(add)

    listing = add("list", "List what can be run or drawn.", LIST_EXAMPLES, _list)
    listing.add_argument("what", metavar="WHAT", help="benchmarks, acquisitions, models, experiments or figures")
    listing.add_argument("--config-dir", type=Path, metavar="DIR", help="folder with config groups of your own")

    add_completion_command(add, parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from scorebo.config import as_dict, compose
    from scorebo.config.overrides import check_effect
    from scorebo.threads import limit_threads

    config = as_dict(compose(options.overrides, options.config_dir))
    check_effect(options.overrides, [config], sweep=False)
    limit_threads(config["threads"])
    from scorebo.run.progress import Progress, describe
    from scorebo.store import RunStore

    names = [config[group]["name"] for group in ("benchmark", "model", "acquisition")]
    progress = Progress(" ".join([*names, f"seed {config['seed']}"]), quiet=options.quiet)
    store = RunStore(config["results"], config)
    # Asked before the numerical libraries load: skipping a finished run takes no time.
    if store.is_finished():
        progress.report(f"already finished, nothing to do\nrecords: {store.folder}")
        return
    _add_working_folder()
    from scorebo.run.loop import execute

    try:
        last = execute(config, progress)
    finally:
        progress.close()
    progress.report(f"finished{', ' + describe(last) if last else ''}\nrecords: {store.folder}")


def _collect(options: argparse.Namespace) -> None:
    from scorebo.store import collect, collect_hyperparameters, write_table

    chosen = _chosen(options)
    if options.hyperparameters:
        table = collect_hyperparameters(options.results, chosen)
    else:
        table = collect(options.results, fresh=options.fresh)
        if chosen is not None:
            table = table[table["run_id"].isin(chosen)].reset_index(drop=True)
    write_table(table, options.out)
    for problem in table.attrs["problems"]:
        print(f"scorebo: {problem}", file=sys.stderr)
    rows = "hyperparameter sets" if options.hyperparameters else "records"
    print(f"{table['run_id'].nunique()} runs, {len(table)} {rows}: {options.out}")


def _chosen(options: argparse.Namespace) -> set[str] | None:
    """The runs that the options choose; None: all, for which nothing is composed."""
    if not any(getattr(options, name) for name in SELECTORS):
        return None
    from scorebo.report.selection import selected_ids

    return selected_ids(query_of(options))


def _replay(options: argparse.Namespace) -> int:
    from scorebo.store.collect import find_run
    from scorebo.store.environment import changes_since
    from scorebo.threads import limit_threads

    run = find_run(options.run, options.results or "results")
    session = run.session()
    limit_threads(session.get("threads") or 1)
    _add_working_folder()
    from scorebo.run.replay import replay

    done = replay(run, options.iteration)
    what = f"{run.place}, iteration {done.iteration}"
    if done.failure:
        print(f"{what}: {done.failure}")
    if not done.differences:
        print(f"{what}: {'fails as it did' if done.failure else 'bit-equal to the stored record, timings apart'}")
        return 0
    print(f"{what}: differs from what is stored in {len(done.differences)} places")
    for difference in done.differences[:10]:
        print(f"  {difference}")
    for change in changes_since(session):
        print(f"  since then: {change}")
    return 1


def _failures(options: argparse.Namespace) -> None:
    import json

    from scorebo.report.failures import describe_line, ledger_lines, runs_in
    from scorebo.store.sources import sources_text

    lines = ledger_lines(runs_in(options.results, _chosen(options)), scheduled=options.scheduled)
    for line in lines:
        print(json.dumps(line) if options.json else describe_line(line))
    if not lines and not options.json:
        print(f"Nothing failed or fell back in {sources_text(options.results)}.")


def _list(options: argparse.Namespace) -> None:
    from scorebo.config import available, describe_choice
    from scorebo.errors import check_choice

    what = check_choice("listing", options.what, LISTED)
    if what == "figures":
        from scorebo.report import FIGURES

        rows = [(name, figure.description) for name, figure in FIGURES.items()]
    else:
        group, own = PLURALS[what], options.config_dir
        rows = [(name, describe_choice(group, name, own)) for name in available(group, own)]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:<{width}}  {text}".rstrip())


def _add_working_folder() -> None:
    """A user's own classes may lie in the folder the command is given in, as with `python -m`."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
