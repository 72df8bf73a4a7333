"""Which of the stored runs belong to an experiment: by their identity, so that all others in the folder are ignored."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.composer import Composer
from scorebo.errors import InputError, check_choice
from scorebo.experiments import AXES, sweep_configs, sweep_ids
from scorebo.scales import SCALES, at_scale
from scorebo.store import identity_nodes, run_id
from scorebo.store.collect import describe_runs
from scorebo.store.columns import WHO
from scorebo.store.stored_config import read_config

if TYPE_CHECKING:
    import pandas as pd

Identities = dict[str, dict[str, Any]]  # run id -> configuration


@dataclass(frozen=True)
class Selection:
    """The rows of an experiment's runs at a scale; how many of its runs there are, and how many others.

    `wanted` are the ids of all its runs on the tasks of which there are any, whether there or not.
    """

    table: pd.DataFrame
    experiment: str
    scale: str
    found: int
    expected: int
    ignored: int
    wanted: frozenset[str] = frozenset()

    def __str__(self) -> str:
        ignored = f"; {self.ignored} other runs ignored" if self.ignored else ""
        return f"experiment {self.experiment} at scale {self.scale}: {self.found} of {self.expected} runs{ignored}"

    @property
    def ended(self) -> int:
        """How many of the runs that are there have ended."""
        return int(self.table.drop_duplicates("run_id", keep="last")["finished"].astype(bool).sum())

    @property
    def missing(self) -> list[str]:
        """What a reader of the figure must know of runs that are not there, or have not ended; nothing if all have."""
        unfinished = self.found - self.ended
        if self.found == self.expected and not unfinished:
            return []
        words = f"{unfinished} of them not finished" if self.found < self.expected else f"{unfinished} not finished"
        end = f", {words}" if unfinished else ""
        return [f"Drawn from {self.found} of {self.expected} runs of the experiment{end}."]


def select(
    table: pd.DataFrame,
    experiment: str,
    scale: str | None = None,
    *,
    results: Path,
    config_dir: Path | None = None,
    composer: Composer | None = None,
) -> Selection:
    """The rows of a collected table that belong to the runs of an experiment.

    Args:
        table: of `collect`.
        experiment: its name.
        scale: smoke, small or paper; by default the one of which most runs are there, the larger of two with as many.
        results: where the table was collected, for what is said when there are no such runs.
        config_dir: a folder with the user's own config groups.
        composer: of an earlier selection, whose compositions are used again; it has its own `config_dir`.
    """
    scales = SCALES[::-1] if scale is None else (check_choice("scale", scale, SCALES),)
    there = set(table["run_id"])
    composer = composer or Composer(config_dir)
    tasks = set(table["benchmark"])
    possible = _possible(table, composer.experiment(experiment))
    wanted: dict[str, frozenset[str]] = {}
    for name in scales:
        wanted[name] = experiment_ids(experiment, name, composer, tasks)
        if wanted[name] >= possible:
            break  # no other scale can have more
    best = max(wanted, key=lambda name: len(wanted[name] & there))  # the first of equals
    found = wanted[best] & there
    if not found:
        configs = {name: experiment_runs(experiment, name, composer, tasks) for name in scales}
        raise InputError(_nothing(experiment, configs, results, table))
    rows = table[table["run_id"].isin(found)].reset_index(drop=True)
    expected = count_runs(composer.experiment(experiment), best)
    return Selection(rows, experiment, best, len(found), expected, len(there - found), wanted[best])


def _possible(table: pd.DataFrame, experiment: Mapping[str, Any]) -> set[str]:
    """The ids of the runs in a table that could be an experiment's at some scale, by what it says of their names."""
    runs = table.drop_duplicates("run_id")
    for axis, key in AXES.items():
        names = {name for scale in SCALES for name in at_scale(experiment, scale).get(key) or []}
        if names:
            runs = runs[runs[axis].isin(names)]
    return set(runs["run_id"])


