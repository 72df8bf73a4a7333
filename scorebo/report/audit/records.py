"""Checks of what was recorded: records that repeat others, initial designs and noise, optima that were beaten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorebo.report.audit.base import SERIOUS, WARNING, Check, Finding, listed
from scorebo.report.audit.study import Study

# Not what a run found: where it stands, when, and how long it took.
_NOT_FOUND = ("seed", "iteration", "optimal_value", "wall_seconds_", "cpu_seconds_", "mcmc_wall_seconds")
# Runs that differ in nothing else may have the same records as far as both go.
_MAY_REPEAT = ("benchmark.total",)
_NUMBERS_OF_POINTS = ("benchmark.initial", "benchmark.total")
# Of the same point on different machines and in single precision, relative to the larger of 1 and the value.
ROUNDING = 1e-6
_ASPECTS = {"benchmark": "task", "model": "model", "acquisition": "method", "seed": "seed"}


def identical_records(study: Study) -> Iterator[Finding]:
    """Runs whose queries and models are the same to the bit although seed, method or settings differ."""
    groups: dict[tuple[Any, ...], set[str]] = {}
    for same in _same_records(study.table):
        differ, words = _difference(study, same)
        if differ:
            names = tuple(tuple(study.runs.loc[same, name].unique()) for name in ("benchmark", "model", "acquisition"))
            groups.setdefault((differ, words, names), set()).update(same)
    for (differ, words, (tasks, _, methods)), runs in groups.items():
        yield Finding(
            SERIOUS,
            f"Runs of {listed(methods)} on {listed(tasks)} that differ in {differ} have identical records"
            f"{f' ({words})' if words else ''}: what they differ in has no effect, and they count as one.",
            f"Find out why {differ} did not reach the computation, mend it and run these again; until then keep "
            "one of each group of identical runs.",
            frozenset(runs),
        )


def equal_designs(study: Study) -> Iterator[Finding]:
    """Initial designs that do not change with the seed although the rest of the run does."""
    designs = {run: tuple(points[:, 0]) for run, points in _initial_points(study).items()}
    repeated = {run for same in _same_records(study.table) for run in same}
    for _, runs in study.runs.groupby(["benchmark", "model", "acquisition"], sort=False):
        own: dict[tuple[float, ...], list[str]] = {}
        for run in runs.index.difference(list(repeated)):
            if len(set(designs.get(run, ()))) > 1:  # on a plateau all designs have the same values
                own.setdefault(designs[run], []).append(run)
        same = [run for group in own.values() if runs.loc[group, "seed"].nunique() > 1 for run in group]
        if same:
            yield Finding(
                WARNING,
                "Runs with different seeds have the same initial design: they are no independent repetitions.",
                "Let the design depend on the seed (`Benchmark.initial_design`), or say that it was fixed.",
                frozenset(same),
            )


def unequal_designs(study: Study) -> Iterator[Finding]:
    """Initial designs, or their noise, that differ between methods on the same task and seed."""
    points = _initial_points(study)
    task = _task_settings(study)
    found: dict[str, dict[str, set[str]]] = {"design": {}, "noise": {}}
    runs = study.runs.loc[study.runs.index.isin(list(points))]
    for key, part in runs.groupby([runs["benchmark"], runs["seed"], task.reindex(runs.index)], sort=False):
        for what, odd in _odd_designs({run: points[run] for run in part.index}).items():
            if odd:
                found[what].setdefault(str(key[0]), set()).update(odd)
    for what, by_task in found.items():
        for odd in by_task.values():
            methods = study.runs.loc[list(odd), "acquisition"].unique()
            same = "initial points or function values" if what == "design" else "noise at the same initial points"
            yield Finding(
                SERIOUS,
                f"Runs of {listed(methods)} have other {same} than the other runs with their seeds: "
                "differences between methods are partly differences of the data they began with.",
                "Compute design and noise from task and seed alone (`Benchmark.initial_design`, `noise`), and run the "
                "odd ones again with the same code.",
                frozenset(odd),
            )


def beaten_optima(study: Study) -> Iterator[Finding]:
    """Noiseless values that are better than the stored optimal value."""
    rows = study.table[["benchmark", "run_id", "f", "maximize", "optimal_value", "optimum_violation"]]
    rows = rows[rows["optimal_value"].notna()]
    optimum = rows["optimal_value"].astype(float)
    sign = rows["maximize"].astype("boolean").fillna(False).map({True: 1.0, False: -1.0}).astype(float)
    excess = ((rows["f"].astype(float) - optimum) * sign).fillna(0.0)
    excess = excess.where(excess > ROUNDING * optimum.abs().clip(lower=1.0), 0.0)
    excess = pd.Series(np.fmax(excess, rows["optimum_violation"].astype(float)), rows.index)
    beaten = rows.assign(excess=excess)[excess > 0]
    for task, part in beaten.groupby("benchmark", sort=False):
        yield Finding(
            SERIOUS,
            f"The optimal value of {task} was beaten by up to {part['excess'].max():.3g}: regrets on it are too small, "
            "and 0 where they should not be.",
            f"Correct `optimal_value` of {task} (a longer search, started at the best points of these runs) and run "
            "them again; until then compare by best_noiseless.",
            frozenset(part["run_id"]),
        )


def unequal_optima(study: Study) -> Iterator[Finding]:
    """Optimal values that differ between runs of the same task and seed."""
    runs = study.table.drop_duplicates("run_id").set_index("run_id")
    values = runs["optimal_value"].astype(float)
    groups = values.groupby([runs["benchmark"], runs["seed"]])
    spread = groups.transform("max") - groups.transform("min")
    differ = spread > ROUNDING * np.maximum(1.0, values.abs())
    for task, part in runs[differ].groupby("benchmark", sort=False):
        yield Finding(
            SERIOUS,
            f"Runs on {task} have different optimal values (up to {spread[part.index].max():.3g} apart): "
            "their regrets cannot be compared.",
            "Run those with the older value again, or compare by best_noiseless.",
            frozenset(part.index),
        )


def _same_records(table: pd.DataFrame) -> Iterator[list[str]]:
    """Groups of runs whose records after the initial design are the same to the bit as far as both go."""
    numeric = [c for c in table.columns if pd.api.types.is_numeric_dtype(table[c]) and table[c].dtype != bool]
    columns = [str(c) for c in numeric if not str(c).startswith(_NOT_FOUND)]
    later = (table["kind"] != "initial").to_numpy()
    queries = table["run_id"][table["kind"] == "query"].value_counts()
    rows = table.loc[later & table["run_id"].isin(queries.index[queries > 1]).to_numpy(), ["run_id", *columns]]
    # Two rows of two runs that have the same tens of numbers are the same runs, or there are few such pairs.
    head = rows.groupby("run_id", sort=False).head(2)
    buckets: dict[bytes, list[str]] = {}
    for run, values in _values(head, columns):
        buckets.setdefault(values.tobytes(), []).append(run)
    several = [runs for runs in buckets.values() if len(runs) > 1]
    suspects = rows[rows["run_id"].isin({run for runs in several for run in runs})]
    whole = dict(_values(suspects, columns))
    for runs in several:
        while runs:
            first, *others = runs
            same = [run for run in others if _same_beginning(whole[first], whole[run])]
            if same:
                yield [first, *same]
            runs = [run for run in others if run not in same]


def _initial_points(study: Study) -> dict[str, np.ndarray]:
    """By run `f` and `y` at its initial points; not of runs in which other points were tried in place of some."""
    table = study.table.loc[study.table["kind"] == "initial", ["run_id", "f", "y", "num_failed_points"]]
    found = dict(_values(table, ["f", "y", "num_failed_points"]))
    return {run: values for run, values in found.items() if not values[:, 2].any() and np.isfinite(values).all()}


def _values(rows: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The numbers of every run, a row a record."""
    values = rows[list(columns)].to_numpy(dtype=np.float64, na_value=np.nan)
    values[np.isnan(values)] = np.nan  # of any payload
    for run, positions in rows.reset_index(drop=True).groupby("run_id", sort=False).indices.items():
        yield str(run), values[positions]


