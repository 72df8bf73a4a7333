"""How many seeds it takes to tell two methods apart, from the paired differences there are.

The planned test is the paired t test at 95 %: with n seeds and a standardized difference δ its statistic follows a
noncentral t distribution with n − 1 degrees of freedom and noncentrality δ√n.
"""

from __future__ import annotations

import math

import numpy as np

LEVEL = 0.05
POWER = 0.8
MOST = 10_000  # more seeds than this are never run: the methods count as equal


def power(effect: float, seeds: int, level: float = LEVEL) -> float:
    """Probability that the two-sided paired t test with `seeds` pairs sees a standardized difference `effect`."""
    from scipy import special

    if seeds < 2:
        return 0.0
    critical = float(special.stdtrit(seeds - 1, 1 - level / 2))
    shift = abs(effect) * math.sqrt(seeds)
    low, high = (float(special.nctdtr(seeds - 1, shift, t)) for t in (-critical, critical))
    return 1.0 - high + low


def seeds_needed(differences: np.ndarray, level: float = LEVEL, wanted: float = POWER) -> int | None:
    """Number of pairs at which the test would see a difference like the one observed with probability `wanted`.

    The observed mean and standard deviation are taken for the true ones, so that it is a guide and no promise.

    Returns:
        None if there is nothing to go by (fewer than two pairs, or no difference), or if it would take more than
        `MOST`; 2 if the differences do not vary at all.
    """
    differences = np.asarray(differences, dtype=float)
    if len(differences) < 2 or (mean := float(differences.mean())) == 0.0:
        return None
    spread = float(differences.std(ddof=1))
    if spread <= 1e-12 * abs(mean):
        return 2
    return seeds_for_effect(mean / spread, level, wanted)


def seeds_for_effect(effect: float, level: float = LEVEL, wanted: float = POWER) -> int | None:
    """The least number of pairs with that power; None if more than `MOST`."""
    if power(effect, MOST, level) < wanted:
        return None
    low, high = 1, 2
    while power(effect, high, level) < wanted:
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, level) >= wanted else (middle, high)
    return high
