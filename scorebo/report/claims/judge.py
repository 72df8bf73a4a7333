"""One judge for all claims: what the seeds say of each part, and the verdict on all of them.

Every sample has a one-sided test either way. That all of several hold is shown where each is (Berger. Technometrics
1982), that one of them does not by the smallest p-value times their number (Bonferroni). That at least u of T groups
hold is shown where (T−u+1) times the u-th smallest p-value is small (Benjamini, Heller. Biometrics 2008). A margin to
both sides is two samples (TOST: Schuirmann. Journal of Pharmacokinetics and Biopharmaceutics 1987).

A claim is supported where every part that is tested is significant, which needs no correction, and contradicted where
any part is significantly wrong, corrected for the number of parts (Holm). Both at 2.5 %, one-sided. How often each
verdict comes out: `scripts/validation/claims_power.py`, docs/claims.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scorebo.report.claims import base
from scorebo.report.claims.base import (
    AGREES,
    CONTRADICTED,
    DISAGREES,
    NOT_RUN,
    SUPPORTED,
    UNDECIDED,
    Claim,
    Evidence,
    MissingRunsError,
    Part,
    Sample,
)
from scorebo.report.statistics.intervals import Estimate, mean_and_error
from scorebo.report.statistics.power import seeds_for_effect
from scorebo.report.statistics.significance import holm
from scorebo.report.statistics.summary import decimals

LEVEL = 0.025  # one-sided
FEWEST = 5  # seeds: fewer decide nothing


@dataclass(frozen=True)
class Statement:
    """What became of a part.

    Args:
        words: a sentence with the numbers.
        estimate: of the sample that decides it, or of the number of groups in which it holds; with its 95 % interval.
        seeds: how many it rests on, of each method.
        verdict: supported, agrees, undecided, disagrees or contradicted.
        needed: seeds in all with which it would be significant with a probability of 0.8, if all stays as estimated;
            None if it is, or if it cannot be said.
        role: of the part.
        p_support: of the hypothesis that the statement is wrong.
        p_against: of the hypothesis that it is right; for parts that count corrected (Holm) for the others.
        lacking: the tasks without runs.
        unit: what there are `seeds` of.
    """

    words: str
    estimate: Estimate
    seeds: int
    verdict: str
    needed: int | None = None
    role: str = base.TESTED
    p_support: float = math.nan
    p_against: float = math.nan
    lacking: tuple[str, ...] = ()
    unit: str = "seed"


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    `more_seeds` would decide it, if that can be said. `note` says what was not run, of all of it or of what an
    undecided one lacks; `scale` is that of the runs where their budgets are not the paper's, for which alone the claim
    was made.
    """

    id: str
    text: str
    verdict: str
    seeds: int
    more_seeds: int | None
    parts: tuple[Statement, ...]
    note: str = ""
    scale: str = ""


def judge(claim: Claim, evidence: Evidence) -> Finding:
    """Test a claim."""
    try:
        parts = claim.test(evidence)
    except MissingRunsError as missing:
        return Finding(claim.id, claim.text, NOT_RUN, 0, None, (), str(missing))
    if not parts:
        return Finding(claim.id, claim.text, NOT_RUN, 0, None, (), "no task with runs of the methods it compares")
    found = [_Tests(part) for part in parts]
    counted = [tests for tests in found if tests.part.role != base.SHOWN]
    for tests, corrected in zip(counted, holm([tests.p_against for tests in counted]), strict=True):
        tests.p_against = float(corrected)
    statements = {id(tests.part): tests.statement() for tests in found}
    for tests in found:
        if tests.part.compared is not None:
            own, paper = statements[id(tests.part)], statements[id(tests.part.compared)]
            if _side(own) != _side(paper):
                statements[id(tests.part)] = replace(own, words=f"{own.words}; otherwise than by the paper's metric")
    deciding = [statements[id(tests.part)] for tests in counted]
    verdict = _join(deciding)
    lacking = list(dict.fromkeys(task for statement in deciding for task in statement.lacking))
    note = base.no_runs_on(lacking) if lacking and verdict == UNDECIDED else ""
    seeds = min((statement.seeds for statement in deciding if statement.seeds), default=0)
    return Finding(claim.id, claim.text, verdict, seeds, _more_seeds(deciding, verdict), (*statements.values(),), note)


