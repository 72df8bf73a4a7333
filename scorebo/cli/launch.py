"""The commands `sweep`, `status`, `cancel` and `retry`: parse, call, print."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError

if TYPE_CHECKING:
    from scorebo.cli.command import Add
    from scorebo.launch.sweep import Sweep

DEFAULT_PILOT_MINUTES = 1.5
SWEEP_EXAMPLES = """examples:
  scorebo sweep benchmark=gramacy1,higdon acquisition=sal_hr,bald 'seed=range(1,26)'
  scorebo sweep experiment=al_mll --scale small workers=2 --wait
  scorebo sweep experiment=al_mll launcher=slurm_paper launcher.partition=cpu launcher.runs_per_job=auto
  scorebo sweep experiment=bo_regret launcher=slurm --dry-run
  scorebo sweep experiment=paper --scale paper --dry-run --pilot 30

Submits every run of the sweep, in Hydra's own grammar, and returns; finished runs are skipped, unfinished ones go on
from their last record. The configurations are frozen: editing a YAML file later changes no queued run.
launchers: local (a pool of `workers` processes in the background), slurm (jobs of a cluster), slurm_paper and
slurm_paper_structured (with the paper's resources), or your own; their options are launcher.NAME=VALUE.
Hydra's own way gives the same runs in the same folders: `scorebo run -m hydra/launcher=submitit_slurm …`."""
STATUS_EXAMPLES = """examples:
  scorebo status
  scorebo status al_mll --watch
  scorebo status --results results/tour --json

A run is finished by its own marker with the checksum of its records, whatever SLURM says."""
CANCEL_EXAMPLES = """examples:
  scorebo cancel al_mll
  scorebo cancel sweep-3 --results results/tour

What runs have recorded stays; `scorebo retry --cancelled` goes on from there."""
RETRY_EXAMPLES = """examples:
  scorebo retry --failed
  scorebo retry --failed al_mll launcher.memory_gb=16 launcher.minutes=600
  scorebo retry --cancelled sweep-3

Submits runs again, as they were frozen, from their last record; only launcher.NAME=VALUE and workers=N can be
changed."""


def add_commands(add: Add) -> None:
    """Add the parsers of the four commands."""
    sweep = add("sweep", "Submit many runs at once.", SWEEP_EXAMPLES, _sweep)
    sweep.add_argument("overrides", nargs="*", metavar="SETTING=VALUES", help="configuration, in Hydra's sweep grammar")
    sweep.add_argument("--config-dir", type=Path, metavar="DIR", help="folder with config groups of your own")
    sweep.add_argument("--scale", metavar="SCALE", help="of an experiment: smoke, small or paper")
    add_wait(sweep)
    sweep.add_argument(
        "--dry-run", action="store_true", help="only print what would be submitted and what it would cost"
    )
    sweep.add_argument(
        "--pilot",
        type=float,
        metavar="MINUTES",
        help=f"with --dry-run: after which no further kind of run is timed (default: {DEFAULT_PILOT_MINUTES:g})",
    )

    status = add("status", "Say where every run stands.", STATUS_EXAMPLES, _status)
    _add_which(status)
    status.add_argument("--watch", action="store_true", help="again and again, until nothing is queued or running")
    status.add_argument("--json", action="store_true", help="for programs")

    cancel = add("cancel", "Stop sweeps; what was recorded stays.", CANCEL_EXAMPLES, _cancel)
    _add_which(cancel)

    retry = add("retry", "Submit runs again that failed, were lost or were cancelled.", RETRY_EXAMPLES, _retry)
    retry.add_argument("--failed", action="store_true", help="every failed or lost run")
    retry.add_argument("--cancelled", action="store_true", help="every cancelled run")
    retry.add_argument("overrides", nargs="*", metavar="WHICH | SETTING=VALUE", help="experiment or sweep; launcher.…")
    _add_results(retry)
    add_wait(retry)


def _add_which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="?", metavar="WHICH", help="an experiment or sweep; all without it")
    _add_results(parser)


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="root of the run folders")


def add_wait(parser: argparse.ArgumentParser) -> None:
    """The option to stay until all runs have ended."""
    text = "stay and show progress; exit code 1 unless every run finishes"
    parser.add_argument("--wait", action="store_true", help=text)


def _sweep(options: argparse.Namespace) -> int:
    from scorebo.config.compose_many import Composer
    from scorebo.config.overrides import check_effect
    from scorebo.config.sweep import has_union, parse_sweep, sweep_configs
    from scorebo.launch.submit import submit, unfinished, with_data

    overrides = [*options.overrides, *([f"scale={options.scale}"] if options.scale else [])]
    composer = Composer(options.config_dir)
    configs = sweep_configs(overrides, composer=composer)
    check_effect(overrides, configs, sweep=True)
    # Experiments may share all their runs, so that the configurations do not name every one of them.
    names = parse_sweep(overrides, options.config_dir).get("experiment", [])
    experiment = ",".join(names) if len(names) > 1 else None
    if has_union(names, composer):
        experiment = ",".join(names)
        configs, left_out = with_data(configs)
        for reason in left_out:
            print(f"left out: {reason}")
    if options.pilot is not None and not options.dry_run:
        raise InputError("--pilot is the time that --dry-run may take: it needs --dry-run.")
    if options.dry_run:
        from scorebo.launch.estimate import plan

        print(plan(configs, experiment, 60.0 * (options.pilot or DEFAULT_PILOT_MINUTES)))
        return 0
    left = len(unfinished(configs))
    print(f"{len(configs)} runs, {len(configs) - left} of them finished already")
    if not left:
        return 0
    sweep = submit(configs, sys.argv, experiment)
    results = Path(configs[0]["results"])
    print(f"{sweep.name} submitted ({sweep.about['launcher']['name']}): {sweep.folder}")
    print(f"`scorebo status {sweep.name} --results {results}` says how it goes.")
    return wait_for(results, [sweep]) if options.wait else 0


