"""What a claim is: a few statements, each on one number a seed, that its experiments' runs are to bear out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from scorebo.report.evidence import Evidence, MissingRunsError
from scorebo.report.style import label

SUPPORTED, AGREES, UNDECIDED = "supported", "agrees", "undecided"
DISAGREES, CONTRADICTED, NOT_RUN = "disagrees", "contradicted", "not run"
VERDICTS = (SUPPORTED, AGREES, UNDECIDED, DISAGREES, CONTRADICTED, NOT_RUN)
# What a part means to its claim: it must be significant; its estimate must agree; it is only shown.
TESTED, ESTIMATED, SHOWN = "tested", "estimated", "shown"


Values = np.ndarray | pd.Series  # one a seed


@dataclass(frozen=True)
class Sample:
    """One number a seed, of which a statement says that its mean (or median) lies above a bound.

    Args:
        values: the numbers, one a seed.
        words: whose they are, or the levels that they are the difference of ("SAL-HR 2.3, BALD 2.4").
        difference: whether they are a difference.
        bound: above which they are to lie.
        below: they are to lie below the bound instead.
    """

    values: np.ndarray
    words: str = ""
    difference: bool = False
    bound: float = 0.0
    below: bool = False


@dataclass(frozen=True)
class Part:
    """One statement of a claim: in at least `least` groups every sample lies where it is said to.

    Args:
        what: the beginning of the sentence, to which the numbers are added.
        groups: samples, the same seeds behind all of a group.
        least: of how many groups it is said; None: of all.
        median: medians are tested (sign test: for skewed numbers) in place of means (Student's t test).
        role: `TESTED`, `ESTIMATED` or `SHOWN`.
        never: samples of which none may be significantly on the wrong side, of which no more is said.
        lacking: the tasks without runs, without which the statement cannot be decided by any number of seeds.
        unit: what `values` has one number of.
        compared: the part that this one shows with another metric, named in `what`.
    """

    what: str
    groups: Sequence[Sequence[Sample]]
    least: int | None = None
    median: bool = False
    role: str = TESTED
    never: Sequence[Sample] = ()
    lacking: tuple[str, ...] = ()
    unit: str = "seed"
    compared: Part | None = None


@dataclass(frozen=True)
class Claim:
    """A claim, and how it is tested.

    Args:
        id: under which it is found; the paper's are P1 to P18.
        text: what it says.
        test: from the evidence to the claim's parts. It raises `MissingRunsError` where it lacks runs.
        needs_runs: false for a claim that is tested without any.
    """

    id: str
    text: str
    test: Callable[[Evidence], list[Part]]
    needs_runs: bool = True


def positive(
    what: str,
    values: Values | Mapping[str, Values],
    *,
    bound: float = 0.0,
    median: bool = False,
    unit: str = "seed",
) -> Part:
    """The mean of values, one a seed, is above 0 (or `bound`); of several, by name, that of each."""
    named = values if isinstance(values, Mapping) else {"": values}
    group = [Sample(_finite(each), name, bound=bound) for name, each in named.items()]
    return Part(what, [group], median=median, unit=unit)


def greater(what: str, frame: pd.DataFrame, larger: str, smaller: str, by: float = 0.0) -> Part:
    """The mean of one column is above that of another by more than `by`, paired by seed."""
    return Part(what, [[paired(frame, larger, smaller, by)]])


def below_others(what: str, frame: pd.DataFrame, own: Sequence[str], others: Sequence[str]) -> Part:
    """The mean of each of one's own columns is below that of each of the others, paired by seed."""
    return Part(what, [pairs(frame, own, others)])


def best_count(what: str, frames: Sequence[pd.DataFrame], own: str, others: Sequence[str], least: int) -> Part:
    """On at least so many tasks, a frame each, the mean of one column is the lowest."""
    return Part(what, [pairs(frame, [own], others) for frame in frames], least)


def within(what: str, values: Values, margin: float, center: float = 0.0) -> Part:
    """The mean of values, one a seed, is within the margin of a number: two one-sided tests."""
    return Part(what, [_both_sides(Sample(_finite(values)), margin, center)])


def alike(what: str, frames: Sequence[pd.DataFrame], first: str, second: str, margin: float) -> Part:
    """Two columns differ by less than the margin: the mean over seeds of the median over tasks, a frame each, paired.

    On no task may they differ by significantly more: large differences that cancel are not alike.
    """
    differences = [require(frame, [first, second])[first] - frame[second] for frame in frames]
    middle = pd.concat(differences, axis=1).dropna().median(axis=1)
    each = [_both_sides(Sample(_finite(values)), margin) for values in differences if len(frames) > 1]
    never = [sample for both in each for sample in both]
    return replace(within(f"{what} (alike: within ±{margin:g})", middle, margin), never=never)


def beside(part: Part, scale: str, compared: Part) -> Part:
    """A part by another metric than the paper's: tested and shown beside it; it does not count for the claim."""
    return replace(part, what=f"{scale}: {part.what}", role=SHOWN, compared=compared)


def lacking(parts: Sequence[Part], tasks: Sequence[str]) -> list[Part]:
    """The parts, which cannot be decided without runs on these tasks."""
    return [replace(part, lacking=tuple(tasks)) for part in parts]


def absent(tasks: Sequence[str]) -> list[Part]:
    """A statement on each of several tasks that cannot be made, since these have no runs; none if all have."""
    return lacking([Part("", [])], tasks) if tasks else []


def paired(frame: pd.DataFrame, larger: str, smaller: str, by: float = 0.0) -> Sample:
    """One column less another, for the seeds that both have: said to be above `by`."""
    return replace(pairs(frame, [smaller], [larger])[0], bound=by)


def pairs(frame: pd.DataFrame, own: Sequence[str], others: Sequence[str]) -> list[Sample]:
    """Each of the others less each of one's own, for the seeds that all have: said to be above 0."""
    names = [*own, *others]
    values = require(frame, names)[names].to_numpy(float)
    column = dict(zip(names, values[np.isfinite(values).all(axis=1)].T, strict=True))
    # What has no name as a method is a name already.
    shown = {name: f"{name if ' ' in name else label(name)} {each.mean():.3g}" for name, each in column.items()}
    return [
        Sample(column[other] - column[mine], f"{shown[mine]}, {shown[other]}".replace(" -", " −"), True)
        for mine in own
        for other in others
    ]


def pooled(frames: Sequence[pd.DataFrame], methods: Sequence[str]) -> pd.DataFrame:
    """The mean over tasks, a frame each, of every seed that all methods have on all of them."""
    complete = [require(frame, methods)[list(methods)].dropna() for frame in frames]
    mean = sum(complete[1:], complete[0]).dropna() / len(complete)
    if not len(mean):
        raise MissingRunsError(f"no seed with runs of {', '.join(methods)} on all tasks")
    return mean


def require(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The frame, if it has these columns."""
    missing = [method for method in methods if method not in frame.columns]
    if missing:
        where = f" on {frame.attrs['task']}" if "task" in frame.attrs else ""
        raise MissingRunsError(f"no runs of {', '.join(missing)}{where}")
    return frame


def without(found: Mapping[str, pd.DataFrame], tasks: Sequence[str]) -> list[str]:
    """The tasks that have no runs."""
    return [task for task in tasks if task not in found]


def no_runs_on(tasks: Sequence[str]) -> str:
    """Which tasks have no runs, in words."""
    return f"no runs on {', '.join(tasks)}"


def _both_sides(sample: Sample, margin: float, center: float = 0.0) -> list[Sample]:
    return [replace(sample, bound=center - margin), replace(sample, bound=center + margin, below=True)]


def _finite(values: Values) -> np.ndarray:
    found = np.asarray(values, dtype=float)
    return found[np.isfinite(found)]


__all__ = ["Claim", "Evidence", "MissingRunsError", "Part", "Sample"]