def _join(statements: Sequence[Statement]) -> str:
    """The verdict on a claim from those on its parts."""
    verdicts = {statement.verdict for statement in statements}
    if CONTRADICTED in verdicts:
        return CONTRADICTED
    if verdicts <= {SUPPORTED, AGREES}:
        tested = {statement.verdict for statement in statements if statement.role == base.TESTED}
        return SUPPORTED if tested == {SUPPORTED} else AGREES
    return DISAGREES if verdicts == {DISAGREES} else UNDECIDED


def _side(statement: Statement) -> int:
    return {SUPPORTED: 1, AGREES: 1, UNDECIDED: 0}.get(statement.verdict, -1)


def _more_seeds(statements: Sequence[Statement], verdict: str) -> int | None:
    if verdict in (SUPPORTED, CONTRADICTED):
        return None
    more = [
        s.needed and max(1, s.needed - s.seeds) for s in statements if s.role == base.TESTED and s.verdict != SUPPORTED
    ]
    return max((m for m in more if m), default=None) if all(more) else None


class _Tests:
    """The p-values of a part, and what is made of them."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.least = len(part.groups) if part.least is None else part.least
        self.seeds = min((len(sample.values) for group in part.groups for sample in group), default=0)
        self.p_support = self.p_against = math.nan
        if self.seeds < FEWEST:
            return
        self.p = [[_p_values(sample, part.median) for sample in group] for group in part.groups]
        # Of each group: all of its samples lie where they are said to; one of them does not.
        self.right = [max(p for p, _ in group) for group in self.p]
        self.wrong = [min(1.0, len(group) * min(p for _, p in group)) for group in self.p]
        if part.lacking:
            return
        self.p_support = _at_least(self.least, self.right)
        self.p_against = _at_least(self.fewest_wrong, self.wrong)
        if part.never:
            beyond = len(part.never) * min(_p_values(sample, part.median)[1] for sample in part.never)
            self.p_against = min(1.0, 2 * min(self.p_against, beyond))

    @property
    def fewest_wrong(self) -> int:
        """In how many groups the statement must fail to be wrong."""
        return len(self.part.groups) - self.least + 1

    def statement(self) -> Statement:
        """The part's verdict, in words and numbers."""
        part, verdict = self.part, self._verdict()
        if not self.seeds:
            words = base.no_runs_on(part.lacking) if part.lacking else f"{part.what}: no {part.unit} that all have run"
            return Statement(words, Estimate(math.nan), 0, UNDECIDED, role=part.role, lacking=part.lacking)
        needed = None if part.lacking else FEWEST if self.seeds < FEWEST else self._needed(verdict)
        words, estimate = self._sentence()
        return Statement(
            f"{words} ({base.no_runs_on(part.lacking)})" if part.lacking else words,
            estimate,
            self.seeds,
            verdict,
            needed,
            *(part.role, self.p_support, self.p_against, part.lacking, part.unit),
        )

    def _verdict(self) -> str:
        if self.seeds < FEWEST or self.part.lacking:
            return UNDECIDED
        if self.p_against <= LEVEL:
            return CONTRADICTED
        if self.p_support <= LEVEL:
            return SUPPORTED
        return AGREES if self._holding() >= self.least else DISAGREES

    def _holding(self) -> int:
        """In how many groups all estimates are where they are said to be."""
        return sum(all(_away(s, self.part.median) > 0 for s in group) for group in self.part.groups)

    def _decides(self, right: bool) -> Sample:
        """The sample on which it depends whether the part is significantly right, or significantly wrong."""
        side, place = (0, self.least) if right else (1, self.fewest_wrong)
        choose = max if right else min
        each = [choose(zip(ps, group, strict=True), key=lambda item: item[0][side])
                for ps, group in zip(self.p, self.part.groups, strict=True)]  # fmt: skip
        return sorted(each, key=lambda item: item[0][side])[place - 1][1]

    def _needed(self, verdict: str) -> int | None:
        if verdict not in (AGREES, DISAGREES):
            return None
        right = verdict == AGREES
        sample = self._decides(right)
        times = self.fewest_wrong if right else self.least * max(map(len, self.part.groups))
        values = sample.values - sample.bound
        values = np.sign(values) if self.part.median else values
        spread = float(values.std(ddof=1))
        return seeds_for_effect(float(values.mean()) / spread, 2 * LEVEL / times) if spread > 0 else None

    def _sentence(self) -> tuple[str, Estimate]:
        part, total = self.part, len(self.part.groups)
        if self.least > 1:
            return self._count()
        sample = self._decides(True) if self.seeds >= FEWEST else part.groups[0][0]
        estimate = _estimate(sample, part.median)
        value, low, high = _numbers(estimate)
        inside = [f"difference {value}"] if sample.difference else []
        inside += [] if math.isnan(estimate.low) else [f"95 % {low} to {high}"]
        level = sample.words if sample.difference else f"{sample.words} {value}".strip()
        different = len({id(each.values) for group in part.groups for each in group})
        one = "" if different == 1 else f", {'most' if total > 1 else 'least'} certain of {different}"
        return f"{part.what}{one}: {level}" + (f" ({', '.join(inside)})" if inside else ""), estimate

    def _count(self) -> tuple[str, Estimate]:
        """In how many groups it holds by the estimates, and in how many significantly at least and at most."""
        total, numbers, between = len(self.part.groups), range(1, len(self.part.groups) + 1), ""
        estimate = Estimate(self._holding())
        if self.seeds >= FEWEST:
            low = max((u for u in numbers if _at_least(u, self.right) <= LEVEL), default=0)
            high = total - max((u for u in numbers if _at_least(u, self.wrong) <= LEVEL), default=0)
            estimate, between = replace(estimate, low=low, high=high), f"95 % {low} to {high}, "
        return f"{self.part.what}: {estimate.value} of {total} ({between}said: at least {self.least})", estimate


