"""The six active-learning tasks, after Riis et al., "Bayesian Active Learning with Fully Bayesian GPs" (2022).

Domains as in the paper's table; noise, initial design and budget are in `configs/benchmark/`. All are minimized where a
direction is needed at all. A minimum that has no closed form was found by search and polished in 40 digits.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from scorebo.benchmarks.base import Benchmark
from scorebo.search.box import Box


class Gramacy1(Benchmark):
    """sin(10πx)/(2x) + (x − 1)⁴: a period that is hard to tell from noise."""

    dim = 1
    bounds = ((0.5,), (2.5,))
    optimal_value = -0.8690111349894998

    def evaluate_true(self, X: Tensor) -> Tensor:
        x = X[:, 0]
        return torch.sin(10 * math.pi * x) / (2 * x) + (x - 1) ** 4


class Higdon(Benchmark):
    """sin(πx/5) + 0.2 cos(4πx/5) left of 10, the line x/10 − 1 from there on (a jump of 0.2 between them)."""

    dim = 1
    bounds = ((0.0,), (20.0,))
    optimal_value = -0.9729074532105485

    def evaluate_true(self, X: Tensor) -> Tensor:
        x = X[:, 0]
        wave = torch.sin(math.pi * x / 5) + 0.2 * torch.cos(4 * math.pi * x / 5)
        return torch.where(x < 10, wave, x / 10 - 1)


class Gramacy2(Benchmark):
    """x₁ exp(−x₁² − x₂²): all that happens is in one corner. Least at (−1/√2, 0)."""

    dim = 2
    bounds = ((-2.0, -2.0), (6.0, 6.0))
    optimal_value = -math.exp(-0.5) / math.sqrt(2)

    def evaluate_true(self, X: Tensor) -> Tensor:
        return X[:, 0] * torch.exp(-X.square().sum(-1))


class Branin(Benchmark):
    """(x₂ − b x₁² + c x₁ − 6)² + 10(1 − 1/(8π)) cos x₁ + 10, b = 5.1/(4π²), c = 5/π.

    Least at (−π, 12.275), (π, 2.275) and (3π, 2.475).
    """

    dim = 2
    bounds = Box(lower=(-5.0, 0.0), upper=(10.0, 15.0))
    # The square vanishes in the box wherever cos x₁ = −1, so that 10/(8π) is left.
    optimal_value = 5 / (4 * math.pi)

    def evaluate_true(self, X: Tensor) -> Tensor:
        x1, x2 = X.unbind(-1)
        square = (x2 - 5.1 / (4 * math.pi**2) * x1.square() + 5 / math.pi * x1 - 6).square()
        return square + 10 * (1 - 1 / (8 * math.pi)) * torch.cos(x1) + 10


class Ishigami(Benchmark):
    """sin x₁ + 7 sin² x₂ + 0.1 x₃⁴ sin x₁. Least at x₁ = −π/2, x₂ ∈ {0, ±π}, x₃ = ±π."""

    dim = 3
    bounds = ((-math.pi,) * 3, (math.pi,) * 3)
    optimal_value = -1 - 0.1 * math.pi**4

    def evaluate_true(self, X: Tensor) -> Tensor:
        x1, x2, x3 = X.unbind(-1)
        return torch.sin(x1) * (1 + 0.1 * x3**4) + 7 * torch.sin(x2).square()


class Hartmann6(Benchmark):
    """−Σ_i α_i exp(−Σ_j A_ij (x_j − P_ij)²): four wells in six dimensions."""

    dim = 6
    bounds: Any = ((0.0,) * 6, (1.0,) * 6)
    optimal_value = -3.3223680114155148

    ALPHA = (1.0, 1.2, 3.0, 3.2)
    A: Any = (
        (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
        (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
        (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
        (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
    )
    P: Any = (
        (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
        (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
        (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
        (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
    )

    def evaluate_true(self, X: Tensor) -> Tensor:
        return self.wells(X)

    @classmethod
    def wells(cls, X: Tensor) -> Tensor:
        """The formula with the class's tables, which say how many dimensions there are."""
        alpha, A, P = (torch.tensor(table, dtype=torch.float64) for table in (cls.ALPHA, cls.A, cls.P))
        exponent = (A * (X.unsqueeze(-2) - P).square()).sum(-1)
        return -(alpha * torch.exp(-exponent)).sum(-1)
