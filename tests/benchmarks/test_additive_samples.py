import functools
import math
from typing import ClassVar

import numpy as np
import pytest
import torch
from benchmark_contract import BenchmarkContract, uniform

import scorebo
from scorebo.benchmarks import gp_samples
from scorebo.benchmarks.optima import Optimum
from scorebo.config import compose, load_model
from scorebo.errors import InputError
from scorebo.gp import RBF

SEED = 3


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOREBO_CACHE", str(tmp_path / "cache"))


@functools.cache
def features(name):
    """Weight, frequencies and phase of each feature."""
    task = scorebo.load_benchmark(name).for_seed(SEED)
    return list(zip(task.weights.tolist(), task.frequencies.T.tolist(), task.phases.tolist(), strict=True))


class AdditiveSample(BenchmarkContract):
    noise_std, initial, maximize = 0.5, 5, True
    num_groups: ClassVar[int]

    def build(self, **overrides):
        return super().build(**overrides).for_seed(SEED)

    def reference(self, *x):
        return math.fsum(
            w * math.cos(math.fsum(a * z for a, z in zip(f, x, strict=True)) + b) for w, f, b in features(self.name)
        )

    def test_optimal_value_is_reached_and_never_beaten(self, task, monkeypatch):
        """On a grid of each pair's square, much finer than the function can change: 64 steps for a lengthscale of 0.5.

        A top lies within half a step of a grid point in both inputs, where f is lower by at most |f''|/128². With a
        variance of 4 of the second derivative, |f''| < 16 is four standard deviations.
        """
        monkeypatch.setattr(gp_samples, "maximize", None)  # all seeds of the paper are in the table
        side = torch.linspace(0.0, 1.0, 65, dtype=torch.float64)
        grid = torch.cartesian_prod(side, side)
        for seed in range(1, 21):
            one = task.for_seed(seed)
            x = torch.tensor(one.optimum.x, dtype=torch.float64)
            assert one.evaluate_true(x.unsqueeze(0)).item() == one.optimal_value
            if seed % 5:
                continue
            for k, pair in enumerate(one.pairs):
                own = slice(k * one.num_features, (k + 1) * one.num_features)
                points = torch.cat([grid, x[list(pair)].unsqueeze(0)])
                values = (points @ one.frequencies[list(pair), own] + one.phases[own]).cos() @ one.weights[own]
                assert values[-1] - 16 / 128**2 < values[:-1].max() <= values[-1] + 1e-12
        assert task.evaluate_true(uniform(task, 4000)).max().item() <= task.optimal_value

    def test_is_a_sum_over_pairs(self, task):
        """Changing one pair changes f by the same, whatever the other inputs are."""
        assert task.pairs == [(2 * k, 2 * k + 1) for k in range(self.num_groups)]
        X, other = uniform(task, 20), uniform(task, 20, seed=1)
        for pair in task.pairs:
            changes = []
            for base in (X, other):
                moved = base.clone()
                moved[:, list(pair)] = uniform(task, 1, seed=2)[:, list(pair)]
                start = base.clone()
                start[:, list(pair)] = uniform(task, 1, seed=3)[:, list(pair)]
                changes.append(task.evaluate_true(moved) - task.evaluate_true(start))
            torch.testing.assert_close(changes[0], changes[1], rtol=1e-10, atol=1e-10)

    def test_config_selects_model_and_mcmc(self):
        config = compose([f"benchmark={self.name}", "acquisition=random"])
        assert config.model.name == "additive"
        assert load_model(config.model).partitions.max_groups == self.num_groups
        mcmc = config.mcmc
        assert (mcmc.warmup, mcmc.thinning, mcmc.num_mcmc_samples, mcmc.num_optima, mcmc.num_features) == (
            32,
            4,
            12,
            8,
            2048,
        )
        assert compose([f"benchmark={self.name}", "acquisition=random", "model=bo_lognormal"]).model.name


class TestAddGP6(AdditiveSample):
    name, total, num_groups, bounds = "addgp6", 80, 3, [[0.0] * 6, [1.0] * 6]


class TestAddGP10(AdditiveSample):
    name, total, num_groups, bounds = "addgp10", 100, 5, [[0.0] * 10, [1.0] * 10]


def small(**options):
    settings = {"name": "small", "num_groups": 2, "lengthscale": 0.5, "num_features": 32, "initial": 3, "total": 9}
    return gp_samples.AdditiveGPSample(**{**settings, **options})


def test_features_have_the_kernels_spectral_density():
    """The mean of cos(ωᵀ(x − x')) over a pair's features is its correlation; 40,960 of them give it to 0.0035."""
    family = scorebo.load_benchmark("addgp6", num_features=2048)
    tasks = [family.for_seed(seed) for seed in range(100, 120)]
    steps = torch.rand(9, 2, dtype=torch.float64)
    expected = RBF().correlation((steps / 0.5).square().sum(-1))
    for k, pair in enumerate(family.pairs):
        own = slice(2048 * k, 2048 * (k + 1))
        frequencies = torch.cat([task.frequencies[list(pair), own] for task in tasks], dim=1)
        torch.testing.assert_close((steps @ frequencies).cos().mean(-1), expected, rtol=0, atol=4 * 0.0035)
    assert np.var([task.evaluate_true(torch.full((1, 6), 0.5).double()).item() for task in tasks]) > 0.5


def test_other_seeds_are_searched_pair_by_pair_and_every_seed_is_another_function():
    one, two = small().for_seed(1), small().for_seed(2)
    X = uniform(one, 30)
    assert not torch.allclose(one.evaluate_true(X), two.evaluate_true(X), atol=0.05)
    assert torch.equal(two.for_seed(1).evaluate_true(X), one.evaluate_true(X))
    found = one.optimum
    assert found.value == pytest.approx(one.search(seed=4).value, abs=1e-12)
    whole = gp_samples.GPSample.search(one)
    assert isinstance(whole, Optimum)
    assert found.value == pytest.approx(whole.value, abs=1e-10)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("num_groups", 0, "num_groups must be a whole number of at least 1"),
        ("lengthscale", 0.0, "lengthscale must be a finite number above 0"),
    ],
)
def test_refuses_unusable_options(option, value, message):
    with pytest.raises(InputError, match=message):
        small(**{option: value})
