"""Which finished runs go into which archive."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from scorebo.config import available
from scorebo.config.compose_many import Composer
from scorebo.config.scale import SCALES
from scorebo.errors import InputError
from scorebo.report.figures import FIGURES
from scorebo.report.query import Query
from scorebo.report.selection import experiment_ids, selected_ids
from scorebo.store.archive.read import Archive, ArchivedRun
from scorebo.store.archive.write import is_numbered, rows_of, unused, write_archive
from scorebo.store.collect import describe_runs
from scorebo.store.sources import SUFFIX, archives_in
from scorebo.store.stored_run import refuse_conflict

# Seeds of one file in a folder of archives.
BLOCK = 10
Membership = dict[str, list[tuple[str, str]]]  # of runs in experiments, at a scale
# What runs are called that belong to no experiment.
OTHER = "runs"
# Tasks of experiments whose hyperparameters claims read, although no figure shows them.
CLAIMED = {"bo_regret": "branin"}


@dataclass(frozen=True)
class Target:
    """A file that is written, and what enters it."""

    path: Path
    experiment: str | None
    scale: str | None
    runs: list[dict[str, Any]]


def create(query: Query, out: Path, kind: str, problems: list[str]) -> list[tuple[Path, int, int]]:
    """Archive the finished runs asked for that are not archived there; returns path, runs and iterations of each file.

    Args:
        query: which runs.
        out: a file, beside which what is new later goes into one of the next name; or a folder, which gets a file for
            each experiment and block of seeds.
        kind: full or summary.
        problems: gets what could not be read.
    """
    runs = describe_runs(query.folders, problems, selected_ids(query))
    there = _archived(out, kind, problems)
    new = [run for run in runs if _is_new(run, there)]
    membership = _membership(new, query)
    shown = _with_hyperparameters(query)
    tasks = {run["run_id"]: run["benchmark"] for run in new}
    moments = {
        run
        for run, experiments in membership.items()
        if any(name in shown or CLAIMED.get(name) == tasks[run] for name, _ in experiments)
    }
    made = []
    for target in _targets(new, membership, out):
        path = unused(target.path)
        about = {"experiment": target.experiment, "scale": target.scale}
        rows = rows_of(target.runs, kind, moments, problems)
        for first in rows:  # a file is begun when there is something to put there
            made.append((path, *write_archive(path, chain([first], rows), kind, about)))
    return made


def _archived(out: Path, kind: str, problems: list[str]) -> dict[str, ArchivedRun]:
    """The runs that are in archives of this kind there, by their ids."""
    if out.suffix == SUFFIX:
        paths = [path for path in out.parent.glob(f"*{SUFFIX}") if is_numbered(path, out)]
    else:
        paths = archives_in(out, problems) if out.exists() else []
    found: dict[str, ArchivedRun] = {}
    for archive in map(Archive, paths):
        if archive.kind == kind:
            found |= {run.head["run_id"]: run for run in archive.runs(problems)}
    return found


def _is_new(run: dict[str, Any], there: dict[str, ArchivedRun]) -> bool:
    """Whether a run is not archived; one that is, with another content, is refused."""
    if run["run_id"] not in there:
        return True
    refuse_conflict(there[run["run_id"]], run["stored"])
    return False


def _membership(runs: Sequence[dict[str, Any]], query: Query) -> Membership:
    """The experiments of each run, each with its scale: that at which most of its runs are there."""
    composer = Composer(query.config_dir)
    there, tasks = {run["run_id"] for run in runs}, {run["benchmark"] for run in runs}
    found: Membership = {}
    names = [query.experiment] if query.experiment else available("experiment", query.config_dir)
    members = (member for name in names for member in composer.experiment(name).get("experiments") or [name])
    for name in dict.fromkeys(members):  # in place of a union
        ids: dict[str, frozenset[str]] = {}
        for scale in (query.scale,) if query.scale else SCALES[::-1]:
            with contextlib.suppress(InputError):  # one whose figure is drawn from small fits has no runs
                ids[scale] = experiment_ids(name, scale, composer, tasks) & there
        if ids:
            best = max(ids, key=lambda scale: len(ids[scale]))  # the first of equals
            for run in ids[best]:
                found.setdefault(run, []).append((name, best))
    return found


def _with_hyperparameters(query: Query) -> set[str]:
    """The experiments whose figures show hyperparameters."""
    composer = Composer(query.config_dir)
    names = available("experiment", query.config_dir)
    shown = {name: composer.experiment(name).get("figures") or [] for name in names}
    return {name for name, ids in shown.items() if any(_shows(figure) for figure in ids)}


def _shows(figure: str) -> bool:
    return figure in FIGURES and FIGURES[figure].source in ("hyperparameters", "moments")


def _targets(runs: Sequence[dict[str, Any]], membership: Membership, out: Path) -> list[Target]:
    """The files that the runs go into."""
    if out.suffix == SUFFIX:
        names, scales = ({found[0][which] for found in membership.values()} for which in (0, 1))
        return [Target(out, ",".join(sorted(names)) or None, ",".join(sorted(scales)) or None, list(runs))]
    groups: dict[tuple[str, str | None, int], list[dict[str, Any]]] = {}
    for run in runs:
        block = (max(run["seed"], 1) - 1) // BLOCK
        groups.setdefault((*membership.get(run["run_id"], [(OTHER, None)])[0], block), []).append(run)
    found = []
    for (experiment, scale, block), members in groups.items():
        path = out / f"{experiment}-seeds-{block * BLOCK + 1}-{(block + 1) * BLOCK}{SUFFIX}"
        found.append(Target(path, None if experiment == OTHER else experiment, scale, members))
    return found
