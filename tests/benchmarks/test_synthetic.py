import math

import mpmath
import pytest
import torch
from benchmark_contract import BenchmarkContract
from botorch.test_functions import Branin as BotorchBranin
from botorch.test_functions import Hartmann as BotorchHartmann
from botorch.test_functions import Rosenbrock as BotorchRosenbrock

from scorebo.benchmarks import active_learning, synthetic
from scorebo.config import compose


def hartmann(dim):
    """BoTorch's; it holds its published constants in single precision, of which these are the four digits."""
    function = BotorchHartmann(dim=dim).double()
    for buffer in (function.ALPHA, function.A, function.P):
        buffer.copy_(buffer.round(decimals=4))
    return function


def value(function):
    return lambda *x: function(torch.tensor([x], dtype=torch.float64)).item()


class Synthetic(BenchmarkContract):
    minimum: float  # as printed in the specification
    minimizer: tuple[float, ...]

    def test_budget_is_that_of_the_dimension(self, task):
        assert task.initial == task.dim + 1
        assert task.total == 25 * (task.dim + 2)

    def test_minimum_is_the_specifications_and_exact(self, task):
        assert task.optimal_value == pytest.approx(self.minimum, abs=6e-6)
        with mpmath.workdps(40):
            at = mpmath.findroot(lambda *x: mpmath.matrix(self.gradient(x)), self.minimizer, tol=1e-60)
            exact = self.precise(list(at))
        # The nearest float64, or the one next to it.
        assert abs(task.optimal_value - exact) <= 2 * math.ulp(float(exact) or 1e-300)

    @classmethod
    def gradient(cls, x):
        """Central differences in 40 digits: exact to about 25."""
        step = mpmath.mpf(10) ** -13
        return [
            (cls.precise([*x[:k], x[k] + step, *x[k + 1 :]]) - cls.precise([*x[:k], x[k] - step, *x[k + 1 :]])) / step
            for k in range(len(x))
        ]

    def test_config_selects_model_and_mcmc(self):
        config = compose([f"benchmark={self.name}", "acquisition=random"])
        assert config.model.name == "bo_lognormal"
        mcmc = config.mcmc
        assert (mcmc.warmup, mcmc.thinning, mcmc.num_mcmc_samples, mcmc.num_optima, mcmc.num_features) == (
            256,
            16,
            16,
            8,
            8192,
        )


def precise_hartmann(dim):
    """Hartmann's function in arbitrary precision, from the published tables."""
    tables = hartmann(dim)
    A, P = ([[mpmath.mpf(str(round(v, 4))) for v in row] for row in t.tolist()] for t in (tables.A, tables.P))

    def function(x):
        wells = [
            mpmath.mpf(alpha)
            * mpmath.exp(-mpmath.fsum(a * (z - p / 10000) ** 2 for a, p, z in zip(A[i], P[i], x, strict=True)))
            for i, alpha in enumerate(("1", "1.2", "3", "3.2"))
        ]
        total = -mpmath.fsum(wells)
        return (mpmath.mpf("1.1") + total) / mpmath.mpf("0.839") if dim == 4 else total

    return function


class TestBranin(Synthetic):
    name, bounds, noise_std, initial, total = "branin", [[-5.0, 0.0], [10.0, 15.0]], 0.5, 3, 100
    minimum, minimizer = 0.397887, (math.pi, 2.275)
    reference = staticmethod(value(BotorchBranin()))

    @staticmethod
    def precise(x):
        pi = mpmath.pi
        square = (x[1] - mpmath.mpf("5.1") / (4 * pi**2) * x[0] ** 2 + 5 / pi * x[0] - 6) ** 2
        return square + 10 * (1 - 1 / (8 * pi)) * mpmath.cos(x[0]) + 10


class Rosenbrock(Synthetic):
    minimum = 0.0

    def test_minimum_is_the_specifications_and_exact(self, task):
        assert task.optimal_value == 0.0
        assert task.evaluate_true(torch.ones(1, task.dim)).item() == 0.0


class TestRosenbrock2(Rosenbrock):
    name, bounds, noise_std, initial, total = "rosenbrock2", [[-1.5] * 2, [1.5] * 2], 2.5, 3, 100
    reference = staticmethod(value(BotorchRosenbrock(dim=2)))


class TestRosenbrock4(Rosenbrock):
    name, bounds, noise_std, initial, total = "rosenbrock4", [[-1.5] * 4, [1.5] * 4], 2.5, 5, 150
    reference = staticmethod(value(BotorchRosenbrock(dim=4)))


class TestHartmann3(Synthetic):
    name, bounds, noise_std, initial, total = "hartmann3", [[0.0] * 3, [1.0] * 3], 0.5, 4, 125
    minimum, minimizer = -3.86278, (0.114589, 0.555649, 0.852547)
    reference, precise = staticmethod(value(hartmann(3))), staticmethod(precise_hartmann(3))


class TestHartmann4(Synthetic):
    name, bounds, noise_std, initial, total = "hartmann4", [[0.0] * 4, [1.0] * 4], 0.5, 5, 150
    minimum, minimizer = -3.13449, (0.187395, 0.194152, 0.557918, 0.264780)
    reference, precise = staticmethod(value(hartmann(4))), staticmethod(precise_hartmann(4))


class TestHartmann6(Synthetic):
    name, bounds, noise_std, initial, total = "hartmann6", [[0.0] * 6, [1.0] * 6], 0.5, 7, 200
    minimum, minimizer = -3.32237, (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
    reference, precise = staticmethod(value(hartmann(6))), staticmethod(precise_hartmann(6))


def test_functions_of_active_learning_are_shared():
    assert synthetic.Branin is active_learning.Branin
    assert synthetic.Hartmann6 is active_learning.Hartmann6
