import logging
import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.exceptions.warnings import InputDataWarning

import scorebo
from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp import LogDensity
from scorebo.inference import nuts, pyro_nuts
from scorebo.inference.diagnostics import Chain

FAST = {"warmup": 40, "thinning": 2, "num_mcmc_samples": 4}


def data(n=15, dim=2, seed=0):
    rng = torch.Generator().manual_seed(seed)
    X = torch.rand(n, dim, generator=rng, dtype=torch.float64)
    Y = torch.sin(5 * X[:, :1]) + 0.1 * torch.randn(n, 1, generator=rng, dtype=torch.float64)
    return X, (Y - Y.mean()) / Y.std()


class SamplerContract:
    """What every sampler is held to; a new sampler's test inherits it."""

    sampler: str

    @pytest.mark.parametrize(
        "model", ["al_lognormal", "al_lognormal_no_outputscale", "bo_lognormal", "botorch", "saas"]
    )
    def test_shapes_and_diagnostics(self, model):
        X, Y = data()
        gp = scorebo.fit_gp(X, Y, model=model, sampler=self.sampler, **FAST)
        assert gp.lengthscale.shape == (4, 2)
        assert gp.outputscale.shape == gp.noise.shape == gp.mean.shape == (4,)
        assert gp.noise_floor == 1e-6
        if model == "al_lognormal_no_outputscale":
            assert (gp.outputscale == 1.0).all()
        if model.startswith("al"):
            assert (gp.mean == 0.0).all()
        diagnostics = gp.diagnostics
        assert diagnostics.sampler == self.sampler
        assert diagnostics.draws == 8
        assert diagnostics.gradient_evaluations > 48
        assert diagnostics.wall_seconds > 0
        assert diagnostics.step_size > 0
        assert 0 < diagnostics.acceptance <= 1
        assert diagnostics.ess_bulk > 0
        assert diagnostics.rhat > 0
        assert 1 <= diagnostics.tree_depth_mean <= diagnostics.tree_depth_max <= self.deepest
        assert diagnostics.energy_bfmi > 0
        assert diagnostics.fallback is None

    def test_same_seed_same_sets_and_global_state_untouched(self):
        X, Y = data()
        state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
        first = scorebo.fit_gp(X, Y, sampler=self.sampler, seed=3, **FAST)
        assert torch.equal(torch.get_rng_state(), state)
        assert (np.random.get_state()[1] == numpy_state).all()
        torch.rand(7)
        again = scorebo.fit_gp(X, Y, sampler=self.sampler, seed=3, **FAST)
        other = scorebo.fit_gp(X, Y, sampler=self.sampler, seed=4, **FAST)
        for name in ("lengthscale", "outputscale", "noise", "mean"):
            assert torch.equal(getattr(first, name), getattr(again, name))
        assert not torch.equal(first.lengthscale, other.lengthscale)


class StandardNormal:
    """A density whose energies are known."""

    def __init__(self, dim):
        self.dim = dim
        self.evaluations = 0

    def __call__(self, theta):
        self.evaluations += 1
        return -0.5 * float(theta @ theta), -theta


class TestNUTS(SamplerContract):
    sampler = "nuts"
    deepest = 4


class TestPyro(SamplerContract):
    sampler = "pyro"
    deepest = 6

    def test_energies_are_those_of_a_normal(self):
        """For a normal of d dimensions the energy less its minimum is Γ(d, 1): potential and kinetic, χ²_d/2 each."""
        density = StandardNormal(dim=6)
        chain = pyro_nuts.sample(density, np.zeros(6), warmup=200, draws=1000, seed=1)
        assert chain.energy.mean() == pytest.approx(6.0, abs=0.5)
        assert chain.energy.var() == pytest.approx(6.0, rel=0.3)
        steps = 2**chain.tree_depth - 1
        assert density.evaluations >= steps.sum() / 2


class TestSequential(SamplerContract):
    """Its first fit is a chain; those after it are in test_sequential.py."""

    sampler = "sequential"
    deepest = 4


def test_sets_are_every_thinning_th_draw(monkeypatch):
    theta = np.random.default_rng(0).standard_normal((12, 5))

    def sample(density, start, *, warmup, draws, **_):
        assert (warmup, draws) == (5, 12)
        return Chain(theta)

    monkeypatch.setattr(nuts, "sample", sample)
    gp = scorebo.fit_gp(*data(), warmup=5, thinning=3, num_mcmc_samples=4)
    np.testing.assert_allclose(gp.lengthscale.log(), theta[2::3, :2], rtol=1e-12)


