"""Checks of how runs went: samplers, fallbacks, repeated queries, and runs missing, unfinished or unreadable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from scorebo.report.audit.base import NOTE, SERIOUS, WARNING, Check, Finding, listed
from scorebo.report.audit.study import Study
from scorebo.report.statistics.health import THRESHOLDS, fits, unhealthy_runs
from scorebo.report.statistics.text import ranges
from scorebo.store.columns import phase_columns

_METHOD = ["benchmark", "model", "acquisition"]
_COUNTED = ("mcmc_fallback", "mcmc_retries", "acquisition_fallbacks", "jittered_blocks", "num_failed_points")
# An unhealthy sampler in more than this share of a method's runs, two at least, and in this many fits is a warning; in
# more than the second share of its runs and this one of its fits it is serious.
FEW_RUNS, LEAST_FITS = 0.1, 5
MOST_RUNS, MOST_FITS = 0.5, 0.25
# Shares of iterations with a fallback: noteworthy, and most; and how many times the other methods' share it must be.
FEW_ITERATIONS, MOST_ITERATIONS, TIMES = 0.05, 0.5, 3.0
LEAST_HITS = 3  # fewer happen to any method
# Queries in a row with the same value that are a stall: as many, and as large a share of the run's queries.
QUERIES, SHARE = 10, 0.25
SLOW_TIMES, SLOW_SECONDS = 50.0, 1800.0


def unhealthy_samplers(study: Study) -> Iterator[Finding]:
    """Methods many of whose runs have an unhealthy sampler, by the thresholds of `scorebo health`."""
    ill = unhealthy_runs(study.table)
    own_fits = fits(study.table).groupby("run_id")["unhealthy"].agg(["sum", "size"]).reindex(study.runs.index).fillna(0)
    runs = study.runs.assign(bad=study.runs.index.isin(list(ill)), bad_fits=own_fits["sum"], fits=own_fits["size"])
    found: dict[str, dict[str, frozenset[str]]] = {}
    for (task, model, method), part in runs.groupby(_METHOD, sort=False):
        if part["bad"].any():
            bad_fits, count = int(part["bad_fits"].sum()), int(part["fits"].sum())
            words = f"{method} on {task} under {model} {part['bad'].sum()} of {len(part)} ({bad_fits} of {count} fits)"
            severity = _severity(part["bad"], bad_fits, count)
            found.setdefault(severity, {})[words] = frozenset(part.index[part["bad"]])
    for severity, groups in found.items():
        yield Finding(
            severity,
            f"Samplers of some runs were unhealthy: {listed(groups)}. {THRESHOLDS}",
            "Take more warm-up or thinning (mcmc.warmup, mcmc.thinning) for these, or show results with --healthy-only "
            "beside all; `scorebo health` has the details."
            if severity != NOTE
            else "Nothing, if results with --healthy-only are the same.",
            frozenset().union(*groups.values()),
        )


def _severity(bad: pd.Series, bad_fits: int, count: int) -> str:
    """How grave it is that these runs are unhealthy; in short runs a single fit makes one."""
    if bad.mean() > MOST_RUNS and bad_fits > MOST_FITS * count:
        return SERIOUS
    return WARNING if bad.sum() > 1 and bad.mean() > FEW_RUNS and bad_fits >= LEAST_FITS else NOTE


def uneven_fallbacks(study: Study) -> Iterator[Finding]:
    """Fallbacks, retries and failures that hit one method more than the others on its task."""
    rows = study.table.loc[study.table["kind"] != "initial"].reindex(columns=[*_METHOD, "run_id", *_COUNTED])
    for what, (hit, grave) in _fallbacks(rows).items():
        if not hit.any():
            continue
        groups = hit.groupby([rows[name] for name in _METHOD], sort=False)
        shares = groups.agg(share="mean", hits="sum").reset_index()
        runs = rows.loc[hit, [*_METHOD, "run_id"]].drop_duplicates()
        for place, row in enumerate(shares.to_dict("records")):
            if row["share"] >= FEW_ITERATIONS and row["hits"] >= LEAST_HITS:
                others = shares["share"][(shares["benchmark"] == row["benchmark"]) & (shares.index != place)]
                own = runs[(runs[_METHOD] == [row[name] for name in _METHOD]).all(axis=1)]
                yield _fallback(what, row, others, grave, frozenset(own["run_id"]))


def _fallback(what: str, row: Mapping[Any, Any], others: pd.Series, grave: bool, runs: frozenset[str]) -> Finding:
    """The finding on one method, whose share of iterations is compared with the median of the other methods."""
    usual = float(others.median()) if len(others) else math.inf
    more = row["share"] >= TIMES * usual
    beside = f" (of the other methods {usual:.1%})" if len(others) else ""
    return Finding(
        NOTE if not more else SERIOUS if grave and row["share"] > MOST_ITERATIONS else WARNING,
        f"{what} in {row['share']:.0%} of the iterations of {row['acquisition']} on {row['benchmark']}{beside}.",
        "See `scorebo failures` for the reasons; in these iterations the method was not what its name says, which has "
        "to be reported with any comparison.",
        runs,
    )


def _fallbacks(rows: pd.DataFrame) -> dict[str, tuple[pd.Series, bool]]:
    """By what happened whether it did in each iteration, and whether the iteration is then another method's."""
    counts = {name: pd.to_numeric(rows[name], errors="coerce").fillna(0.0).astype(float) > 0 for name in _COUNTED[1:]}
    replaced = rows["mcmc_fallback"].notna() & (rows["mcmc_fallback"] != False)  # noqa: E712
    return {
        "The acquisition fell back on something simpler": (counts["acquisition_fallbacks"], True),
        "The sampler was replaced": (replaced, True),
        "The sampler was retried": (counts["mcmc_retries"], False),
        "Evaluations failed and other points were taken": (counts["num_failed_points"], True),
        "Covariances of the metrics needed a jitter": (counts["jittered_blocks"], False),
    }


