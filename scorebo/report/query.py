"""Which stored runs are asked for: the results folders, an experiment or every run, and filters by name and seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.config.scale import SCALES
from scorebo.errors import InputError, check_choice
from scorebo.store.sources import Sources, source_paths, sources_text

NAMES = ("benchmark", "acquisition", "model")
_SEEDS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Query:
    """Which runs are asked for.

    Args:
        results: root of the run folders, or an archive; of several, the runs of all of them.
        scale: smoke, small or paper; by default for each experiment the one with most runs.
        experiment: only the runs of this experiment.
        everything: every run, whether of an experiment or not.
        benchmark: names; only runs on these. Empty: on any.
        acquisition: likewise.
        model: likewise.
        seeds: only runs with these seeds, e.g. `1-5,8`. None: with any.
        config_dir: a folder with the user's own config groups.
        healthy_only: leave out runs whose sampler was unhealthy.
    """

    results: Sources
    scale: str | None = None
    experiment: str | None = None
    everything: bool = False
    benchmark: tuple[str, ...] = ()
    acquisition: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    seeds: str | None = None
    config_dir: Path | None = None
    healthy_only: bool = False

    def __post_init__(self) -> None:
        if self.everything and (self.scale or self.experiment):
            raise InputError("--all draws every run: it goes with neither --scale nor --experiment.")
        if self.scale is not None:
            check_choice("scale", self.scale, SCALES)
        _ = self.seed_ranges  # refused here, before anything is read

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """The results folders and archives."""
        return source_paths(self.results)

    @property
    def folder(self) -> Path:
        """The first results folder, into which a sweep may go; the default one if all are archives."""
        return next((path for path in self.folders if not path.is_file()), Path("results"))

    @cached_property
    def seed_ranges(self) -> list[tuple[int, int]]:
        """The first and last seed of each part of `seeds`."""
        return [] if self.seeds is None else [_seed_range(part.strip()) for part in self.seeds.split(",")]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names that are asked for, by column."""
        return {column: getattr(self, column) for column in NAMES if getattr(self, column)}

    @property
    def filters(self) -> str:
        """The filters in words; empty without any."""
        parts = [f"{column} {', '.join(names)}" for column, names in self.names.items()]
        return "; ".join([*parts, *([f"seeds {self.seeds}"] if self.seeds else [])])

    @property
    def explicit(self) -> bool:
        """Whether runs are chosen by hand; otherwise each figure, metric and claim takes those of its own experiment.

        Filters choose among all runs; with a scale, which only an experiment has, among those of experiments.
        """
        return bool(self.experiment or self.everything or (self.filters and not self.scale))

    def experiment_or(self, own: str | None) -> str | None:
        """The experiment whose runs are asked for; `own` where none is named. None: runs of any or no experiment."""
        if own is None and self.scale and not self.experiment:
            raise InputError("--scale needs --experiment NAME: runs have a scale only as part of an experiment.")
        return self.experiment if self.explicit else own

    def takes(self, column: str, value: Any) -> bool:
        """Whether the filters let a name, or a seed, pass."""
        if column == "seed":
            return not self.seeds or any(low <= value <= high for low, high in self.seed_ranges)
        return not getattr(self, column) or value in getattr(self, column)

    def narrow(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows that pass the filters; names and seeds of which there are no runs are refused."""
        if not self.filters:
            return table
        keep = table["run_id"].notna()
        for column, names in self.names.items():
            for name in names:
                check_choice(f"{column} of the runs in {sources_text(self.folders)}", name, set(table[column]))
            keep &= table[column].isin(names)
        for low, high in self.seed_ranges:
            if not table["seed"].between(low, high).any():
                there = ", ".join(map(str, sorted(set(table["seed"]))))
                raise InputError(f"No run has a seed {_range_text(low, high)}. Seeds there: {there}.")
        if self.seeds:
            keep &= table["seed"].isin([seed for seed in set(table["seed"]) if self.takes("seed", seed)])
        if not keep.any():
            raise InputError(f"No run in {sources_text(self.folders)} passes all filters ({self.filters}).")
        return table[keep].reset_index(drop=True)

    def arguments(self) -> list[str]:
        """The options of a command that choose the same runs."""
        words = [word for folder in self.folders for word in ("--results", str(folder))]
        words += ["--all"] if self.everything else []
        given = {"experiment": self.experiment, "scale": self.scale, "seeds": self.seeds, "config-dir": self.config_dir}
        given |= {column: ",".join(names) for column, names in self.names.items()}
        words += [word for name, value in given.items() if value for word in (f"--{name}", str(value))]
        return words + (["--healthy-only"] if self.healthy_only else [])

    def as_dict(self) -> dict[str, Any]:
        """Plain values, from which `from_dict` makes the same query in any working directory."""
        found: dict[str, Any] = {"results": [str(folder.resolve()) for folder in self.folders]}
        found |= {"experiment": self.experiment, "scale": self.scale, "all": self.everything}
        found |= {column: list(names) for column, names in self.names.items()} | {"seeds": self.seeds}
        found["config_dir"] = None if self.config_dir is None else str(self.config_dir.resolve())
        return {name: value for name, value in found.items() if value} | {"healthy_only": self.healthy_only}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any], results: Sources | None = None) -> Query:
        """The query of `as_dict`, or of the options of a command; with `results` in other folders."""
        seeds = found.get("seeds")
        names = {column: [name for text in found.get(column) or () for name in text.split(",")] for column in NAMES}
        return cls(
            results or found.get("results") or "results",
            scale=found.get("scale"),
            experiment=found.get("experiment"),
            everything=bool(found.get("all")),
            seeds=",".join(seeds) if isinstance(seeds, list) else seeds,
            config_dir=Path(found["config_dir"]) if found.get("config_dir") else None,
            healthy_only=bool(found.get("healthy_only")),
            **{column: tuple(map(str.strip, listed)) for column, listed in names.items()},
        )


def _seed_range(part: str) -> tuple[int, int]:
    found = _SEEDS.fullmatch(part)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if low > high:
        raise InputError(f"Cannot read the seeds '{part}'. Give numbers and ranges, e.g. --seeds 1-5,8.")
    return low, high


def _range_text(low: int, high: int) -> str:
    return str(low) if low == high else f"from {low} to {high}"
