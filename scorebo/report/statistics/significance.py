"""Whether paired differences are more than chance: signed-rank test, Holm's correction, probability of improvement.

Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1945.
Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 1979.
Agarwal et al. Deep reinforcement learning at the edge of the statistical precipice. NeurIPS 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def wilcoxon(differences: np.ndarray) -> float:
    """Two-sided p-value of the signed-rank test that paired differences `n` are symmetric about 0.

    Zeros are ranked with the others and then left out (Pratt). Exact where there are neither zeros nor ties, otherwise
    the normal approximation. NaN for fewer than two differences; 1 where all are 0.
    """
    from scipy import stats

    differences = np.asarray(differences, dtype=float)
    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 1.0
    plain = differences.all() and len(np.unique(np.abs(differences))) == len(differences)
    method = "exact" if plain and len(differences) <= 50 else "asymptotic"
    return float(stats.wilcoxon(differences, zero_method="pratt", method=method).pvalue)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Holm's adjusted p-values, in the order given; NaN stays NaN and does not count as a test."""
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full_like(p, np.nan)
    there = np.flatnonzero(~np.isnan(p))
    order = there[np.argsort(p[there], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted


def probability_of_improvement(differences: np.ndarray) -> float:
    """How often the first of a pair is better (its difference negative); ties count half. NaN without pairs."""
    differences = np.asarray(differences, dtype=float)
    if not len(differences):
        return math.nan
    return float(np.mean((differences < 0) + 0.5 * (differences == 0)))
