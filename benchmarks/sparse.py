"""Functions of a few of many inputs: the rest do not matter, and a model has to find that out. All are minimized.

Noise, initial design and budget are in `configs/benchmark/`.

Ackley. A connectionist machine for genetic hillclimbing. 1987. Eriksson, Jankowiak. High-dimensional Bayesian
optimization with sparse axis-aligned subspaces. UAI 2021.
"""

from __future__ import annotations

import math

from torch import Tensor

from scorebo.benchmarks.active_learning import Hartmann6
from scorebo.benchmarks.base import Benchmark


class Ackley4In25(Benchmark):
    """20 + e − 20 exp(−√(mean x²)/5) − exp(mean cos 2πx) of the first four of 25 inputs: ripples in a funnel.

    Least where the four are 0, in the middle of the box.
    """

    dim = 25
    num_active = 4
    bounds = ((-32.768,) * 25, (32.768,) * 25)
    optimal_value = 0.0

    def evaluate_true(self, X: Tensor) -> Tensor:
        active = X[:, : self.num_active]
        # expm1 keeps the digits next to the optimum, where the exponentials cancel 20 and e.
        funnel = -20 * (-active.square().mean(-1).sqrt() / 5).expm1()
        ripples = -math.e * ((2 * math.pi * active).cos().mean(-1) - 1).expm1()
        return funnel + ripples


class Hartmann6In25(Benchmark):
    """Hartmann's function of the first six of 25 inputs."""

    dim = 25
    num_active = 6
    bounds = ((0.0,) * 25, (1.0,) * 25)
    optimal_value = Hartmann6.optimal_value

    def evaluate_true(self, X: Tensor) -> Tensor:
        return Hartmann6.wells(X[:, : self.num_active])
