"""The runs that the audit looks at: those of an experiment, or all that were selected, with their settings."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from scorebo.config import available, config_file
from scorebo.errors import InputError
from scorebo.report.evidence import Evidence
from scorebo.report.query import Query
from scorebo.report.selection import Selection
from scorebo.store.checksummed import canonical_json
from scorebo.store.collect import describe_runs, sources_text
from scorebo.store.identity import identity_nodes
from scorebo.store.schema import NAMES, WHO


class StoredRuns:
    """What is stored with runs besides their records; read once, when it is asked for."""

    def __init__(self, query: Query, run_ids: Collection[str]) -> None:
        self._query, self._ids = query, run_ids

    @cached_property
    def _described(self) -> list[dict[str, Any]]:
        return describe_runs(self._query.folders, [], self._ids)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """The settings that decide the runs' numbers as JSON texts, a row a run (its id), a column a setting.

        A setting that a run does not have is an empty text. Names and the seed are not among them.
        """
        variants: dict[str, int] = {}  # runs that differ in their seed alone are one
        settings: list[dict[str, str]] = []
        own: dict[str, int] = {}
        for run in self._described:
            nodes = identity_nodes(run["stored"].config())
            del nodes["seed"]
            place = variants.setdefault(canonical_json(nodes), len(settings))
            if place == len(settings):
                settings.append(dict(_flat(nodes)))
            own[run["run_id"]] = place
        found = pd.DataFrame(settings).fillna("").drop(columns=[f"{node}.name" for node in NAMES], errors="ignore")
        return found.iloc[list(own.values())].set_axis(list(own), axis=0)

    @cached_property
    def sessions(self) -> dict[str, dict[str, Any]]:
        """The last start of each run: where and with what it was computed; empty if that is not known."""
        return {run["run_id"]: run["stored"].session() for run in self._described}


@dataclass(frozen=True)
class Study:
    """Runs that are compared with each other.

    Args:
        name: which these are, in words.
        query: how they were selected.
        table: their records, of `collect`.
        stored: what else is stored with them, and perhaps with others.
        experiment: whose runs they are, where they are all of one.
        axes: of an experiment the tasks, methods and seeds that it has, and the models if it names them.
        problems: what could not be read.
    """

    name: str
    query: Query
    table: pd.DataFrame
    stored: StoredRuns
    experiment: str | None = None
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    problems: Sequence[str] = ()

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run, with its id as index: `WHO`, and whether it is finished."""
        last = self.table.drop_duplicates("run_id", keep="last").set_index("run_id")
        return last[[*WHO, "finished"]].astype({"finished": bool})

    @cached_property
    def settings(self) -> pd.DataFrame:
        """The runs' settings as JSON texts, those alone that not all of them share; see `StoredRuns`."""
        found = self.stored.settings.reindex(self.runs.index, fill_value="")
        return found.loc[:, found.nunique(dropna=False) > 1]

    def setting(self, name: str) -> pd.Series:
        """One setting of every run as it is stored; None for those that do not have it."""
        texts = self.stored.settings.reindex(self.runs.index, fill_value="").get(name)
        values = [json.loads(text) if text else None for text in ([""] * len(self.runs) if texts is None else texts)]
        return pd.Series(values, self.runs.index, dtype=object)


def studies_of(evidence: Evidence, chosen: Sequence[Selection] | None = None) -> tuple[Study, list[Study]]:
    """All runs asked for as one study, and the studies they consist of.

    An experiment that was asked for is one study, and so are runs chosen by `--all` or filters. Otherwise the runs of
    each experiment are a study, and the runs of none are one together.

    Args:
        evidence: the runs.
        chosen: experiments, in place of all that have runs; other runs are then left out.
    """
    query = evidence.query
    explicit = query.explicit and not query.experiment
    only = chosen is not None or bool(query.scale or query.experiment)
    if chosen is None:
        chosen = [] if explicit else evidence.members(query.experiment) if query.experiment else evidence.experiments()
    table = _plain(evidence.table)
    own = table["run_id"].isin(frozenset().union(*(each.table["run_id"].unique() for each in chosen)))
    if only and not chosen:
        raise InputError(f"No experiment has runs at scale {query.scale} in {sources_text(query.folders)}.")
    if only:
        table, own = table[own].reset_index(drop=True), own[own].reset_index(drop=True)
    stored = StoredRuns(query, set(table["run_id"].unique()))
    whole = Study(_words(query), query, table, stored, problems=evidence.problems)
    if explicit or not chosen:
        return whole, [whole]
    parts = [_of_experiment(evidence, each, stored) for each in _largest(chosen)]
    if not own.all():
        parts.append(Study("runs of no experiment", query, table[~own].reset_index(drop=True), stored))
    return whole, parts


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """A table without what pandas would copy with each part of it; a summary has no noiseless values."""
    plain = table.copy(deep=False)
    if "f" not in plain:
        plain["f"] = np.nan
    plain.attrs = {}
    return plain


def _words(query: Query) -> str:
    return f"runs selected by {query.filters}" if query.filters else "all runs"


def _of_experiment(evidence: Evidence, chosen: Selection, stored: StoredRuns) -> Study:
    name = f"experiment {chosen.experiment} at scale {chosen.scale}"
    return Study(name, chosen.query, _plain(chosen.table), stored, chosen.experiment, evidence.axes(chosen))


def _largest(chosen: Sequence[Selection]) -> list[Selection]:
    """The experiments without those whose runs are all among another's, which compares them too."""
    kept: list[tuple[Selection, set[str]]] = []
    for each in sorted(chosen, key=lambda each: -each.found):  # of equals the first
        own = set(each.table["run_id"].unique())
        if not any(own <= other for _, other in kept):
            kept.append((each, own))
    return [each for each, _ in kept]


def _flat(node: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every setting below a node by its path, as JSON."""
    if not isinstance(node, Mapping):
        yield where, json.dumps(node)
        return
    for key, value in node.items():
        yield from _flat(value, f"{where}.{key}" if where else str(key))


@functools.cache
def config_content(group: str, name: str, config_dir: Path | None) -> dict[str, Any]:
    """The content of a config file, as it is written; empty if there is none of the name."""
    if name not in available(group, config_dir):
        return {}
    return dict(yaml.safe_load(config_file(group, name, config_dir).read_text(encoding="utf-8")) or {})
