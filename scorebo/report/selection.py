"""Select the rows of the runs that a query asks for; runs of an experiment are matched by their identity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from scorebo.config.compose_many import Composer
from scorebo.config.scale import SCALES, at_scale
from scorebo.config.sweep import AXES, sweep_configs, sweep_ids
from scorebo.errors import InputError
from scorebo.report.query import Query
from scorebo.store import identity_nodes, run_id
from scorebo.store.collect import describe_runs, nothing_found
from scorebo.store.schema import WHO
from scorebo.store.sources import Sources, sources_text

Identities = dict[str, dict[str, Any]]  # run id -> configuration


class NoRunsError(InputError):
    """None of the runs of an experiment is there; `brief` says so without what is there instead."""

    def __init__(self, brief: str, details: str) -> None:
        super().__init__(f"{brief} {details}")
        self.brief = f"{brief}."


@dataclass(frozen=True)
class Selection:
    """The rows of the runs that were chosen.

    Args:
        query: chooses the same runs again: with the experiment and its scale, or every run that passes the filters.
        table: their rows.
        expected: how many runs the experiment has that pass the filters; without an experiment as many as are there.
        ignored: how many other runs there are.
        wanted: the ids of the runs, of an experiment also of those on the same tasks that are not there.
    """

    query: Query
    table: pd.DataFrame
    expected: int
    ignored: int
    wanted: frozenset[str]

    def __str__(self) -> str:
        ignored = f"; {self.ignored} other runs ignored" if self.ignored else ""
        filters = f" ({self.query.filters})" if self.query.filters else ""
        if self.experiment is None:
            number = f"{self.found} runs" if filters else f"all {self.found} runs"
            return f"{number} in {sources_text(self.query.folders)}{filters}{ignored}"
        what = f"experiment {self.experiment} at scale {self.scale}{filters}"
        return f"{what}: {self.found} of {self.expected} runs{ignored}"

    @property
    def experiment(self) -> str | None:
        """The experiment whose runs these are; None where they may be of any or of none."""
        return self.query.experiment

    @property
    def scale(self) -> str | None:
        """The experiment's scale."""
        return self.query.scale

    @property
    def found(self) -> int:
        """How many of the wanted runs there are."""
        return len(self.wanted & set(self.table["run_id"]))

    @property
    def ended(self) -> int:
        """How many of the wanted runs that are there have ended."""
        last = self.table.drop_duplicates("run_id", keep="last")
        return int(last.loc[last["run_id"].isin(self.wanted), "finished"].astype(bool).sum())

    @property
    def missing(self) -> list[str]:
        """What a reader of the figure must know of runs that are not there, or have not ended; nothing if all have."""
        unfinished = self.found - self.ended
        if self.experiment is None or (self.found == self.expected and not unfinished):
            return []
        words = f"{unfinished} of them not finished" if self.found < self.expected else f"{unfinished} not finished"
        end = f", {words}" if unfinished else ""
        return [f"Drawn from {self.found} of {self.expected} runs of the experiment{end}."]


def select(
    table: pd.DataFrame, query: Query, *, composer: Composer | None = None, total: int | None = None
) -> Selection:
    """The rows of a collected table that belong to the runs of the query's experiment, or all of them without one.

    Args:
        table: of `collect`, narrowed by the query's filters.
        query: its experiment is looked for at its scale, by default at the one of which most runs are there, the
            larger of two with as many.
        composer: of an earlier selection, whose compositions are used again.
        total: how many runs there are with those that do not pass the filters; by default those in the table.
    """
    runs = table.drop_duplicates("run_id")
    there = frozenset(runs["run_id"])
    total = len(there) if total is None else total
    if query.experiment is None:
        _refuse_different_settings(table, query.folders)
        again = replace(query, everything=True)
        return Selection(again, table, len(there), total - len(there), there)
    composer = composer or Composer(query.config_dir)
    best, wanted = wanted_runs(runs, query, composer)
    found = (wanted | _shown_ids(query, best, composer, set(runs["benchmark"]))) & there
    if not wanted & there:
        tasks = set(runs["benchmark"])
        configs = {scale: experiment_runs(query.experiment, scale, composer, tasks, query) for scale in _scales(query)}
        raise _nothing(query, configs, runs)
    rows = table[table["run_id"].isin(found)].reset_index(drop=True)
    axes = axes_of(composer.experiment(query.experiment), best, query)
    expected = math.prod(len(values) for values in axes.values()) if "benchmark" in axes else len(wanted)
    return Selection(replace(query, scale=best), rows, expected, total - len(found), wanted)


