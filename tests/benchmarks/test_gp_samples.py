import functools
import json
import logging
import math
import pickle
from typing import ClassVar

import numpy as np
import pytest
import torch
from benchmark_contract import BenchmarkContract, uniform
from scipy.optimize import minimize
from scipy.stats import kstest

import scorebo
from scorebo.benchmarks import gp_samples, optima
from scorebo.benchmarks.gp_samples import GPSample
from scorebo.config import compose, load_model
from scorebo.errors import InputError
from scorebo.gp.kernels import Matern52

LENGTHSCALE = [10.0**power for power in (-1, -0.5, -0.5, 0, 0, 1.5, 1.5, 1.5)]
SEED = 3


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOREBO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def small(**options):
    """A sample that is quickly searched."""
    settings = {"name": "small", "lengthscale": [0.2, 0.5], "num_features": 32, "initial": 3, "total": 9}
    return GPSample(**{**settings, **options})


def by_numpy(task, X):
    """Values `n` and gradients `n x D` of the function at X, written out."""
    phase = X @ task.frequencies.numpy() + task.phases.numpy()
    weights = task.weights.numpy()
    return np.cos(phase) @ weights, -(np.sin(phase) * weights) @ task.frequencies.numpy().T


@functools.cache
def features(seed):
    """Weight, frequencies and phase of each feature."""
    task = scorebo.load_benchmark("gp8").for_seed(seed)
    return list(zip(task.weights.tolist(), task.frequencies.T.tolist(), task.phases.tolist(), strict=True))


class TestGP8(BenchmarkContract):
    name, noise_std, initial, total, maximize = "gp8", math.sqrt(0.1), 9, 160, True
    bounds: ClassVar = [[0.0] * 8, [1.0] * 8]

    def build(self, **overrides):
        return super().build(**overrides).for_seed(SEED)

    @staticmethod
    def reference(*x):
        return math.fsum(
            w * math.cos(math.fsum(a * z for a, z in zip(f, x, strict=True)) + b) for w, f, b in features(SEED)
        )

    @pytest.mark.parametrize("seed", [1, SEED, 20])
    def test_optimal_value_is_reached_and_never_beaten(self, task, seed):
        task = task.for_seed(seed)
        X = uniform(task, 10_000, seed).numpy()
        values = by_numpy(task, X)[0]
        best = values.max()
        for start in X[np.argsort(-values)[:24]]:
            found = minimize(
                lambda x: tuple(-part[0] for part in by_numpy(task, x[None])),
                start,
                jac=True,
                bounds=[(0.0, 1.0)] * 8,
                options={"ftol": 1e-15, "gtol": 1e-10},
            )
            best = max(best, -found.fun)
        assert best <= task.optimal_value + 1e-12
        assert best == pytest.approx(task.optimal_value, abs=1e-8)

    def test_hyperparameters_are_the_specifications(self, task):
        assert task.lengthscale == pytest.approx(LENGTHSCALE, rel=1e-15)
        assert (task.outputscale, task.num_features) == (1.0, 2048)

    def test_config_selects_model_and_mcmc(self):
        config = compose(["benchmark=gp8", "acquisition=random"])
        assert config.model.name == "bo_lognormal"
        mcmc = config.mcmc
        assert (mcmc.warmup, mcmc.thinning, mcmc.num_mcmc_samples, mcmc.num_optima, mcmc.num_features) == (
            256,
            16,
            16,
            8,
            2048,
        )

    def test_the_true_model_can_take_its_lengthscales(self):
        overrides = ["benchmark=gp8", "acquisition=random", "model=true"]
        model = load_model(compose(overrides).model)
        assert model.lengthscale == pytest.approx(LENGTHSCALE, rel=1e-15)
        assert (model.outputscale, model.noise, model.mean) == (1.0, 0.1, 0.0)


def test_every_seed_is_another_function_and_always_the_same():
    family = scorebo.load_benchmark("gp8")
    X = uniform(family, 20)
    one, two = family.for_seed(1), family.for_seed(2)
    assert not torch.allclose(one.evaluate_true(X), two.evaluate_true(X), atol=0.1)
    assert torch.equal(two.for_seed(1).evaluate_true(X), one.evaluate_true(X))
    assert torch.equal(pickle.loads(pickle.dumps(one)).evaluate_true(X), one.evaluate_true(X))
    assert one.optimal_value != two.optimal_value
    assert two.for_seed(1).optimal_value == one.optimal_value
    assert torch.equal(one.initial_design(1), family.initial_design(1))


def test_before_a_seed_is_chosen_there_is_no_function():
    family = scorebo.load_benchmark("gp8")
    assert family.optimal_value is None
    with pytest.raises(InputError, match=r"another function for every seed: take one with for_seed\(seed\)"):
        family.evaluate_true(uniform(family, 2))
    with pytest.raises(InputError, match="seed must be a whole number"):
        family.for_seed(-1)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("lengthscale", [], "one number for each dimension"),
        ("lengthscale", 0.2, "one number for each dimension"),
        ("lengthscale", [0.2, 0.0], "lengthscale must be a finite number above 0"),
        ("outputscale", 0.0, "outputscale must be a finite number above 0"),
        ("num_features", 0, "num_features must be a whole number of at least 1"),
    ],
)
def test_refuses_unusable_options(option, value, message):
    with pytest.raises(InputError, match=message):
        small(**{option: value})


