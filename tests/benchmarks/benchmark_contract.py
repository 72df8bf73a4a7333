"""What every task must hold to: a test class for a task inherits this and names its class, options and table row."""

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from scipy.optimize import minimize
from scipy.stats import kstest

from scorebo.benchmarks import Benchmark
from scorebo.config import instantiate
from scorebo.errors import InputError

CONFIGS = Path(__file__).parents[2] / "configs" / "benchmark"


def uniform(task: Benchmark, n: int, seed: int = 0) -> torch.Tensor:
    """`n` uniform points in the task's box, `n x D`."""
    unit = torch.from_numpy(np.random.default_rng(seed).random((n, task.dim)))
    return task.bounds[0] + (task.bounds[1] - task.bounds[0]) * unit


class BenchmarkContract:
    """Inherit and fill in what the specification says about the task."""

    name: ClassVar[str]
    bounds: ClassVar[list[list[float]]]
    noise_std: ClassVar[float]
    initial: ClassVar[int]
    total: ClassVar[int]
    maximize: ClassVar[bool] = False
    num_points: ClassVar[int] = 37  # at which values are compared; fewer where they take long
    num_designs: ClassVar[int] = 300
    reference: ClassVar[Any]  # the function by an independent computation: D floats -> float

    @pytest.fixture
    def task(self) -> Benchmark:
        return self.build()

    def build(self, **overrides: Any) -> Benchmark:
        node = OmegaConf.load(CONFIGS / f"{self.name}.yaml")["benchmark"]
        return instantiate("benchmark", OmegaConf.merge(node, overrides), expected=Benchmark)

    def test_numbers_are_those_of_the_specification(self, task):
        assert task.name == self.name
        assert (task.noise_std, task.initial, task.total) == (self.noise_std, self.initial, self.total)
        assert task.dim == len(self.bounds[0])
        assert task.bounds.dtype == torch.float64
        assert task.bounds.tolist() == self.bounds
        assert task.maximize is self.maximize

    def test_values_match_an_independent_computation(self, task):
        X = torch.cat([task.bounds, uniform(task, 40)])
        expected = torch.tensor([float(self.reference(*x)) for x in X.tolist()], dtype=torch.float64)
        torch.testing.assert_close(task.evaluate_true(X), expected, rtol=1e-11, atol=1e-11)

    def test_each_value_depends_on_its_own_row_only(self, task):
        X = uniform(task, self.num_points)
        together = task.evaluate_true(X)
        assert together.shape == (self.num_points,)
        assert together.dtype == torch.float64
        alone = torch.cat([task.evaluate_true(x.unsqueeze(0)) for x in X])
        torch.testing.assert_close(together, alone, rtol=1e-14, atol=1e-14)
        torch.testing.assert_close(task.evaluate_true(X.flip(0)), together.flip(0), rtol=1e-14, atol=1e-14)
        assert task.evaluate_true(X[:0]).shape == (0,)

    def test_leaves_its_input_alone(self, task):
        X = uniform(task, min(5, self.num_points))
        before = X.clone()
        task.evaluate_true(X)
        assert torch.equal(X, before)

    def test_optimal_value_is_reached_and_never_beaten(self, task):
        sign = -1.0 if task.maximize else 1.0
        X = uniform(task, 100_000)
        values = sign * task.evaluate_true(X)
        lower, upper = (bound.numpy() for bound in task.bounds)

        def f(x: np.ndarray) -> float:
            return sign * task.evaluate_true(torch.from_numpy(np.clip(x, lower, upper)).unsqueeze(0)).item()

        best = values.min().item()
        for start in values.topk(8, largest=False).indices:
            options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
            found = minimize(f, X[start].numpy(), method="Nelder-Mead", options=options)
            best = min(best, found.fun)
        assert best >= sign * task.optimal_value - 1e-12 * max(1.0, abs(task.optimal_value))
        assert best == pytest.approx(sign * task.optimal_value, abs=1e-8)

    def test_design_is_a_function_of_name_and_seed_only(self, task):
        design = task.initial_design(3)
        assert design.shape == (self.initial, task.dim)
        assert design.dtype == torch.float64
        torch.manual_seed(1)
        assert torch.equal(self.build(noise_std=0.0, total=self.initial).initial_design(3), design)
        assert torch.equal(task.initial_design(3), design)
        assert not torch.equal(task.initial_design(4), design)
        assert not torch.equal(self.build(name="other").initial_design(3), design)

    def test_a_longer_design_starts_with_the_shorter_one(self, task):
        longer = self.build(initial=self.initial + 5, total=100).initial_design(2)
        assert torch.equal(longer[: self.initial], task.initial_design(2))
        assert torch.equal(longer[-1], task.design_point(2, self.initial + 4))

    def test_designs_are_spread_evenly_over_the_box(self, task):
        designs = torch.cat([task.initial_design(seed) for seed in range(1, self.num_designs + 1)])
        assert (designs >= task.bounds[0]).all()
        assert (designs <= task.bounds[1]).all()
        unit = (designs - task.bounds[0]) / (task.bounds[1] - task.bounds[0])
        for column in unit.T:
            assert kstest(column.numpy(), "uniform").pvalue > 1e-4

    def test_noise_is_a_function_of_name_seed_and_index_only(self):
        noise_std = self.noise_std or 1.0
        task = self.build(noise_std=noise_std)
        value = task.noise(3, 17)
        assert self.build(initial=4, total=9, noise_std=noise_std).noise(3, 17) == value
        assert self.build(noise_std=2 * noise_std).noise(3, 17) == pytest.approx(2 * value, rel=1e-15)
        others = {task.noise(3, 18), task.noise(4, 17), self.build(name="other", noise_std=noise_std).noise(3, 17)}
        assert value not in others
        assert len(others) == 3
        assert self.build(noise_std=0).noise(3, 17) == 0.0

    def test_noise_is_normal_with_the_stated_deviation(self, task):
        sample = np.array([task.noise(seed, index) for seed in range(1, 11) for index in range(1, 401)])
        if self.noise_std == 0.0:
            assert not sample.any()
            return
        assert abs(sample.mean()) < 4 * self.noise_std / math.sqrt(len(sample))
        assert sample.std() == pytest.approx(self.noise_std, rel=0.05)
        assert kstest(sample / self.noise_std, "norm").pvalue > 1e-4

    def test_observation_is_true_value_plus_noise(self, task):
        x = task.initial_design(1)[0]
        y, f = task.observe(x, 1, 1)
        assert f == task.evaluate_true(x.unsqueeze(0)).item()
        assert y == f + task.noise(1, 1)
        assert isinstance(y, float)
        assert isinstance(f, float)

    def test_refuses_points_outside_the_box(self, task):
        for corner, step in ((0, -1e-3), (1, 1e-3)):
            X = uniform(task, 3)
            X[1, -1] = task.bounds[corner, -1] + step
            with pytest.raises(InputError, match=rf"outside the box of task '{self.name}': coordinate {task.dim} of"):
                task.evaluate_true(X)
            with pytest.raises(InputError, match="outside the box"):
                task.observe(X[1], 1, 1)
        X[1, -1] = float("nan")
        with pytest.raises(InputError, match=r"is nan, its bounds are \["):
            task.evaluate_true(X)

    def test_takes_the_corners_themselves(self, task):
        assert task.evaluate_true(task.bounds).isfinite().all()

    def test_refuses_wrong_shapes(self, task):
        X = uniform(task, 3)
        for wrong in (X[0], X.unsqueeze(0), torch.cat([X, X], dim=-1), torch.tensor(0.5)):
            with pytest.raises(InputError, match=f"Task '{self.name}' takes X of shape n x {task.dim}"):
                task.evaluate_true(wrong)
        with pytest.raises(InputError, match=f"Task '{self.name}' observes one point"):
            task.observe(X, 1, 1)
        with pytest.raises(InputError, match=f"Task '{self.name}' takes"):
            task.evaluate_true("point")