def stalls(study: Study) -> Iterator[Finding]:
    """Runs that query one value again and again, or whose model no longer changes; iterations that hung."""
    queries = study.table.loc[study.table["kind"] == "query", ["run_id", "f"]]
    counts = queries.groupby("run_id", sort=False).size()
    longest = _longest_repeats(queries, "f").reindex(counts.index)
    stuck = counts.index[(longest >= QUERIES) & (longest >= SHARE * counts)]
    noise = pd.to_numeric(study.setting("benchmark.noise_std"), errors="coerce").reindex(stuck).fillna(0.0)
    for noisy in (True, False):
        if runs := frozenset(stuck[(noise > 0) == noisy]):
            yield Finding(
                WARNING if noisy else NOTE,
                f"Runs repeat the same query up to {int(longest[list(runs)].max())} times in a row"
                f"{'' if noisy else ' (on tasks without noise, where a plateau or a corner may be the reason)'}.",
                "Look whether the search of the acquisition's maximum fails there (`scorebo replay`, "
                "acquisition_optimizer.raw_samples); at a corner of the box it may be right.",
                runs,
            )
    evaluated = study.table.loc[study.table["negative_mll"].notna(), ["run_id", "negative_mll"]]
    models = _longest_repeats(evaluated, "negative_mll")
    if frozen := frozenset(models.index[models >= QUERIES / 2]):
        yield Finding(
            WARNING,
            f"The model has the same negative MLL in up to {int(models.max())} iterations in a row: it is not fitted.",
            "Find out why new observations do not reach the model; do not use these runs.",
            frozen,
        )
    yield from _slow_iterations(study.table)


def _slow_iterations(table: pd.DataFrame) -> Iterator[Finding]:
    seconds = table[phase_columns("wall_seconds")].sum(axis=1)
    usual = seconds.groupby(table["run_id"]).transform("median")
    slow = (seconds > SLOW_SECONDS) & (seconds > SLOW_TIMES * usual)
    if slow.any():
        yield Finding(
            NOTE,
            f"{int(slow.sum())} iterations took over {SLOW_TIMES:g} times the median of their runs, up to "
            f"{seconds[slow].max() / 3600:.1f} h: the machine was halted or overloaded.",
            "Use processor seconds (cpu_seconds_…) where timings are compared.",
            frozenset(table.loc[slow, "run_id"]),
        )


def _longest_repeats(rows: pd.DataFrame, column: str) -> pd.Series:
    """By run, how many successive rows at most have the same value."""
    values, (runs, names) = rows[column].to_numpy(float), pd.factorize(rows["run_id"])
    if not len(rows):
        return pd.Series(dtype=int)
    new = np.r_[True, (values[1:] != values[:-1]) | (runs[1:] != runs[:-1])]
    lengths = np.diff(np.r_[np.flatnonzero(new), len(rows)])
    return pd.Series(lengths).groupby(names[runs[new]], sort=False).max()


