"""What a claim is: statements that are tested on the runs of its experiments, and a verdict over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scorebo.errors import InputError
from scorebo.report.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

SUPPORTED, CONTRADICTED, UNDECIDED, NOT_RUN = "supported", "contradicted", "undecided", "not run"


class MissingRunsError(Exception):
    """The runs that a claim is about are not there; says which."""


@dataclass(frozen=True)
class Part:
    """One statement of a claim.

    Args:
        words: the statistic in words; the statement holds where it is above 0, unless `words` say otherwise.
        estimate: the statistic, with its 95 % interval.
        seeds: how many runs of each method it rests on.
        verdict: supported, contradicted or undecided.
        needed: seeds in all with which an undecided statement would be decided, if all stays as estimated; None if
            it cannot be said.
    """

    words: str
    estimate: Estimate
    seeds: int
    verdict: str
    needed: int | None = None


@dataclass(frozen=True)
class Claim:
    """A claim of the paper (EXPERIMENTS.md §6), and how it is tested on the evidence."""

    id: str
    text: str
    test: Callable[[Evidence], list[Part]]


@dataclass(frozen=True)
class Finding:
    """What became of a claim: `note` says what was not run."""

    id: str
    text: str
    verdict: str
    seeds: int
    more_seeds: int | None
    parts: tuple[Part, ...]
    note: str = ""


class Evidence:
    """The runs in a folder, by experiment, read when they are asked for."""

    def __init__(
        self, results: Path, scale: str | None = None, config_dir: Path | None = None, table: pd.DataFrame | None = None
    ) -> None:
        from scorebo.composer import Composer
        from scorebo.store import collect

        self.results, self.scale = results, scale
        self.table = collect(results) if table is None else table
        self._composer = Composer(config_dir)
        self._tables: dict[str, pd.DataFrame] = {}
        self._hyperparameters: dict[str, pd.DataFrame] = {}

    def runs(self, experiment: str) -> pd.DataFrame:
        """The records of the experiment's runs."""
        from scorebo.selection import select

        if experiment not in self._tables:
            try:
                chosen = select(self.table, experiment, self.scale, results=self.results, composer=self._composer)
            except InputError as error:
                if "None of the runs" not in str(error):
                    raise
                raise MissingRunsError(f"no runs of experiment={experiment}") from error
            self._tables[experiment] = chosen.table
        return self._tables[experiment]

    def hyperparameters(self, experiment: str) -> pd.DataFrame:
        """The hyperparameter sets of the experiment's runs, in the task's units."""
        from scorebo.store import collect_hyperparameters

        if experiment not in self._hyperparameters:
            ids = set(self.runs(experiment)["run_id"])
            self._hyperparameters[experiment] = collect_hyperparameters(self.results, ids)
        return self._hyperparameters[experiment]


def judge(claim: Claim, evidence: Evidence) -> Finding:
    """Test a claim: contradicted if any of its statements is, supported if all are."""
    try:
        parts = tuple(claim.test(evidence))
    except MissingRunsError as missing:
        return Finding(claim.id, claim.text, NOT_RUN, 0, None, (), str(missing))
    verdicts = {part.verdict for part in parts}
    verdict = CONTRADICTED if CONTRADICTED in verdicts else UNDECIDED if UNDECIDED in verdicts else SUPPORTED
    seeds = min(part.seeds for part in parts)
    open_parts = [part for part in parts if part.verdict == UNDECIDED]
    more = None
    if verdict == UNDECIDED and all(part.needed is not None for part in open_parts):
        more = max(max(1, (part.needed or 0) - part.seeds) for part in open_parts)
    return Finding(claim.id, claim.text, verdict, seeds, more, parts)
