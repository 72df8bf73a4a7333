import math

import mpmath
import numpy as np
import pytest
import torch
from benchmark_contract import BenchmarkContract, uniform
from botorch.test_functions import Branin as BotorchBranin
from botorch.test_functions import Hartmann as BotorchHartmann

mpmath.mp.dps = 30
PI = mpmath.pi


def botorch_hartmann6():
    """BoTorch's Hartmann-6; it holds its published four-digit constants in single precision."""
    function = BotorchHartmann(dim=6).double()
    for buffer in (function.ALPHA, function.A, function.P):
        buffer.copy_(buffer.round(decimals=4))
    return function


def botorch_value(function):
    return lambda *x: function(torch.tensor([x], dtype=torch.float64)).item()


class TestGramacy1(BenchmarkContract):
    name, bounds, noise_std, initial, total = "gramacy1", [[0.5], [2.5]], 0.1, 2, 50

    @staticmethod
    def reference(x):
        return mpmath.sin(10 * PI * x) / (2 * x) + (mpmath.mpf(x) - 1) ** 4

    def test_values_by_hand(self, task):
        # sin(10π·0.55) = −1, sin(10π·2.05) = 1, sin(10π) = 0
        X = torch.tensor([[0.55], [2.05], [1.0], [2.5]], dtype=torch.float64)
        expected = [-1 / 1.1 + 0.45**4, 1 / 4.1 + 1.05**4, 0.0, 5.0625]
        assert task.evaluate_true(X).tolist() == pytest.approx(expected, abs=1e-13)


class TestHigdon(BenchmarkContract):
    name, bounds, noise_std, initial, total = "higdon", [[0.0], [20.0]], 0.1, 2, 50

    @staticmethod
    def reference(x):
        if x < 10:
            return mpmath.sin(PI * x / 5) + mpmath.cos(4 * PI * x / 5) / 5
        return mpmath.mpf(x) / 10 - 1

    def test_values_by_hand_on_both_sides_of_the_jump(self, task):
        X = torch.tensor([[0.0], [2.5], [7.5], [math.nextafter(10.0, 0.0)], [10.0], [15.0], [20.0]]).double()
        X[3] = math.nextafter(10.0, 0.0)
        assert task.evaluate_true(X).tolist() == pytest.approx([0.2, 1.2, -0.8, 0.2, 0.0, 0.5, 1.0], abs=1e-12)


class TestGramacy2(BenchmarkContract):
    name, bounds, noise_std, initial, total = "gramacy2", [[-2.0, -2.0], [6.0, 6.0]], 0.05, 3, 100

    @staticmethod
    def reference(x1, x2):
        return x1 * mpmath.exp(-(mpmath.mpf(x1) ** 2) - mpmath.mpf(x2) ** 2)

    def test_optimum_is_the_stationary_point(self, task):
        x = torch.tensor([[-math.sqrt(0.5), 0.0]], dtype=torch.float64)
        assert task.evaluate_true(x).item() == pytest.approx(task.optimal_value, rel=1e-15)
        assert task.optimal_value == pytest.approx(-0.42888194248035344, rel=1e-14)


class TestBranin(BenchmarkContract):
    name, bounds, noise_std, initial, total = "branin_al", [[-5.0, 0.0], [10.0, 15.0]], 11.32, 3, 100
    reference = staticmethod(botorch_value(BotorchBranin()))

    def test_three_minima(self, task):
        X = torch.tensor([[-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]], dtype=torch.float64)
        assert task.evaluate_true(X).tolist() == pytest.approx([0.397887357729738] * 3, abs=1e-12)
        assert task.optimal_value == pytest.approx(0.39788735772973816, rel=1e-15)


class TestIshigami(BenchmarkContract):
    name, noise_std, initial, total = "ishigami", 0.187, 4, 150
    bounds = [[-math.pi] * 3, [math.pi] * 3]  # noqa: RUF012

    @staticmethod
    def reference(x1, x2, x3):
        x1, x2, x3 = map(mpmath.mpf, (x1, x2, x3))
        return mpmath.sin(x1) + 7 * mpmath.sin(x2) ** 2 + x3**4 * mpmath.sin(x1) / 10

    def test_mean_and_variance_over_the_box(self, task):
        # E f = a/2; V f = a²/8 + bπ⁴/5 + b²π⁸/18 + 1/2 with a = 7, b = 0.1
        nodes, weights = np.polynomial.legendre.leggauss(30)
        grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), -1).reshape(-1, 3) * math.pi
        weight = np.einsum("i,j,k->ijk", weights, weights, weights).reshape(-1) / 8
        values = task.evaluate_true(torch.from_numpy(grid)).numpy()
        mean = weight @ values
        assert mean == pytest.approx(3.5, abs=1e-10)
        variance = 49 / 8 + 0.1 * math.pi**4 / 5 + 0.01 * math.pi**8 / 18 + 0.5
        assert weight @ (values - mean) ** 2 == pytest.approx(variance, abs=1e-9)

    def test_optimum_is_a_corner_of_the_third_coordinate(self, task):
        x = torch.tensor([[-math.pi / 2, 0.0, math.pi]], dtype=torch.float64)
        assert task.evaluate_true(x).item() == pytest.approx(task.optimal_value, rel=1e-15)


class TestHartmann6(BenchmarkContract):
    name, noise_std, initial, total = "hartmann6_al", 0.0192, 7, 150
    bounds = [[0.0] * 6, [1.0] * 6]  # noqa: RUF012
    reference = staticmethod(botorch_value(botorch_hartmann6()))

    def test_optimum_at_the_published_minimizer(self, task):
        x = torch.tensor([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]], dtype=torch.float64)
        assert task.evaluate_true(x).item() == pytest.approx(-3.32237, abs=1e-5)
        assert task.evaluate_true(uniform(task, 20_000)).max() <= 0
