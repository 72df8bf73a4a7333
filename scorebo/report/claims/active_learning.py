"""The claims on active learning: P2, P3, P4 and P17."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scorebo.report.claims import reference
from scorebo.report.claims.base import Claim, Evidence, Part
from scorebo.report.claims.per_run import average_ranks, finals, fluctuation, log_hyperparameters, moment, per_run
from scorebo.report.claims.statements import Statistic, below_others, best_count, greater, holds, require

METHODS = ("sal_hr", "bald", "bqbc", "qbmgp", "sal_ws")
HR, BALD, BQBC, QBMGP, WS = range(5)
TASKS = ("gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al")
FIXED = 1e-9  # decades: what varies less over the sets of every model is the same in all of them


def _best_in_likelihood(evidence: Evidence) -> list[Part]:
    table = evidence.runs("al_mll")
    by_task = finals(table, "negative_mll")
    final, missing = list(by_task.values()), [task for task in TASKS if task not in by_task]
    ranks = list(average_ranks(table, "negative_mll").values())
    count = holds("tasks on which SAL-HR ends best, less 2.5", final, METHODS, best_count(HR, 3), missing)
    first = below_others([HR], [BALD, BQBC, QBMGP, WS])
    parts = [
        count,
        holds("rank of the best other method − rank of SAL-HR", ranks, METHODS, first, missing),
        holds(
            "better rank of QBMGP, SAL-WS − worse rank of BQBC, BALD",
            ranks,
            METHODS,
            below_others([BQBC, BALD], [QBMGP, WS]),
            missing,
        ),
    ]
    if not missing:
        parts.append(holds("spread of the rank over tasks, SAL-WS − SAL-HR", ranks, METHODS, _spread(WS, HR)))
    return parts


def _spread(larger: int, smaller: int) -> Statistic:
    """Standard deviation over tasks of the mean rank, of one method less that of another."""

    def statistic(values: list[np.ndarray]) -> np.ndarray:
        spread = np.std([part.mean(axis=1) for part in values], axis=0, ddof=1)
        return spread[:, larger] - spread[:, smaller]

    return statistic


def _stable_on_ishigami(evidence: Evidence) -> list[Part]:
    frame = fluctuation(evidence.runs("al_mll"), "negative_mll", "ishigami")
    steady = below_others([HR, BALD], [BQBC, QBMGP, WS])
    words = "change of the negative MLL from model to model: steadiest other − less steady of SAL-HR, BALD"
    return [holds(words, [frame], METHODS, steady)]


def _best_in_error(evidence: Evidence) -> list[Part]:
    by_task = average_ranks(evidence.runs("al_rmse"), "rmse")
    ranks, missing = list(by_task.values()), [task for task in TASKS if task not in by_task]
    first = below_others([WS], [HR, BALD, BQBC, QBMGP])
    return [
        holds("RMSE rank of the best other method − rank of SAL-WS", ranks, METHODS, first, missing),
        holds("RMSE rank of SAL-HR − rank of SAL-WS", ranks, METHODS, below_others([WS], [HR]), missing),
    ]


def _hyperparameters(evidence: Evidence) -> list[Part]:
    parts = []
    fixed = log_hyperparameters(evidence.hyperparameters("ishigami_hyperparameters_no_outputscale"), "ishigami")
    error = per_run(fixed, _error(fixed, reference.fitted("ishigami", "al_lognormal_no_outputscale")), last=True)
    nearer = below_others([HR, BALD], [BQBC, QBMGP, WS])
    words = "distance from the reference in decades, outputscale fixed: best other − worse of SAL-HR, BALD"
    parts.append(holds(words, [error], METHODS, nearer))
    free = log_hyperparameters(evidence.hyperparameters("ishigami_hyperparameters"), "ishigami")
    away = per_run(free, _error(free, reference.fitted("ishigami", "al_lognormal")), last=True)
    both = pd.concat([require(error, METHODS), require(away, METHODS).add_suffix("@free")], axis=1)
    columns = ["sal_hr", "bald", *(f"{method}@free" for method in METHODS)]
    words = "the same distance, nearest with a free outputscale − worse of SAL-HR, BALD with a fixed one"
    parts.append(holds(words, [both], columns, below_others([0, 1], range(2, len(columns)))))
    moves = moment(free, "mean").groupby(level=["method", "seed"]).diff().abs().mean(axis=1)
    words = "change of log10 hyperparameters from model to model: steadiest other − less steady of SAL-HR, BALD"
    parts.append(holds(words, [per_run(free, moves)], METHODS, nearer))
    hartmann = log_hyperparameters(evidence.hyperparameters("hartmann6_hyperparameters"), "hartmann6_al")
    spread = require(per_run(hartmann, moment(hartmann, "std").mean(axis=1)), METHODS)
    others = spread[list(METHODS[1:])].mean(axis=1, skipna=False)
    parts.append(
        greater(
            "spread over sets on Hartmann-6 in decades: mean of the others − SAL-HR",
            spread.assign(others=others),
            "others",
            "sal_hr",
        )
    )
    return parts


def _error(summary: pd.DataFrame, truth: dict[str, float]) -> pd.Series:
    """Mean over the parameters of how far their mean log10 is from the truth; one that is fixed is not estimated."""
    known = [name for name in truth if (name, "std") in summary.columns and summary[name, "std"].max() > FIXED]
    return sum((summary[name, "mean"] - truth[name]).abs() for name in known) / len(known)  # type: ignore[return-value]


CLAIMS = (
    Claim(
        "P2",
        "SAL-HR is best in negative MLL on at least 3 of 6 tasks and first in rank, followed by BQBC and BALD; SAL-WS "
        "is less consistent",
        _best_in_likelihood,
    ),
    Claim("P3", "On Ishigami only SAL-HR and BALD are stable", _stable_on_ishigami),
    Claim("P4", "SAL-WS is first in RMSE rank, SAL-HR clearly behind it", _best_in_error),
    Claim(
        "P17",
        "Ishigami without outputscale: only SAL-HR and BALD estimate all hyperparameters; with it none converges and "
        "those two are most stable; SAL-HR has low spread on Hartmann-6",
        _hyperparameters,
    ),
)