def test_maximum_is_a_stationary_point_of_the_density_of_the_parameters():
    X, Y = data(n=25)
    gp = scorebo.fit_gp(X, Y, model="map")
    assert gp.num_mcmc_samples == 1
    assert gp.noise_floor == 0.0
    density = LogDensity(X.numpy(), Y[:, 0].numpy(), load_model("map"), of_logarithms=False, noise_floor=0.0)
    theta = torch.cat([gp.lengthscale[0].log(), gp.outputscale.log(), gp.noise.log(), gp.mean]).numpy()
    value, gradient = density(theta)
    assert np.abs(gradient).max() < 1e-3
    rng = np.random.default_rng(0)
    assert all(density(start)[0] <= value for start in density.sample_prior(rng, 500))


def test_maximum_keeps_the_noise_above_its_bound():
    X = torch.linspace(0, 1, 12, dtype=torch.float64)[:, None]
    Y = torch.sin(3 * X)
    Y = (Y - Y.mean()) / Y.std()
    free = float(scorebo.fit_gp(X, Y, sampler="map").noise)
    assert 1e-4 <= free < 1e-2
    bound = float(scorebo.fit_gp(X, Y, sampler="map", noise_lower_bound=1e-2).noise)
    assert bound == pytest.approx(1e-2, rel=1e-6)
    assert load_model("map").noise_lower_bound == load_model("bo_lognormal").noise_lower_bound == 1e-4


def test_settings_of_a_surrogate_object_can_be_changed_too():
    gp = scorebo.fit_gp(*data(), model=load_model("bo_lognormal"), kernel="rbf", **FAST)
    assert gp.kernel.name == "rbf"


def test_known_hyperparameters_are_taken_as_they_are():
    X, Y = data()
    gp = scorebo.fit_gp(X, Y, model="true", lengthscale=[0.3, 2.0], noise=0.05)
    assert gp.lengthscale.tolist() == [[pytest.approx(0.3, rel=1e-14), pytest.approx(2.0, rel=1e-14)]]
    assert float(gp.noise) == pytest.approx(0.05, rel=1e-14)
    assert gp.diagnostics.sampler == "known"


def test_interrupt_stops_a_fit():
    """nutpie itself would take the interrupt for a wish to keep the draws made so far."""
    scorebo.fit_gp(*data(), **FAST)  # compiles: that must not be what is interrupted
    # A process started in the background ignores interrupts, and so would this test.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            scorebo.fit_gp(*data(n=60), warmup=10**7)  # would take the better part of an hour
    finally:
        alarm.cancel()
        signal.signal(signal.SIGINT, before)


class TestFailingSampler:
    def test_is_retried_with_another_seed(self, monkeypatch, caplog):
        real, seeds = nuts.sample, []

        def flaky(density, start, *, seed, **settings):
            seeds.append(seed)
            if len(seeds) == 1:
                raise RuntimeError("All initialization points failed\nCaused by: …")
            return real(density, start, seed=seed, **settings)

        monkeypatch.setattr(nuts, "sample", flaky)
        with caplog.at_level(logging.WARNING):
            gp = scorebo.fit_gp(*data(), **FAST)
        assert gp.diagnostics.retries == 1
        assert gp.diagnostics.retry_reason == "All initialization points failed"
        assert gp.diagnostics.fallback is None
        assert len(set(seeds)) == 2
        assert "attempt 1 of 3 failed: All initialization points failed." in caplog.text

    def test_falls_back_to_laplace_draws_and_says_so(self, monkeypatch, caplog):
        monkeypatch.setattr(nuts, "sample", lambda density, start, *, draws, **_: Chain(np.ones((draws, density.dim))))
        with caplog.at_level(logging.WARNING):
            gp = scorebo.fit_gp(*data(), **FAST)
        assert gp.num_mcmc_samples == 4
        assert gp.diagnostics.fallback == "laplace"
        assert gp.diagnostics.retries == 3
        assert gp.diagnostics.retry_reason == "no proposal was accepted"
        assert "failed 3 times: the sets are Laplace draws" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "bo_log"}, "Unknown model 'bo_log'. Did you mean"),
        ({"sampler": "hmc"}, "Unknown sampler 'hmc'. Allowed: map, nuts, pyro, sequential"),
        ({"num_mcmc_samples": 0}, "num_mcmc_samples must be a whole number of at least 1"),
        ({"thinning": 0}, "thinning must be a whole number of at least 1"),
        ({"warmup": 0}, "warmup must be a whole number of at least 1"),
        ({"sampler": "sequential", "transitions": 0}, "transitions must be a whole number of at least 1"),
        ({"sampler": "sequential", "refresh_every": 0}, "refresh_every must be a whole number of at least 1"),
        ({"sampler": "sequential", "refresh_fraction": -0.1}, "refresh_fraction must be a finite number of at least 0"),
        ({"transitions": 3}, "Unknown setting of model 'bo_lognormal' 'transitions'"),
        ({"max_tree_depth": 0}, "max_tree_depth must be a whole number"),
        ({"target_acceptance": 1.0}, "target_acceptance must be a finite number above 0 and below 1, got 1"),
        ({"model": load_model("botorch"), "wrong": 1}, "Unknown setting of model 'botorch' 'wrong'"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"kernel": "periodic"}, "Unknown kernel 'periodic'"),
        ({"model": 3}, "model must be the name of a model config, a config node or a Surrogate, got 3"),
        ({"model": "true"}, "needs a value for lengthscale"),
        ({"wrong": 1}, "Unknown setting of model 'bo_lognormal' 'wrong'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        scorebo.fit_gp(*data(), **settings)


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (torch.rand(5), torch.rand(5), "X must be n x D"),
        (torch.rand(5, 2), torch.rand(4), "Y must be n x 1 or n with n = 5"),
        (torch.rand(5, 2), torch.rand(5, 2), "Y must be n x 1"),
        (torch.rand(1, 2), torch.rand(1), "At least two observations"),
        (torch.rand(5, 2), torch.full((5,), 0.3), "Y is constant: all 5 observations equal 0.3"),
        (torch.ones(5, 2), torch.rand(5), "duplicates of one point"),
        (torch.tensor([[0.1], [float("nan")]]), torch.rand(2), "X holds values that are not finite"),
        (torch.rand(2, 1), torch.tensor([0.1, float("inf")]), "Y holds values that are not finite"),
        (torch.rand(2, 1), None, "Y must be a tensor, an array or a nested list of numbers, got None"),
        ([[0.1, 0.2], [0.3]], [1.0, 2.0], "X must be a tensor, an array or a nested list of numbers"),
    ],
)
def test_bad_data(X, Y, message):
    with pytest.raises(InputError, match=message):
        scorebo.fit_gp(X, Y)