def select_all(table: pd.DataFrame, results: Path) -> pd.DataFrame:
    """The table itself, if runs of one name differ in nothing but their seed.

    Otherwise two versions of a configuration would be averaged; the settings in which they differ are named.
    """
    first: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
    there = set(table["run_id"])
    for run in describe_runs(results, []):
        if run["run_id"] not in there:
            continue
        own = _flat(identity_nodes(read_config(run["folder"] / "config.yaml")))
        del own["seed"]
        names = tuple(run[name] for name in WHO[:-1])
        folder, other = first.setdefault(names, (run["folder"].name, own))
        differ = [key for key in own | other if own.get(key) != other.get(key)]
        if differ:
            listed = ", ".join(f"{key}={own.get(key)} and {other.get(key)}" for key in differ[:5])
            raise InputError(
                f"Runs of {' '.join(names)} have different settings: {run['folder'].name} and {folder} have {listed}. "
                "Their average would mean nothing: choose an experiment's runs, or keep them in separate folders."
            )
    return table


def experiment_ids(experiment: str, scale: str, composer: Composer, tasks: Collection[str]) -> frozenset[str]:
    """The ids of `experiment_runs`."""
    overrides = _overrides(experiment, scale, composer, tasks)
    return frozenset(sweep_ids(overrides, composer) if overrides else ())


def experiment_runs(experiment: str, scale: str, composer: Composer, tasks: Collection[str]) -> Identities:
    """The runs of an experiment on those of its tasks that are among `tasks`."""
    overrides = _overrides(experiment, scale, composer, tasks)
    configs = sweep_configs(overrides, composer=composer) if overrides else []
    return {run_id(config): config for config in configs}


def _overrides(experiment: str, scale: str, composer: Composer, tasks: Collection[str]) -> list[str]:
    """The sweep of an experiment on those of its tasks that are among `tasks`; empty if none is."""
    own = at_scale(composer.experiment(experiment), scale).get("benchmarks") or []
    chosen = [task for task in own if task in tasks]
    if own and not chosen:
        return []
    return [f"experiment={experiment}", f"scale={scale}"] + ([f"benchmark={','.join(chosen)}"] if chosen else [])


def count_runs(experiment: Mapping[str, Any], scale: str) -> int:
    """How many runs an experiment has at a scale, those on tasks that are not available included."""
    node = at_scale(experiment, scale)
    return math.prod(len(node.get(axis) or [None]) for axis in AXES.values()) * int(node["seeds"])


def _nothing(experiment: str, wanted: Mapping[str, Identities], results: Path, table: pd.DataFrame) -> str:
    """What was looked for, what is there instead, and in which settings a run that comes near differs."""
    runs = table[[*WHO, "run_id"]].drop_duplicates("run_id").to_dict("records")
    counts: dict[str, int] = {}
    for run in runs:
        who = " ".join(run[name] for name in WHO[:-1])
        counts[who] = counts.get(who, 0) + 1
    held = ", ".join(f"{who} ({count})" for who, count in list(counts.items())[:6])
    more = f" and {len(counts) - 6} more kinds" if len(counts) > 6 else ""
    return (
        f"None of the runs of experiment={experiment} is in {results} (looked at scale {' and '.join(wanted)}). "
        f"There are runs of: {held}{more}.{_near(runs, wanted, results)} --all draws whatever is there."
    )


def _near(runs: Sequence[Mapping[Any, Any]], wanted: Mapping[str, Identities], results: Path) -> str:
    """How the first run that has the names and the seed of a wanted one differs from it."""
    named = {
        (*(config[name]["name"] for name in WHO[:-1]), config["seed"]): (scale, config)
        for scale, identities in reversed(list(wanted.items()))
        for config in reversed(list(identities.values()))
    }  # of several the first
    for run in runs:
        if (who := tuple(run[name] for name in WHO)) in named:
            scale, config = named[who]
            (there,) = describe_runs(results, [], {run["run_id"]})
            own, other = (
                _flat(nodes) for nodes in (identity_nodes(config), read_config(there["folder"] / "config.yaml"))
            )
            differ = [key for key in own | other if own.get(key) != other.get(key)]
            listed = ", ".join(f"{key}={other.get(key)} instead of {own.get(key)}" for key in differ[:3])
            return f" {there['folder'].name} ({' '.join(who[:-1])}) has {listed} (scale {scale})."
    return ""


def _flat(node: Any, where: str = "") -> dict[str, Any]:
    if not isinstance(node, Mapping):
        return {where: node}
    parts = [_flat(value, f"{where}.{key}" if where else str(key)) for key, value in node.items()]
    return {key: value for part in parts for key, value in part.items()}