def _same_beginning(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two runs agree in all records that both have, but for the last, which ends the shorter one."""
    count = min(len(one), len(other)) - (len(one) != len(other))
    return count > 1 and np.array_equal(one[:count], other[:count], equal_nan=True)


def _difference(study: Study, runs: Sequence[str]) -> tuple[str, str]:
    """What runs differ in, of what should make their records differ, and settings with their values in words."""
    rows = study.runs.loc[list(runs)]
    differ = [words for name, words in _ASPECTS.items() if rows[name].nunique() > 1]
    if differ:
        return " and ".join(differ), ""
    settings = study.settings.loc[list(runs)]
    varied = [
        name
        for name in map(str, settings)
        if settings[name].nunique() > 1 and not name.endswith(".version") and name not in _MAY_REPEAT
    ]
    values = [f"{name}={' and '.join(sorted(settings[name].unique()))}" for name in varied]
    return ("settings" if varied else "", listed(values))


def _task_settings(study: Study) -> pd.Series:
    """What decides a task's function and noise in one text: the task's settings but for the numbers of points."""
    settings = study.settings
    own = [name for name in map(str, settings) if name.startswith("benchmark.") and name not in _NUMBERS_OF_POINTS]
    return settings[own].agg("\n".join, axis=1) if own else pd.Series("", settings.index)


def _odd_designs(points: dict[str, np.ndarray]) -> dict[str, Iterable[str]]:
    """The runs whose initial values, or whose noise where these are the same, are not those that most runs have."""
    designs = _classes({run: values[:, 0] for run, values in points.items()})
    usual = designs[0] if designs else []
    noise = _classes({run: points[run][:, 1] for run in usual})
    return {
        "design": [run for runs in designs[1:] for run in runs],
        "noise": [run for runs in noise[1:] for run in runs],
    }


def _classes(values: dict[str, np.ndarray]) -> list[list[str]]:
    """Runs with the same values as far as both go, within rounding; the largest class first."""
    classes: list[list[str]] = []
    for run, own in values.items():
        for members in classes:
            count = min(len(own), len(values[members[0]]))
            if np.allclose(own[:count], values[members[0]][:count], rtol=ROUNDING, atol=ROUNDING):
                members.append(run)
                break
        else:
            classes.append([run])
    return sorted(classes, key=len, reverse=True)


CHECKS = (
    Check("identical", "records that are the same for different seeds, methods or settings", identical_records),
    Check("equal-designs", "initial designs that do not change with the seed", equal_designs),
    Check("unequal-designs", "initial designs or noise that differ between methods", unequal_designs),
    Check("beaten-optima", "values better than the stored optimum", beaten_optima),
    Check("unequal-optima", "different optima for the same task and seed", unequal_optima),
)