def test_features_have_the_kernels_spectral_density():
    """The mean of cos(ωᵀ(x − x')) over features is the correlation; 40,960 of them give it to 0.0035 or better."""
    family = scorebo.load_benchmark("gp8")
    frequencies = torch.cat([family.for_seed(seed).frequencies for seed in range(100, 120)], dim=1)
    X = uniform(family, 30)
    steps = 0.4 * (X[:15] - X[15:])
    estimate = (steps @ frequencies).cos().mean(-1)
    distance = (steps / torch.tensor(LENGTHSCALE)).square().sum(-1)
    assert (distance.sqrt().min() < 1.5) & (distance.sqrt().max() > 2)
    torch.testing.assert_close(estimate, Matern52().correlation(distance), rtol=0, atol=4 * 0.0035)


def test_phases_and_weights():
    task = scorebo.load_benchmark("gp8", outputscale=4.0).for_seed(5)
    assert kstest(task.phases.numpy() / (2 * math.pi), "uniform").pvalue > 1e-3
    assert kstest(task.weights.numpy() / math.sqrt(8.0 / 2048), "norm").pvalue > 1e-3


def test_the_table_holds_the_papers_seeds_and_no_search_is_needed(monkeypatch, cache):
    monkeypatch.setattr(gp_samples, "maximize", None)
    family = scorebo.load_benchmark("gp8")
    for seed in range(1, 21):
        task = family.for_seed(seed)
        assert task.optimal_value == task.evaluate_true(torch.tensor([task.optimum.x], dtype=torch.float64)).item()
        # No way up inside the box: half the Newton decrement is what a polished optimum could still gain.
        x = np.array([task.optimum.x])
        gradient = by_numpy(task, x)[1]
        free = ~(((x == 0) & (gradient < 0)) | ((x == 1) & (gradient > 0)))[0]
        frequencies, phase = task.frequencies.numpy()[free], x @ task.frequencies.numpy() + task.phases.numpy()
        hessian = (frequencies * np.cos(phase) * task.weights.numpy()) @ frequencies.T  # of −f
        assert np.linalg.eigvalsh(hessian).min() > 0
        assert 0.5 * gradient[0, free] @ np.linalg.solve(hessian, gradient[0, free]) < 1e-14
    assert not cache.exists()


def test_the_search_does_not_depend_on_its_raw_points(monkeypatch):
    task = scorebo.load_benchmark("gp8").for_seed(21)
    parts = (task.frequencies, task.phases, task.weights)
    one = optima.maximize(*parts, seed=0)
    monkeypatch.setattr(optima, "RAW_POINTS", 2**14)
    other = optima.maximize(*parts, seed=1)
    assert one.value == pytest.approx(other.value, abs=1e-12)
    assert one.x == pytest.approx(other.x, abs=1e-6)


def test_an_optimum_in_a_corner_is_found():
    direction = torch.tensor([[0.3], [0.2]], dtype=torch.float64)
    found = optima.maximize(direction, torch.tensor([-1.0]).double(), torch.tensor([1.0]).double())
    assert found.x == [1.0, 1.0]
    assert found.value == pytest.approx(math.cos(0.5), rel=1e-15)


def test_a_search_is_made_once(monkeypatch, cache):
    first = small().for_seed(1).optimum
    (file,) = (cache / "optima").iterdir()
    assert json.loads(file.read_text())["of"]["seed"] == 1
    monkeypatch.setattr(gp_samples, "maximize", None)
    assert small().for_seed(1).optimum == first


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"x": [0.5, 0.5]}',
        '{"x": [0.5, 0.5], "value": 9.0}',
        '{"x": [0.5], "value": 1.0}',
        '{"x": [0.5, 7.0], "value": 1.0}',
        '{"x": null, "value": "high"}',
    ],
)
def test_a_damaged_cache_is_searched_again_and_said(content, cache, caplog):
    right = small().for_seed(1).optimum
    (file,) = (cache / "optima").iterdir()
    whole = file.read_text()
    file.write_text(content)
    with caplog.at_level(logging.WARNING):
        assert small().for_seed(1).optimum == right
    assert "searched again" in caplog.text
    assert file.read_text() == whole


def test_another_function_of_the_same_name_does_not_take_the_tables_optimum(cache):
    task = scorebo.load_benchmark("gp8", num_features=16).for_seed(1)
    assert task.optimal_value > task.evaluate_true(uniform(task, 2000)).max()
    assert len(list((cache / "optima").iterdir())) == 1


def test_a_run_does_not_need_the_cache(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCOREBO_CACHE", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING):
        assert small().for_seed(1).optimal_value > 0
    assert "The optimum is not kept" in caplog.text


def test_where_the_cache_is(monkeypatch, tmp_path):
    assert optima.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("SCOREBO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert optima.cache_folder() == tmp_path / "xdg" / "scorebo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert optima.cache_folder() == tmp_path / "home" / ".cache" / "scorebo"