def selected_ids(query: Query) -> set[str] | None:
    """The ids of the stored runs asked for, also of those without records, by their stored configurations; None: all.

    Unlike `select` it takes runs of one name with different settings: what is made of them averages nothing.
    """
    if query.experiment_or(None) is None and not query.filters:
        return None
    problems: list[str] = []
    found = describe_runs(query.folders, problems)
    if not found:
        raise nothing_found(query.folders, found, problems, "")
    table = query.narrow(pd.DataFrame(found))
    return set((select(table, query).table if query.experiment else table)["run_id"])


def wanted_runs(runs: pd.DataFrame, query: Query, composer: Composer) -> tuple[str, frozenset[str]]:
    """The scale at which most of the experiment's runs are there, of a row each, and the ids of its runs at it."""
    experiment = str(query.experiment)
    there, tasks = set(runs["run_id"]), set(runs["benchmark"])
    possible = possible_runs(runs, composer.experiment(experiment), query.challenger)
    wanted: dict[str, frozenset[str]] = {}
    for scale in _scales(query):
        wanted[scale] = experiment_ids(experiment, scale, composer, tasks, query)
        if wanted[scale] >= possible:
            break  # no other scale can have more
    best = max(wanted, key=lambda scale: len(wanted[scale] & there))  # the first of equals
    return best, wanted[best]


def _scales(query: Query) -> tuple[str, ...]:
    """The scales at which an experiment's runs are looked for, the largest first."""
    return SCALES[::-1] if query.scale is None else (query.scale,)


def possible_runs(runs: pd.DataFrame, experiment: Mapping[str, Any], challenger: str | None = None) -> set[str]:
    """The ids of the runs, a row each, that could be an experiment's at some scale, by what it says of their names."""
    for axis, key in AXES.items():
        names = {name for scale in SCALES for name in at_scale(experiment, scale).get(key) or []}
        if names:
            runs = runs[runs[axis].isin(names | ({challenger} if axis == "acquisition" else set()))]
    return set(runs["run_id"])


def _refuse_different_settings(table: pd.DataFrame, results: Sources) -> None:
    """Runs of one name must differ in nothing but their seed: otherwise two configurations would be averaged."""
    first: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
    for run in describe_runs(results, [], set(table["run_id"])):
        own = _flat(identity_nodes(run["stored"].config()))
        del own["seed"]
        names = tuple(run[name] for name in WHO[:-1])
        folder, other = first.setdefault(names, (run["stored"].name, own))
        differ = [key for key in own | other if own.get(key) != other.get(key)]
        if differ:
            listed = ", ".join(f"{key}={own.get(key)} and {other.get(key)}" for key in differ[:5])
            raise InputError(
                f"Runs of {' '.join(names)} have different settings: {run['stored'].name} and {folder} have {listed}. "
                "Their average would mean nothing: choose an experiment's runs with --experiment, or some of these "
                "with --seeds, --benchmark, --acquisition or --model, or keep them in separate folders."
            )


def _shown_ids(query: Query, scale: str, composer: Composer, tasks: Collection[str]) -> frozenset[str]:
    """The ids of runs that the query's experiment shows beside its own where they are there."""
    names = composer.experiment(str(query.experiment)).get("shown_acquisitions") or []
    names = [name for name in names if query.takes("acquisition", name)]
    own = replace(query, challenger=None)
    overrides = _overrides(str(query.experiment), scale, composer, tasks, own) if names else []
    if not overrides:
        return frozenset()
    others = [override for override in overrides if not override.startswith("acquisition=")]
    return frozenset(sweep_ids([*others, f"experiment.acquisitions=[{','.join(names)}]"], composer))


