"""Regrets and the recommended point, on tasks small enough to know the answers."""

import logging
import math

import pytest
import torch

import scorebo
from scorebo.benchmarks import Benchmark
from scorebo.errors import EvaluationError
from scorebo.gp import FullyBayesianGP
from scorebo.run.regret import observed_metrics, optimization_metrics
from scorebo.transforms.standardize import DataTransform


class Bowl(Benchmark):
    """(x₁ − 1)² + (x₂ − 3)² on [−2, 4] x [0, 10], or its negative to be maximized."""

    bounds = scorebo.Box(lower=(-2.0, 0.0), upper=(4.0, 10.0))

    def __init__(self, *, maximize=False, optimum=0.0):
        super().__init__(name="bowl", initial=3, total=9, noise_std=0.1)
        self.maximize, self.optimal_value = maximize, optimum

    def evaluate_true(self, X):
        value = (X - torch.tensor([1.0, 3.0], dtype=torch.float64)).square().sum(-1)
        return -value if self.maximize else value


def observed(task, n=25, noise=0.1):
    X = task.bounds[0] + (task.bounds[1] - task.bounds[0]) * torch.rand(n, 2, dtype=torch.float64)
    f = task.evaluate_true(X)
    return X, f + noise * torch.randn(n, dtype=torch.float64), f


def fitted(task, X, y, *, lengthscale=0.8, noise=1e-4, num_mcmc_samples=2):
    transform = DataTransform.of(task.bounds, y, maximize=task.maximize, standardize=True)
    model = FullyBayesianGP(
        transform.to_unit(X),
        transform.to_model(y),
        lengthscale=lengthscale * torch.tensor([[1.0, 1.0], [1.2, 0.9]])[:num_mcmc_samples],
        outputscale=torch.full((num_mcmc_samples,), 4.0),
        noise=torch.full((num_mcmc_samples,), noise),
        mean=torch.zeros(num_mcmc_samples),
    )
    return model, transform


def measure(task, seed=1, iteration=4):
    X, y, f = observed(task)
    model, transform = fitted(task, X, y)
    return optimization_metrics(model, task, transform, X, y, f, seed, iteration), (X, y, f, model, transform)


@pytest.mark.parametrize("maximize", [False, True])
def test_regrets_by_hand(maximize):
    task = Bowl(maximize=maximize)
    found, (X, y, f, model, transform) = measure(task)
    recommended = torch.tensor([found["recommended_x"]], dtype=torch.float64)
    assert found["inference_value"] == task.evaluate_true(recommended).item()
    # The optimum is 0 in either direction: a regret is the distance from it.
    assert found["inference_regret"] == abs(found["inference_value"])
    assert found["inference_regret"] < 0.2  # 25 points with noise 0.1 show the bottom of a bowl 60 high
    means = model.posterior(transform.to_unit(X).unsqueeze(-2)).mixture_mean.flatten()
    assert found["in_sample_inference_regret"] == abs(f[means.argmax()].item())
    assert found["simple_regret"] == f.abs().min().item()
    assert found["best_observed"] == (y.max() if maximize else y.min()).item()
    assert found["optimum_violation"] == 0.0
    assert set(found) >= {"inference_regret", "in_sample_inference_regret", "simple_regret", "best_observed"}


def test_the_two_directions_are_mirror_images():
    torch.manual_seed(3)
    down, _ = measure(Bowl())
    torch.manual_seed(3)
    task = Bowl(maximize=True)
    X, y, f = observed(task)
    y = f - (y - f)  # the same noise, mirrored
    model, transform = fitted(task, X, y)
    up = optimization_metrics(model, task, transform, X, y, f, 1, 4)
    assert up["recommended_x"] == pytest.approx(down["recommended_x"], abs=1e-9)
    assert up["inference_regret"] == pytest.approx(down["inference_regret"], rel=1e-9)
    assert up["inference_value"] == pytest.approx(-down["inference_value"], rel=1e-9)
    assert up["best_observed"] == pytest.approx(-down["best_observed"], rel=1e-12)


@pytest.mark.parametrize("maximize", [False, True])
def test_what_the_observations_alone_tell(maximize):
    found, (_, y, f, _, _) = measure(Bowl(maximize=maximize))
    alone = observed_metrics(Bowl(maximize=maximize), y, f)
    asked = ("inference_regret", "in_sample_inference_regret", "inference_value", "recommended_x")
    assert alone == found | dict.fromkeys(asked)


