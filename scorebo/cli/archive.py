"""The command `archive`: parse, call, print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError

if TYPE_CHECKING:
    from scorebo.cli.command import Add
    from scorebo.store.stored_run import StoredRun

EXAMPLES = """examples:
  scorebo archive create --results results --experiment al_mll --out al_mll.parquet
  scorebo archive create --results results --out archives --kind summary
  scorebo archive list archives
  scorebo archive verify al_mll.parquet --replay 3
  scorebo archive merge cluster.parquet laptop.parquet --out both.parquet
  scorebo archive extract al_mll.parquet --out results

An archive is one file of finished runs that every command takes in place of their folders, e.g. `--results FILE`. A
full one (the default) holds all of a run, to be replayed or extracted; a summary what figures, claims and comparisons
read, in single precision. Archives are never changed: `create` again adds the runs that are new in a file of the next
name (al_mll-2.parquet). With --out DIR there is a file for each experiment and ten seeds. `sweep` and `status` take the
runs of full archives that lie in the results folder for finished ones."""


def add_commands(add: Add) -> None:
    """Add the parser of the command."""
    from scorebo.cli.report import add_selection

    archive = add("archive", "Pack finished runs into files that travel; list, check, merge, unpack.", EXAMPLES, _help)
    actions = archive.add_subparsers(title="actions", required=True, metavar="ACTION")

    create = actions.add_parser("create", help="archive finished runs")
    create.add_argument("--out", type=Path, required=True, metavar="FILE|DIR", help="FILE.parquet, or a folder")
    create.add_argument("--kind", default="full", metavar="KIND", help="full (the default) or summary")
    add_selection(create, "all of them")
    create.set_defaults(command=_create)

    listing = actions.add_parser("list", help="show what is in archives")
    _add_files(listing)
    listing.add_argument("--json", action="store_true", help="for programs, with every run")
    listing.set_defaults(command=_list)

    verify = actions.add_parser("verify", help="check every checksum; exit code 1 if one does not match")
    _add_files(verify)
    verify.add_argument("--replay", type=int, default=0, metavar="K", help="repeat K iterations too, chosen at random")
    verify.add_argument("--seed", type=int, default=0, metavar="SEED", help="of that choice")
    verify.set_defaults(command=_verify)

    merge = actions.add_parser("merge", help="make one archive of several")
    _add_files(merge)
    merge.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.parquet")
    merge.set_defaults(command=_merge)

    extract = actions.add_parser("extract", help="restore the run folders of full archives")
    _add_files(extract)
    extract.add_argument("--out", type=Path, required=True, metavar="DIR", help="the results folder")
    extract.set_defaults(command=_extract)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archives", type=Path, nargs="+", metavar="FILE|DIR", help="archives, or folders of them")


def _help(options: argparse.Namespace) -> None:
    raise InputError("Which action? create, list, verify, merge or extract.")


def _create(options: argparse.Namespace) -> None:
    from scorebo.cli.report import query_of
    from scorebo.report.archives import create

    problems: list[str] = []
    made = create(query_of(options), options.out, options.kind, problems)
    _warn(problems)
    for path, runs, iterations in made:
        size = path.stat().st_size
        print(f"{path}: {runs} runs, {iterations} iterations, {size / 1e6:.2f} MB ({size / iterations:.0f} bytes each)")
    if not made:
        print("nothing new: every finished run is archived already")


def _list(options: argparse.Namespace) -> int:
    from scorebo.store.archive.manage import contents, describe

    problems: list[str] = []
    found = contents(options.archives, problems)
    print(json.dumps([archive._asdict() for archive in found], default=str) if options.json else describe(found))
    _warn(problems)
    return int(bool(problems))


def _verify(options: argparse.Namespace) -> int:
    from scorebo.store.archive.manage import verify

    problems: list[str] = []
    runs = verify(options.archives, problems)
    _warn(problems)
    if not problems:
        print(f"{len(runs)} runs: every checksum matches")
    return int(_replay(runs, options.replay, options.seed) or bool(problems))


def _replay(runs: Sequence[StoredRun], count: int, seed: int) -> bool:
    """Repeat iterations chosen at random; whether one differs."""
    import random

    from scorebo.store.resume import RUN_DIGITS
    from scorebo.threads import limit_threads

    full = [run for run in runs if run.exact]
    if count and not full:
        raise InputError("--replay needs a full archive: a summary has no records to compare with.")
    if not count:
        return False
    limit_threads(1)
    from scorebo.run.replay import replay

    differ = False
    choose = random.Random(seed)
    for _ in range(count):
        run = choose.choice(full)
        identity = str(run.describe()["run_id"])
        iteration = choose.randint(1, len(run.reading(identity)[0].records))
        done = replay(run, iteration)
        differ |= bool(done.differences)
        outcome = f"differs: {'; '.join(done.differences[:3])}" if done.differences else "bit-equal, timings apart"
        print(f"{identity[:RUN_DIGITS]} ({run.place.parent.name}), iteration {iteration}: {outcome}", flush=True)
    return differ


def _merge(options: argparse.Namespace) -> None:
    from scorebo.store.archive.manage import merge

    problems: list[str] = []
    runs, given = merge(options.archives, options.out, problems)
    _warn(problems)
    print(
        f"{options.out}: {runs} runs ({given - runs} of {given} were copies), {options.out.stat().st_size / 1e6:.2f} MB"
    )


def _extract(options: argparse.Namespace) -> int:
    from scorebo.store.archive.manage import extract

    problems: list[str] = []
    restored, there = extract(options.archives, options.out, problems)
    _warn(problems)
    print(f"{options.out}: {restored} runs restored{f', {there} were there already' if there else ''}")
    return int(bool(problems))


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        print(f"scorebo: {problem}", file=sys.stderr)