def _at_least(least: int, p_values: Sequence[float]) -> float:
    """p-value of the hypothesis that fewer than `least` of several statements hold, from those of each."""
    return min(1.0, (len(p_values) - least + 1) * sorted(p_values)[least - 1])


def _away(sample: Sample, median: bool) -> float:
    """How far the estimate lies from its bound, above 0 on the side on which it is said to be."""
    center = float(np.median(sample.values) if median else np.mean(sample.values))
    return sample.bound - center if sample.below else center - sample.bound


def _p_values(sample: Sample, median: bool) -> tuple[float, float]:
    """p-values of "it does not lie where it is said to" and of "it does"."""
    from scipy import special

    values = sample.values
    if median:  # as many or more of n fair coins
        sides = (int((values > sample.bound).sum()), int((values < sample.bound).sum()))
        found = [float(special.bdtrc(count - 1, len(values), 0.5)) if count else 1.0 for count in sides]
    else:
        center, error = (float(each) for each in mean_and_error(values))
        away = center - sample.bound
        if error <= 1e-12 * float(np.abs(values).max()):  # they do not vary: sure, but of a tie
            found = [float(away <= 0), float(away >= 0)]
        else:
            found = [float(special.stdtr(len(values) - 1, t)) for t in (-away / error, away / error)]
    return (found[1], found[0]) if sample.below else (found[0], found[1])


def _numbers(estimate: Estimate) -> list[str]:
    """The estimate and the ends of its interval, with as many digits as it is known to."""
    digits = decimals((estimate.high - estimate.low) / 4)
    form = f".{digits}f" if estimate.low < estimate.high and digits < 6 else ".3g"
    return [f"{value:{form}}".replace("-", "−") for value in (estimate.value, estimate.low, estimate.high)]


def _estimate(sample: Sample, median: bool) -> Estimate:
    """Mean or median with Student's or the sign test's 95 % interval."""
    from scipy import stats

    values = sample.values
    if median:
        found = stats.quantile_test(values).confidence_interval(1 - 2 * LEVEL)
        return Estimate(float(np.median(values)), float(found.low), float(found.high))
    if len(values) < 2:
        return Estimate(float(values.mean()))
    center, error = (float(each) for each in mean_and_error(values))
    half = float(stats.t.isf(LEVEL, len(values) - 1)) * error
    return Estimate(center, center - half, center + half)
