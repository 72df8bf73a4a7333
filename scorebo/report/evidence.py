"""The runs that a query asks for, collected once; figures, comparisons and claims take theirs from here."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.config import available
from scorebo.config.compose_many import Composer
from scorebo.config.scale import SCALES, at_scale
from scorebo.errors import InputError
from scorebo.report.query import Query
from scorebo.report.reference import outdated_runs, refusals
from scorebo.report.selection import NoRunsError, Selection, axes_of, possible_runs, select, wanted_runs
from scorebo.report.statistics import health
from scorebo.report.style import use_displays
from scorebo.store import collect
from scorebo.store.collect import describe_runs
from scorebo.store.moments import hyperparameter_table


class MissingRunsError(Exception):
    """The runs that a claim or a figure is about are not there; says which."""


def collect_asked(query: Query) -> pd.DataFrame:
    """The records of all runs there are; reference runs of other versions than the present ones are refused.

    As of `collect`, what is left out is named in `table.attrs["problems"]`.
    """
    table = collect(query.folders, points=False)
    problems: list[str] = table.attrs["problems"]
    ids = set(table.attrs.pop("reference", ()))
    outdated = outdated_runs(describe_runs(query.reference, [], ids), query.config_dir) if ids else {}
    problems += refusals(outdated)
    if not outdated:
        return table
    table = table[~table["run_id"].isin(outdated)].reset_index(drop=True)
    if table.empty:
        raise InputError(" ".join(problems))
    return table


class Evidence:
    """The runs that a query asks for, also by experiment.

    Args:
        query: which runs; a results folder stands for all runs in it.
        table: of `collect`, where it was collected before.
    """

    def __init__(self, query: Query | Path | str, table: pd.DataFrame | None = None) -> None:
        self.query = query if isinstance(query, Query) else Query(query)
        self._collected = collect_asked(self.query) if table is None else table
        use_displays(self._collected, self.query.challenger)
        # What could not be read.
        self.problems: list[str] = list(self._collected.attrs.get("problems", ()))
        self._total = int(self._collected["run_id"].nunique())
        self.table = self.query.narrow(self._collected)
        self.unhealthy: set[str] = health.unhealthy_runs(self.table)
        ill = self.table["run_id"].isin(self.unhealthy)
        self._ill = self.table[ill]
        if self.query.healthy_only:
            self.table = self.table[~ill].reset_index(drop=True)
            if self.table.empty:
                raise InputError("No run has a healthy sampler: see `scorebo health`.")
        self._composer = Composer(self.query.config_dir)
        self._chosen: dict[str, Selection | InputError] = {}
        # Experiments whose runs were asked for since this was last cleared.
        self.asked: set[str] = set()
        self._hyperparameters: dict[frozenset[str], pd.DataFrame] = {}
        if self.query.experiment:
            self.table = self.of(self.query.experiment).table

    def selection(self, own: str | None = None) -> Selection:
        """The runs asked for. `own` is the experiment that is meant where the query leaves it open."""
        experiment = self.query.experiment_or(own)
        return self._every if experiment is None else self.of(experiment)

    @cached_property
    def _every(self) -> Selection:
        return select(self.table, self.query, total=self._total)

    def of(self, experiment: str) -> Selection:
        """Those of the runs asked for that belong to an experiment."""
        if experiment not in self._chosen:
            query = replace(self.query, experiment=experiment, everything=False)
            try:
                self._chosen[experiment] = select(self.table, query, composer=self._composer, total=self._total)
            except InputError as error:
                self._chosen[experiment] = error
        found = self._chosen[experiment]
        if isinstance(found, InputError):
            raise found
        return found

    def experiments(self) -> list[Selection]:
        """Every experiment that has runs here, those of the user's config folder included, but for unions of others."""
        runs = self.table.drop_duplicates("run_id")
        there = set(runs["run_id"])
        found = []
        for name in available("experiment", self.query.config_dir):
            node = self._composer.experiment(name)
            # A union names no tasks; nothing is composed for an experiment on other tasks or with other methods.
            if node.get("benchmarks") and possible_runs(runs, node):
                query = replace(self.query, experiment=name, everything=False)
                with contextlib.suppress(InputError):
                    if wanted_runs(runs, query, self._composer)[1] & there:
                        found.append(self.of(name))
        return found

    def members(self, experiment: str) -> list[Selection]:
        """The experiments that a union consists of, as far as they have runs here; of any other itself."""
        names = self._composer.experiment(experiment).get("experiments")
        if not names:
            return [self.of(experiment)]
        found = []
        for name in names:
            with contextlib.suppress(NoRunsError):
                found.append(self.of(name))
        return found

    def axes(self, chosen: Selection) -> dict[str, list[Any]]:
        """The tasks, methods and seeds of an experiment that pass the filters, and its models if it names any."""
        return axes_of(self._composer.experiment(str(chosen.experiment)), str(chosen.scale), self.query)

    def everything(self) -> Evidence:
        """The same for every run in the folders."""
        return Evidence(replace(self.query, everything=True), self._collected)

    @property
    def chosen(self) -> list[Selection]:
        """The experiments asked for so far that have runs."""
        return [chosen for chosen in self._chosen.values() if isinstance(chosen, Selection)]

    @property
    def reduced_scale(self) -> str:
        """The smallest scale of the runs `asked` for, whose budgets are not the paper's; empty where all are."""
        scales = {chosen.scale for chosen in self.chosen if chosen.experiment in self.asked}
        return next((scale for scale in SCALES[:-1] if scale in scales), "")

    def figures(self, experiment: str) -> list[str]:
        """The figures that an experiment says it is for."""
        return list(self._composer.experiment(experiment).get("figures") or [])

    def has_models(self, chosen: Selection) -> bool:
        """Whether the experiment itself says under which models it is run."""
        return bool(at_scale(self._composer.experiment(str(chosen.experiment)), str(chosen.scale)).get("models"))

    def health_notes(self, chosen: Selection) -> list[str]:
        """What a reader must know of the samplers of these runs, and of those left out for theirs."""
        rows = self._ill
        if chosen.experiment is not None:
            rows = rows[rows["run_id"].isin(chosen.wanted)]
        return health.health_note(rows, self.query.healthy_only) if len(rows) else []

    def runs(self, experiment: str) -> pd.DataFrame:
        """The records of those of the experiment's runs that have ended: what claims are about is their outcome.

        Not those of a challenger, which the experiment does not name.
        """
        self.asked.add(experiment)
        if experiment not in available("experiment", self.query.config_dir):
            raise MissingRunsError(f"there is no experiment={experiment} here or in --config-dir")
        try:
            chosen = self.of(experiment)
        except NoRunsError as error:
            raise MissingRunsError(f"no runs of experiment={experiment}") from error
        named = at_scale(self._composer.experiment(experiment), str(chosen.scale)).get("acquisitions")
        table = chosen.table
        if named and self.query.challenger not in (None, *named):
            table = table[table["acquisition"] != self.query.challenger]
        ended = table[table["finished"].astype(bool)].reset_index(drop=True)
        if ended.empty:
            raise MissingRunsError(f"no run of experiment={experiment} has ended")
        return ended

    def hyperparameters(self, experiment: str, **only: str) -> pd.DataFrame:
        """The hyperparameter sets of `runs`, in the task's units.

        With `only` (benchmark="branin") those of some runs: large experiments have millions of sets.
        """
        rows = self.runs(experiment)
        for column, name in only.items():
            rows = rows[rows[column] == name]
        if rows.empty:
            raise MissingRunsError(f"no runs of {' and '.join(only.values())}")
        return self.hyperparameters_of(rows)

    def hyperparameters_of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The hyperparameter sets of the runs that have these records; of summaries their moments."""
        runs = frozenset(rows["run_id"])
        if runs not in self._hyperparameters:
            self._hyperparameters[runs] = hyperparameter_table(self.query.folders, set(runs))
        return self._hyperparameters[runs]
