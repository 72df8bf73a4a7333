"""From configurations to a sweep in the hands of its launcher; and again for what failed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorebo.data.sources import why_missing
from scorebo.errors import InputError
from scorebo.launch.base import Launcher, load_launcher
from scorebo.launch.finished_runs import FinishedRuns
from scorebo.launch.status import RunStatus, survey
from scorebo.launch.sweep import SWEEPS, Sweep, sweeps_in
from scorebo.store import RunStore

Config = dict[str, Any]


def unfinished(configs: Sequence[Mapping[str, Any]]) -> list[int]:
    """The runs that are not finished; a folder in another format, or of another run, is refused."""
    folders = [str(RunStore(".", config).folder) for config in configs]
    checked = FinishedRuns(Path(configs[0]["results"]))
    finished, problems = checked.finished(folders)
    if checked.damaged or problems:
        raise InputError([*checked.damaged, *problems.values()][0])
    return [index for index, folder in enumerate(folders) if folder not in finished]


def in_hand(configs: Sequence[Mapping[str, Any]], experiment: str) -> list[RunStatus]:
    """Those of the runs that a sweep of the experiment has before it, or is at."""
    results = Path(configs[0]["results"])
    if not any(experiment in sweep.experiments for sweep in sweeps_in(results)):
        return []
    folders = {str(RunStore(".", config).folder) for config in configs}
    found = survey(results, experiment, tails=False).of("running", "queued")
    return [run for run in found if run.folder in folders]


def with_data(configs: Sequence[Config]) -> tuple[list[Config], list[str]]:
    """The runs on tasks whose data are there, and for every other task why it is left out."""
    tasks = dict.fromkeys(config["benchmark"]["name"] for config in configs)
    reasons = {task: reason for task in tasks if (reason := why_missing(task))}
    kept = [config for config in configs if config["benchmark"]["name"] not in reasons]
    return kept, [f"{task}, {reason}" for task, reason in reasons.items()]


def check_launcher(configs: Sequence[Mapping[str, Any]]) -> Launcher:
    """The launcher of a sweep, its settings checked."""
    if not configs:
        raise InputError("There is nothing in this sweep.")
    launcher = load_launcher(configs[0]["launcher"], os.getcwd())
    launcher.check(max(int(config["threads"]) for config in configs), configs[0].get("workers"))
    return launcher


def submit(configs: Sequence[Mapping[str, Any]], command: Sequence[str], experiment: str | None = None) -> Sweep:
    """Freeze the configurations, hand what is unfinished to the launcher, and return at once; see `Sweep.create`."""
    launcher = check_launcher(configs)
    launcher.check_machine()
    left = unfinished(configs)
    sweep = Sweep.create(configs, command, experiment)
    if left:
        launcher.submit(sweep, left)
    return sweep


def cancel(sweep: Sweep) -> None:
    """Stop a sweep; what its runs have recorded stays."""
    sweep.cancel()
    sweep.launcher.cancel(sweep)


def retry(
    runs: Sequence[RunStatus], results: Path, overrides: Mapping[str, Any], command: Sequence[str]
) -> list[Sweep]:
    """Submit runs again, with their frozen configurations, a new sweep for each that they came from.

    Args:
        runs: of a survey; each must have been part of a sweep.
        results: root of the run folders.
        overrides: nodes that differ from the frozen ones: `launcher` (options that change), `workers`.
        command: for the record.
    """
    groups: dict[str, list[int]] = {}
    for run in runs:
        if run.sweep is not None and run.index is not None:
            groups.setdefault(run.sweep, []).append(run.index)
    again = []
    for name, indices in groups.items():
        old = Sweep(results.resolve() / SWEEPS / name)
        configs = [old.config(index) | {"results": str(results)} for index in indices]
        for config in configs:
            config.update(overrides, launcher=config["launcher"] | overrides.get("launcher", {}))
        # All are checked before the first is submitted: a mistake in one of them leaves nothing half done.
        check_launcher(configs).check_machine()
        unfinished(configs)
        again.append((configs, old.about["experiment"]))
    return [submit(configs, command, experiment) for configs, experiment in again]