def wait_for(results: Path, sweeps: Sequence[Sweep]) -> int:
    """Show the progress of sweeps until they end; the exit code."""
    from scorebo.launch.display import describe, wait

    unfinished = 0
    for sweep in sweeps:
        try:
            state = wait(results, sweep.name, pause=sweep.launcher.pause)
        except KeyboardInterrupt:
            where = f"{sweep.name} --results {results}"
            print(
                f"scorebo: not waiting any more; the runs go on. `scorebo status {where}` says how, "
                f"`scorebo cancel {where}` stops them.",
                file=sys.stderr,
            )
            return 130
        unfinished += len(state.runs) - len(state.of("finished"))
        print(describe(state, results))
    return 1 if unfinished else 0


def _status(options: argparse.Namespace) -> None:
    from scorebo.launch.display import describe
    from scorebo.launch.status import survey

    shown: tuple[str, list[str]] | None = None
    while True:
        state = survey(options.results, options.which)
        seen = describe(state, options.results), state.notes
        if options.json:
            told = {"counts": state.counts, "runs": [asdict(run) for run in state.runs], "notes": state.notes}
            print(json.dumps(told), flush=True)
        elif seen != shown:
            if options.watch and sys.stdout.isatty():
                print("\x1b[H\x1b[2J", end="")
            print(seen[0], flush=True)
        # Below what was shown, which may have cleared the screen; not again while nothing has changed.
        for note in state.notes if seen != shown else ():
            print(f"scorebo: {note}", file=sys.stderr)
        shown = seen
        if not options.watch or not state.of("running", "queued"):
            return
        time.sleep(max(2.0, state.pause))


def _cancel(options: argparse.Namespace) -> None:
    from scorebo.launch.status import runs_held, survey
    from scorebo.launch.submit import cancel
    from scorebo.launch.sweep import sweeps_in

    open_runs = survey(options.results, options.which, tails=False).of("queued", "running")
    if not open_runs:
        print("nothing is queued or running")
    chosen = {sweep.name for sweep in sweeps_in(options.results, options.which)}
    everything = sweeps_in(options.results)
    # A run may be in several sweeps, most of which had their turn long ago.
    held = runs_held(everything, {run.folder for run in open_runs})
    for sweep in everything:
        if sweep.name not in held or sweep.cancelled:
            continue
        if sweep.name in chosen:
            cancel(sweep)
            print(f"{sweep.name} cancelled")
        else:
            count = len(held[sweep.name])
            what = "1 run goes" if count == 1 else f"{count} runs go"
            print(f"{what} on in {sweep.name}, which was not cancelled", file=sys.stderr)
    known = set().union(*held.values())
    for run in open_runs:
        if run.folder not in known:
            why = "is not part of a sweep that goes on: stop its `scorebo run` where it runs"
            print(f"{run.label} {why}", file=sys.stderr)


def _retry(options: argparse.Namespace) -> int:
    from scorebo.launch.display import RETRIES
    from scorebo.launch.status import survey
    from scorebo.launch.submit import retry

    names = [text for text in options.overrides if "=" not in text]
    if len(names) > 1:
        raise InputError(f"Name one experiment or sweep, got {', '.join(names)}.")
    wanted = [name for name in RETRIES if getattr(options, name)]
    if not wanted:
        raise InputError("Choose the runs to retry: --failed (failed and lost ones), --cancelled, or both.")
    state = survey(options.results, names[0] if names else None, tails=False)
    runs = state.of(*(name for option in wanted for name in RETRIES[option]))
    known = [run for run in runs if run.sweep is not None]
    changes = _launcher_changes([text for text in options.overrides if "=" in text])
    sweeps = retry(known, options.results, changes, sys.argv)
    for sweep in sweeps:
        print(f"{sweep.name} submitted ({sweep.about['launcher']['name']}): {len(sweep.runs)} runs")
    if len(known) < len(runs):
        alone = len(runs) - len(known)
        print(f"{alone} runs were never part of a sweep: give their `scorebo run` command again", file=sys.stderr)
    if not runs:
        print("nothing was cancelled" if wanted == ["cancelled"] else "nothing failed")
    if "cancelled" not in wanted and (left := len(state.of("cancelled"))):
        print(f"{left} cancelled {'run is' if left == 1 else 'runs are'} left: `scorebo retry --cancelled`")
    return wait_for(options.results, sweeps) if options.wait else 0


def _launcher_changes(overrides: list[str]) -> dict[str, Any]:
    from omegaconf import OmegaConf

    for text in overrides:
        if not text.startswith(("launcher.", "workers=")):
            raise InputError(f"Only launcher.NAME=VALUE and workers=N can be changed in a retry, not '{text}'.")
    return OmegaConf.to_container(OmegaConf.from_dotlist(overrides))  # type: ignore[return-value]
