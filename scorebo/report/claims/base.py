"""What a claim is: statements that are tested on the runs of its experiments, and a verdict over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scorebo.report.evidence import Evidence, MissingRunsError
from scorebo.report.statistics import Estimate

SUPPORTED, CONTRADICTED, UNDECIDED, NOT_RUN = "supported", "contradicted", "undecided", "not run"


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
        lacking: the tasks without runs, without which the statement cannot be decided by any number of seeds.
    """

    words: str
    estimate: Estimate
    seeds: int
    verdict: str
    needed: int | None = None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim, and how it is tested.

    Args:
        id: under which it is found; the paper's are P1 to P18.
        text: what it says.
        test: from the evidence to the claim's statements. It raises `MissingRunsError` where it lacks runs.
        needs_runs: false for a claim that is tested without any.
    """

    id: str
    text: str
    test: Callable[[Evidence], list[Part]]
    needs_runs: bool = True


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    `note` says what was not run, of all of it or of what an undecided one lacks; `scale` is that of the runs where
    their budgets are not the paper's, for which alone the claim was made.
    """

    id: str
    text: str
    verdict: str
    seeds: int
    more_seeds: int | None
    parts: tuple[Part, ...]
    note: str = ""
    scale: str = ""


def judge(claim: Claim, evidence: Evidence) -> Finding:
    """Test a claim: contradicted if any of its statements is, supported if all are."""
    try:
        parts = tuple(claim.test(evidence))
    except MissingRunsError as missing:
        return Finding(claim.id, claim.text, NOT_RUN, 0, None, (), str(missing))
    if not parts:
        return Finding(claim.id, claim.text, NOT_RUN, 0, None, (), "no task with runs of the methods it compares")
    verdicts = {part.verdict for part in parts}
    verdict = CONTRADICTED if CONTRADICTED in verdicts else UNDECIDED if UNDECIDED in verdicts else SUPPORTED
    seeds = min((part.seeds for part in parts if part.seeds), default=0)
    open_parts = [part for part in parts if part.verdict == UNDECIDED]
    more = None
    if verdict == UNDECIDED and all(part.needed is not None for part in open_parts):
        more = max(max(1, (part.needed or 0) - part.seeds) for part in open_parts)
    lacking = list(dict.fromkeys(task for part in open_parts for task in part.lacking))
    return Finding(claim.id, claim.text, verdict, seeds, more, parts, no_runs_on(lacking) if lacking else "")


def no_runs_on(tasks: Sequence[str]) -> str:
    """Which tasks have no runs, in words."""
    return f"no runs on {', '.join(tasks)}"
