"""The six synthetic optimization tasks; all are minimized.

Branin and Hartmann-6 are the functions of the active-learning tasks. Noise, initial design and budget are in
`configs/benchmark/`. Minima without a closed form were found by search and polished in 50 digits.

Picheny, Wagner, Ginsbourger. A benchmark of kriging-based infill criteria for noisy optimization. Structural and
Multidisciplinary Optimization 2013 (Hartmann-4).
"""

from __future__ import annotations

from torch import Tensor

from scorebo.benchmarks.active_learning import Branin, Hartmann6
from scorebo.benchmarks.base import Benchmark


class _Rosenbrock(Benchmark):
    """Σ_i 100 (x_{i+1} − x_i²)² + (1 − x_i)² on [−1.5, 1.5]^D: a curved valley, least at (1, …, 1)."""

    optimal_value = 0.0

    def evaluate_true(self, X: Tensor) -> Tensor:
        here, following = X[:, :-1], X[:, 1:]
        return (100 * (following - here.square()).square() + (1 - here).square()).sum(-1)


class Rosenbrock2(_Rosenbrock):
    """Rosenbrock's function in two dimensions."""

    bounds = ((-1.5,) * 2, (1.5,) * 2)


class Rosenbrock4(_Rosenbrock):
    """Rosenbrock's function in four dimensions."""

    bounds = ((-1.5,) * 4, (1.5,) * 4)


class Hartmann3(Hartmann6):
    """Four wells in three dimensions, least at (0.114589, 0.555649, 0.852547)."""

    dim = 3
    bounds = ((0.0,) * 3, (1.0,) * 3)
    optimal_value = -3.8627797873326624

    A = ((3.0, 10.0, 30.0), (0.1, 10.0, 35.0), (3.0, 10.0, 30.0), (0.1, 10.0, 35.0))
    P = ((0.3689, 0.1170, 0.2673), (0.4699, 0.4387, 0.7470), (0.1091, 0.8732, 0.5547), (0.0381, 0.5743, 0.8828))


class Hartmann4(Hartmann6):
    """The wells of Hartmann-6 in the first four dimensions of six, shifted and scaled to about mean 0 and variance 1.

    (1.1 + H(x))/0.839, least at (0.187395, 0.194152, 0.557918, 0.264780).
    """

    dim = 4
    bounds = ((0.0,) * 4, (1.0,) * 4)
    optimal_value = -3.134494141222399

    A = tuple(row[:4] for row in Hartmann6.A)
    P = tuple(row[:4] for row in Hartmann6.P)

    def evaluate_true(self, X: Tensor) -> Tensor:
        return (1.1 + super().evaluate_true(X)) / 0.839


__all__ = ["Branin", "Hartmann3", "Hartmann4", "Hartmann6", "Rosenbrock2", "Rosenbrock4"]