def missing_seeds(study: Study) -> Iterator[Finding]:
    """Seeds that some methods lack on a task, methods that share no seed, and runs of an experiment not yet there."""
    missing: dict[str, list[str]] = {WARNING: [], NOTE: []}
    runs_of: dict[str, set[str]] = {WARNING: set(), NOTE: set()}
    for task, runs in study.runs.groupby("benchmark", sort=False):
        seeds = _seeds(study, runs)
        there = {name: own for name, own in seeds.items() if own}
        wanted = set(study.axes.get("seed", ())) or set().union(*seeds.values())
        same = len(set(map(frozenset, there.values()))) == 1
        for name, own in seeds.items():
            if wanted - own:
                severity = NOTE if same or not own else WARNING
                missing[severity].append(f"{name} on {task} {ranges(wanted - own) if own else '(all)'}")
                runs_of[severity].update(runs.index)
        if alone := _without_common_seed(there):
            yield Finding(
                SERIOUS,
                f"{listed(alone)} share no seed with any other method: initial designs and noise were others too, and "
                "nothing can be paired.",
                "Run all methods with the same seeds.",
                frozenset(runs.index),
            )
    there_are = set(study.runs["benchmark"])
    missing[NOTE] += [f"all methods on {task}" for task in study.axes.get("benchmark", ()) if task not in there_are]
    what = {WARNING: "Methods do not have the same seeds", NOTE: "Not all of the study has been run"}
    for severity, words in missing.items():
        if words:
            yield Finding(
                severity,
                f"{what[severity]}. Missing seeds: {listed(words)}.",
                "Run them: the same `scorebo sweep` runs what is missing, `scorebo status` says what failed. Before, "
                "compare common seeds only; those that failed may be the hard ones.",
                frozenset(runs_of[severity]),
            )


def _seeds(study: Study, runs: pd.DataFrame) -> dict[str, set[int]]:
    """The seeds of every method on a task, none for those that an experiment has and that are not there.

    A method is taken with its model where the study names its models, or has several for one method.
    """
    several = (runs.groupby("acquisition")["model"].nunique() > 1).any()
    by_model = several or "model" in study.axes
    names = runs["acquisition"] + (" under " + runs["model"] if by_model else "")
    wanted = [str(method) for method in study.axes.get("acquisition", ())]
    if by_model:
        wanted = [f"{method} under {model}" for method in wanted for model in study.axes.get("model", ())]
    found = {str(name): set(map(int, seeds)) for name, seeds in runs["seed"].groupby(names, sort=False)}
    return {name: found.get(name, set()) for name in dict.fromkeys([*found, *wanted])}


def _without_common_seed(seeds: Mapping[str, set[int]]) -> list[str]:
    """The methods that share no seed with any other; none of a single method."""
    return [
        name
        for name, own in seeds.items()
        if len(seeds) > 1 and own.isdisjoint(set().union(*(other for n, other in seeds.items() if n != name)))
    ]


def unfinished_runs(study: Study) -> Iterator[Finding]:
    """Runs that have not ended."""
    open_runs = study.runs[~study.runs["finished"]]
    if len(open_runs):
        counts = open_runs.groupby("acquisition").size()
        yield Finding(
            WARNING,
            f"{len(open_runs)} of {len(study.runs)} runs have not ended "
            f"({listed(f'{method} {count}' for method, count in counts.items())}): figures show them as far as they "
            "are, claims leave them out.",
            "`scorebo status` says which are still at work; the same command goes on with the others.",
            frozenset(open_runs.index),
        )


def unreadable_runs(study: Study) -> Iterator[Finding]:
    """Runs, or records, that could not be read and were left out."""
    if study.problems:
        yield Finding(
            WARNING,
            f"{len(study.problems)} runs could not be read, or not whole: {listed(study.problems, 3)}.",
            "Restore them from a copy or run them again.",
            frozenset(),
        )


CHECKS: tuple[Check, ...] = (
    Check("samplers", "samplers that did not do their work", unhealthy_samplers),
    Check("fallbacks", "fallbacks and failures that hit one method more than others", uneven_fallbacks, compares=True),
    Check("stalls", "queries or models that stay the same, iterations that hung", stalls),
    Check("missing-seeds", "seeds that some methods lack, methods without a common seed", missing_seeds, compares=True),
    Check("unfinished", "runs that have not ended", unfinished_runs),
    Check("unreadable", "runs that could not be read", unreadable_runs),
)