def test_nothing_is_said_about_an_unknown_optimum():
    found, _ = measure(Bowl(optimum=None))
    assert found["inference_regret"] is found["in_sample_inference_regret"] is found["simple_regret"] is None
    assert found["optimum_violation"] is None
    assert math.isfinite(found["inference_value"])
    assert math.isfinite(found["best_observed"])


@pytest.mark.parametrize("maximize", [False, True])
def test_a_value_better_than_the_optimum_is_reported(maximize, caplog):
    task = Bowl(maximize=maximize, optimum=-50.0 if maximize else 50.0)
    with caplog.at_level(logging.WARNING):
        found, (_, _, f, _, _) = measure(task)
    best = min(f.abs().min().item(), abs(found["inference_value"]))
    assert found["optimum_violation"] == pytest.approx(50.0 - best, rel=1e-14)
    assert found["inference_regret"] == found["simple_regret"] == 0.0
    assert "Task 'bowl': a noiseless value is better than the optimal value" in caplog.text


def test_rounding_is_no_violation(caplog):
    task = Bowl(optimum=1e-9)
    X = torch.tensor([[1.0, 3.0], [0.0, 0.0], [3.0, 8.0]], dtype=torch.float64)
    f = task.evaluate_true(X)
    model, transform = fitted(task, X, f)
    found = optimization_metrics(model, task, transform, X, f, f, 1, 4)
    assert found["optimum_violation"] == 0.0
    assert found["simple_regret"] == 0.0
    assert not caplog.text


def test_the_result_is_a_function_of_its_arguments():
    task = Bowl()
    X, y, f = observed(task)
    model, transform = fitted(task, X, y)
    state = torch.get_rng_state()
    first = optimization_metrics(model, task, transform, X, y, f, 1, 4)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    assert optimization_metrics(model, task, transform, X, y, f, 1, 4) == first


def test_recommended_point_is_never_below_the_best_queried_one():
    """Short lengthscales: needles at the data, which only the data themselves show."""
    task = Bowl()
    X, y, f = observed(task, n=12)
    model, transform = fitted(task, X, y, lengthscale=1e-4, noise=1e-6, num_mcmc_samples=1)
    found = optimization_metrics(model, task, transform, X, y, f, 1, 4)
    assert found["recommended_x"] == pytest.approx(X[y.argmin()].tolist(), abs=2e-3)
    assert found["inference_value"] == pytest.approx(f[y.argmin()].item(), abs=0.1)


def test_gp8_regret_uses_the_seeds_own_optimum(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOREBO_CACHE", str(tmp_path))
    family = scorebo.load_benchmark("gp8")
    regrets = []
    for seed in (1, 2):
        task = family.for_seed(seed)
        X = task.initial_design(seed)
        f = task.evaluate_true(X)
        transform = DataTransform.of(task.bounds, f, maximize=True, standardize=False)
        model = scorebo.fit_gp(X, f, model="true", lengthscale=task.lengthscale)
        regrets.append(optimization_metrics(model, task, transform, X, f, f, seed, 10)["simple_regret"])
        assert regrets[-1] == task.optimal_value - f.max().item()
    assert regrets[0] != regrets[1]


def test_a_good_model_recommends_what_was_never_queried():
    """With noiseless data on a fine design the recommended point is the task's own optimum."""
    task = Bowl()
    grid = torch.cartesian_prod(*(torch.linspace(a, b, 9, dtype=torch.float64) for a, b in task.bounds.T.tolist()))
    f = task.evaluate_true(grid)
    model, transform = fitted(task, grid, f, noise=1e-8)
    found = optimization_metrics(model, task, transform, grid, f, f, 1, 82)
    assert found["recommended_x"] == pytest.approx([1.0, 3.0], abs=0.05)
    assert found["inference_regret"] < 1e-3
    assert found["inference_regret"] < found["simple_regret"]


def test_a_recommended_point_without_a_value_is_a_failed_evaluation():
    class Broken(Bowl):
        def evaluate_true(self, X):
            raise RuntimeError("out of order")

    X, y, f = observed(Bowl())
    model, transform = fitted(Bowl(), X, y)
    with pytest.raises(EvaluationError, match=r"The recommended point x = \[.*\] failed\. .*out of order") as failed:
        optimization_metrics(model, Broken(), transform, X, y, f, 1, 26)
    assert len(failed.value.x) == 2
    assert "out of order" in failed.value.reason
