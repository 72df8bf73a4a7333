"""The runs in a folder, by experiment: collected once, chosen once, whoever asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError
from scorebo.scales import SCALES, at_scale

if TYPE_CHECKING:
    import pandas as pd

    from scorebo.selection import Selection


class MissingRunsError(Exception):
    """The runs that a claim or a figure is about are not there; says which."""


class Evidence:
    """The runs in a folder, by experiment, read when they are asked for.

    Args:
        results: root of the run folders.
        scale: smoke, small or paper; by default for each experiment the one with most runs.
        config_dir: a folder with the user's own config groups.
        table: of `collect`, where it was collected before.
        healthy_only: leave out the runs whose sampler was unhealthy.
    """

    def __init__(
        self,
        results: Path,
        scale: str | None = None,
        config_dir: Path | None = None,
        table: pd.DataFrame | None = None,
        *,
        healthy_only: bool = False,
    ) -> None:
        from scorebo.composer import Composer
        from scorebo.report.health import unhealthy_runs
        from scorebo.store import collect

        self.results, self.scale, self.healthy_only = results, scale, healthy_only
        self.table = collect(results, points=False) if table is None else table
        self.unhealthy: set[str] = unhealthy_runs(self.table)
        if healthy_only:
            attributes = self.table.attrs
            self.table = self.table[~self.table["run_id"].isin(self.unhealthy)].reset_index(drop=True)
            self.table.attrs = attributes
            if self.table.empty:
                raise InputError("No run has a healthy sampler: see `scorebo health`.")
        self._composer = Composer(config_dir)
        self._chosen: dict[str, Selection] = {}
        # Experiments whose runs were asked for since this was last cleared.
        self.asked: set[str] = set()
        self._hyperparameters: dict[frozenset[str], pd.DataFrame] = {}

    def selection(self, experiment: str) -> Selection:
        """The records of the experiment's runs, and how many there are of how many."""
        from scorebo.selection import select

        if experiment not in self._chosen:
            self._chosen[experiment] = select(
                self.table, experiment, self.scale, results=self.results, composer=self._composer
            )
        return self._chosen[experiment]

    @property
    def chosen(self) -> list[Selection]:
        """All that was asked for so far, and is there."""
        return list(self._chosen.values())

    @property
    def reduced_scale(self) -> str:
        """The smallest scale of the runs `asked` for, whose budgets are not the paper's; empty where all are."""
        scales = {self._chosen[experiment].scale for experiment in self.asked if experiment in self._chosen}
        return next((scale for scale in SCALES[:-1] if scale in scales), "")

    def has_models(self, experiment: str, scale: str) -> bool:
        """Whether the experiment itself says under which models it is run."""
        return bool(at_scale(self._composer.experiment(experiment), scale).get("models"))

    def runs(self, experiment: str) -> pd.DataFrame:
        """The records of those of the experiment's runs that have ended: what claims are about is their outcome."""
        self.asked.add(experiment)
        try:
            table = self.selection(experiment).table
        except InputError as error:
            if "None of the runs" not in str(error):
                raise
            raise MissingRunsError(f"no runs of experiment={experiment}") from error
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
        return self.sets_of(rows)

    def sets_of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The hyperparameter sets of the runs that have these records."""
        from scorebo.store import collect_hyperparameters

        runs = frozenset(rows["run_id"])
        if runs not in self._hyperparameters:
            self._hyperparameters[runs] = collect_hyperparameters(self.results, set(runs))
        return self._hyperparameters[runs]
