"""The command `data`: parse, call, print."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorebo.cli.command import Add

EXAMPLES = """examples:
  scorebo data list
  scorebo data check dna
  scorebo data fetch dna lcbench

Data are looked for in $SCOREBO_DATA, or else in data/ of the working folder. Nothing is downloaded unless asked for.
list: every data set, its tasks, license and citation, whether it is there, and how to get it. check: every file, those
of the named sets or of all; exit code 1 if one is damaged, or a named one missing. fetch: what is not there, from its
public source, verified; what was broken off is resumed."""


def add_commands(add: Add) -> None:
    """Add the parser of the command."""
    data = add("data", "Show, check or fetch the data of the real tasks.", EXAMPLES, _data)
    data.add_argument("action", metavar="ACTION", help="list, check or fetch")
    data.add_argument("names", nargs="*", default=[], metavar="NAME", help="data sets; for fetch at least one")


def _data(options: argparse.Namespace) -> int:
    from scorebo.errors import check_choice

    actions = {"list": _list, "check": _check, "fetch": _fetch}
    return actions[check_choice("action", options.action, actions)](options.names)


def _list(names: list[str]) -> int:
    from scorebo.data.sources import DAMAGED, MISSING, data_folder, dataset, datasets, how_to_get, states

    print(f"Data are looked for in {data_folder().resolve()}.")
    for data in map(dataset, names or datasets()):
        found = sorted(set(states(data).values()))
        to_do = f"; {how_to_get(data)}" if {MISSING, DAMAGED} & set(found) else ""
        lines = [
            f"{data.what}; for {', '.join(data.tasks)}",
            f"in {data.path()}: {', '.join(found)}{to_do}",
            f"license: {data.license}",
            f"cite: {data.citation}",
        ]
        print(f"\n{data.name}")
        for line in lines:
            print(textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    return 0


def _check(names: list[str]) -> int:
    from scorebo.data.sources import DAMAGED, MISSING, dataset, datasets, find, state

    bad = 0
    for data in map(dataset, names or datasets()):
        for source in data.files:
            found = state(data, source)
            print(f"{find(data, source) or data.path() / source.name}: {found}")
            bad += found == DAMAGED or (found == MISSING and bool(names))
    return int(bad > 0)


def _fetch(names: list[str]) -> int:
    from scorebo.data.fetch import fetch
    from scorebo.data.sources import dataset, datasets
    from scorebo.errors import InputError

    if not names:
        raise InputError(f"Which data set? Give one or more of {', '.join(datasets())}.")
    for data in map(dataset, names):
        print(f"{data.name}: {data.license}. Cite: {data.citation}.")
        fetch(data, print)
    return 0