@pytest.mark.parametrize(
    "kind",
    [
        lambda values: values.float().double().float(),
        lambda values: values.clone().requires_grad_(),
        lambda values: values.numpy(),
        lambda values: values.tolist(),
        lambda values: pd.DataFrame(values.numpy()),
    ],
)
def test_data_of_any_kind(kind):
    X, Y = (values.float().double() for values in data(n=2, dim=2))  # square: a data frame must not be transposed
    expected = scorebo.fit_gp(X, Y, **FAST)
    for outputs in (Y, Y[:, 0]):
        gp = scorebo.fit_gp(kind(X), kind(outputs), **FAST)
        assert torch.equal(gp.train_X, X)
        assert gp.train_Y.dtype == torch.float64
        assert torch.equal(gp.lengthscale, expected.lengthscale)


class TestScaleOfTheData:
    """Pytest turns warnings into errors: where none is expected, none is issued."""

    KNOWN = {"model": "true", "lengthscale": [0.3, 2.0]}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("scale", "shift", "message"),
        [
            ((15.0, 1.0), (-5.0, 0.0), r"Inputs range from -3\.\d+ to 9\.\d+, not within the unit box: scale them"),
            ((1.0, 100.0), (0.0, 0.0), r"Outputs have mean \S+ and standard deviation 100: standardize them"),
            ((1.0, 0.1), (0.0, 0.0), "standard deviation 0.1: standardize"),
            ((1.0, 1.0), (0.0, 1.5), "Outputs have mean 1.5 and standard deviation 1: standardize"),
            ((2.0, 3.0), (0.0, 0.0), "Inputs range .* Outputs have mean .* model 'bo_lognormal'"),
        ],
    )
    def test_one_warning_that_says_what_to_do(self, scale, shift, message):
        X, Y = data()
        with pytest.warns(InputDataWarning, match=message) as caught:
            scorebo.fit_gp(scale[0] * X + shift[0], scale[1] * Y + shift[1], **FAST)
        assert len(caught) == 1
        assert caught[0].filename == __file__

    @pytest.mark.parametrize(
        ("scale", "shift"), [((1.02, 1.0), (-0.01, 0.0)), ((1.0, 1.9), (0.0, 0.0)), ((1.0, 0.6), (0.0, 0.9))]
    )
    def test_none_close_to_it(self, scale, shift):
        X, Y = data()
        assert scorebo.fit_gp(scale[0] * X + shift[0], scale[1] * Y + shift[1], **FAST).num_mcmc_samples == 4

    def test_a_model_that_does_not_standardize_takes_outputs_of_any_scale(self):
        X, Y = data()
        assert scorebo.fit_gp(X, 100.0 * Y, **self.KNOWN).num_mcmc_samples == 1
        with pytest.warns(InputDataWarning, match="model 'true'") as caught:
            scorebo.fit_gp(2.0 * X, 100.0 * Y, **self.KNOWN)
        assert "Outputs" not in str(caught[0].message)


def test_duplicate_points_are_fitted():
    X, Y = data(n=10)
    gp = scorebo.fit_gp(torch.cat([X, X]), torch.cat([Y, Y + 0.1]), **FAST)
    mean, variance = gp.marginals(X)
    assert torch.isfinite(mean).all()
    assert (variance > 0).all()