def experiment_ids(
    experiment: str, scale: str, composer: Composer, tasks: Collection[str], query: Query | None = None
) -> frozenset[str]:
    """The ids of `experiment_runs`."""
    overrides = _overrides(experiment, scale, composer, tasks, query)
    return frozenset(sweep_ids(overrides, composer) if overrides else ())


def experiment_runs(
    experiment: str, scale: str, composer: Composer, tasks: Collection[str], query: Query | None = None
) -> Identities:
    """The runs of an experiment on those of its tasks that are among `tasks`, and that pass the query's filters."""
    overrides = _overrides(experiment, scale, composer, tasks, query)
    configs = sweep_configs(overrides, composer=composer) if overrides else []
    return {run_id(config): config for config in configs}


def _overrides(
    experiment: str, scale: str, composer: Composer, tasks: Collection[str], query: Query | None
) -> list[str]:
    """The sweep of `experiment_runs`; empty if there are none."""
    node = composer.experiment(experiment)
    axes, own = axes_of(node, scale, query), axes_of(node, scale, None)
    more = []
    if query is not None and query.challenger and query.challenger not in own.get("acquisition", [query.challenger]):
        own["acquisition"] = [*own["acquisition"], query.challenger]
        more = [f"experiment.acquisitions=[{','.join(own['acquisition'])}]"]
    if "benchmark" in axes:
        axes["benchmark"] = [task for task in axes["benchmark"] if task in tasks]
        if not all(axes.values()):
            return []
    chosen = [f"{axis}={','.join(map(str, values))}" for axis, values in axes.items() if values != own[axis]]
    return [f"experiment={experiment}", f"scale={scale}", *more, *chosen]


def axes_of(experiment: Mapping[str, Any], scale: str, query: Query | None) -> dict[str, list[Any]]:
    """The tasks, models, methods and seeds of an experiment at a scale, as far as it names them, that pass filters.

    The query's challenger is one of the methods.
    """
    node = at_scale(experiment, scale)
    axes = {axis: node[key] for axis, key in AXES.items() if node.get(key)}
    axes["seed"] = range(1, int(node.get("seeds") or 0) + 1)
    if query is not None and query.challenger and "acquisition" in axes:
        axes["acquisition"] = list(dict.fromkeys([*axes["acquisition"], query.challenger]))
    return {axis: [v for v in values if query is None or query.takes(axis, v)] for axis, values in axes.items()}


def _nothing(query: Query, wanted: Mapping[str, Identities], table: pd.DataFrame) -> NoRunsError:
    """What was looked for, what is there instead, and in which settings a run that comes near differs."""
    runs = table[[*WHO, "run_id"]].drop_duplicates("run_id").to_dict("records")
    counts = Counter(" ".join(run[name] for name in WHO[:-1]) for run in runs)
    held = ", ".join(f"{who} ({count})" for who, count in list(counts.items())[:6])
    more = f" and {len(counts) - 6} more kinds" if len(counts) > 6 else ""
    which = f" that pass the filters ({query.filters})" if query.filters else ""
    return NoRunsError(
        f"None of the runs of experiment={query.experiment}{which} is in {sources_text(query.folders)}",
        f"(looked at scale {' and '.join(wanted)}). There are runs of: {held}{more}."
        f"{_near(runs, wanted, query.folders)} --all draws whatever is there.",
    )


def _near(runs: Sequence[Mapping[Any, Any]], wanted: Mapping[str, Identities], results: Sources) -> str:
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
            listed = ", ".join(different_settings(there["stored"].config(), config)[:3])
            return f" {there['stored'].name} ({' '.join(who[:-1])}) has {listed} (scale {scale})."
    return ""


def different_settings(config: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The settings in which a run's configuration differs from another's, in words."""
    own, wanted = (_flat(identity_nodes(each)) for each in (config, other))
    differ = [key for key in wanted | own if own.get(key) != wanted.get(key)]
    return [f"{key}={own.get(key)} instead of {wanted.get(key)}" for key in differ]


def _flat(node: Any, where: str = "") -> dict[str, Any]:
    if not isinstance(node, Mapping):
        return {where: node}
    parts = [_flat(value, f"{where}.{key}" if where else str(key)) for key, value in node.items()]
    return {key: value for part in parts for key, value in part.items()}
