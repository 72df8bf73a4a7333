"""What a check of the audit is: a function from a study to findings, each with its runs and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from scorebo.report.audit.study import Study
from scorebo.report.statistics.text import ranges

# What a finding means: the study's conclusions cannot be trusted; they may be affected; a reader should know of it.
SERIOUS, WARNING, NOTE = "serious", "warning", "note"
SEVERITIES = (SERIOUS, WARNING, NOTE)
GROUPS_SHOWN = 6


@dataclass(frozen=True)
class Finding:
    """Something that a check found; findings that say the same of other runs are joined.

    Args:
        severity: `SERIOUS`, `WARNING` or `NOTE`.
        what: what was found, in a sentence.
        do: what to do about it, in a sentence.
        runs: the ids of the runs that it concerns.
        check: the id of the check.
        studies: the names of the studies in which it was found; none if it concerns runs one by one.
    """

    severity: str
    what: str
    do: str
    runs: frozenset[str]
    check: str = ""
    studies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """A check of the audit.

    Args:
        id: under which it is found.
        text: what it looks for.
        test: from a study to findings, whose `check` and `studies` are filled in afterwards.
        compares: whether it compares the methods of one study. Otherwise it is given all runs at once.
    """

    id: str
    text: str
    test: Callable[[Study], Iterable[Finding]]
    compares: bool = False


def run_words(runs: pd.DataFrame, shown: int | None = GROUPS_SHOWN) -> str:
    """Runs in few words: tasks, model, methods and seeds; those that differ in one of these only are named together."""
    methods: dict[tuple[str, str, str], list[str]] = {}
    for (task, model, method), part in runs.groupby(["benchmark", "model", "acquisition"], sort=False):
        methods.setdefault((str(task), str(model), ranges(part["seed"])), []).append(str(method))
    tasks: dict[tuple[str, str, str], list[str]] = {}
    for (task, model, own), names in methods.items():
        tasks.setdefault((model, ", ".join(names), own), []).append(task)
    groups = [f"{', '.join(on)} under {model}: {names}, seeds {own}" for (model, names, own), on in tasks.items()]
    more = "" if shown is None or len(groups) <= shown else f"; and {len(groups) - shown} more groups"
    return "; ".join(groups[:shown]) + more


def listed(words: Iterable[str], shown: int = GROUPS_SHOWN) -> str:
    """Words as an enumeration, of many the first ones."""
    found = list(words)
    return ", ".join(found[:shown]) + (f" and {len(found) - shown} more" if len(found) > shown else "")
