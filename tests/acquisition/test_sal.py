from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from acquisition_contract import AcquisitionContract, points, with_sets
from botorch_community.acquisition.bayesian_active_learning import qStatisticalDistanceActiveLearning
from scipy.stats import norm
from torch.distributions import Normal, kl_divergence

from scorebo.acquisition import BALD, BQBC, SAL
from scorebo.acquisition.distances import DISTANCES, Hellinger
from scorebo.errors import InputError
from tests.conftest import random_ensemble


class SquaredMeanDifference(Hellinger):
    """With which SAL is BQBC."""

    def closed_form(self, mean1, variance1, mean2, variance2):
        return (mean1 - mean2).square()


class TestHellinger(AcquisitionContract):
    def build(self, model):
        return SAL(model)


class TestWasserstein(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="wasserstein")


class TestKL(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="kl")


class TestHellingerMonteCarlo(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="hellinger", estimator="monte_carlo", num_samples=64)


class TestWassersteinMonteCarlo(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="wasserstein", estimator="monte_carlo", num_samples=64)


class TestKLMonteCarlo(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="kl", estimator="monte_carlo", num_samples=64)


class TestReverseKL(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="reverse_kl")


class TestReverseKLMonteCarlo(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="reverse_kl", estimator="monte_carlo", num_samples=64)


class TestHellingerExact(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="hellinger", estimator="exact")


class TestWassersteinExact(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="wasserstein", estimator="exact")


class TestKLExact(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="kl", estimator="exact")


class TestReverseKLExact(AcquisitionContract):
    def build(self, model):
        return SAL(model, distance="reverse_kl", estimator="exact")


class TestNoiseless(AcquisitionContract):
    gradient_step = 1e-6

    def build(self, model):
        return SAL(model, observation_noise=False)


class TestMeanOfTheVariances(AcquisitionContract):
    def build(self, model):
        return SAL(model, marginal_variance="mean")


@pytest.mark.parametrize("num_mcmc_samples", [1, 2, 12, 16])
def test_kl_is_bald(num_mcmc_samples):
    for seed in range(10):
        model = random_ensemble(seed, num_mcmc_samples=num_mcmc_samples, dim=1 + seed % 3)
        X = torch.cat([points(100, model.dim, seed), model.train_X]).unsqueeze(1)
        torch.testing.assert_close(SAL(model, distance="kl")(X), BALD(model)(X), rtol=0, atol=1e-10)


def test_squared_difference_of_means_is_bqbc():
    model = random_ensemble(0, num_mcmc_samples=12)
    X = points(100, 2).unsqueeze(1)
    torch.testing.assert_close(SAL(model, distance=SquaredMeanDifference)(X), BQBC(model)(X), rtol=1e-13, atol=0)


def test_hellinger_agrees_with_botorch_community():
    model = random_ensemble(0, num_mcmc_samples=16)
    X = points(100, 2).unsqueeze(1)
    reference = qStatisticalDistanceActiveLearning(model, distance_metric="hellinger")(X)
    torch.testing.assert_close(SAL(model)(X), reference, rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", DISTANCES)
def test_identical_sets_do_not_disagree(distance):
    model = with_sets(random_ensemble(1), [2] * 12)
    X = points(50, 2).unsqueeze(1)
    assert (SAL(model, distance=distance)(X) == 0).all()
    assert SAL(model, distance=distance, estimator="monte_carlo")(X).abs().max() < 1e-7
    # The quadrature leaves out tails of 6e-14, of which Hellinger takes the root.
    assert SAL(model, distance=distance, estimator="exact")(X).abs().max() < (6e-14 / 2) ** 0.5


def test_is_the_mean_of_the_sets_distances():
    model, X = random_ensemble(2), points(30, 2)
    acqf = SAL(model, distance="wasserstein")
    distances = acqf.per_set(*model.marginals(X, observation_noise=True), acqf.levels)
    assert distances.shape == (30, model.num_mcmc_samples)
    torch.testing.assert_close(distances.mean(-1), acqf(X.unsqueeze(1)))


@pytest.mark.parametrize("distance", DISTANCES)
def test_slices_do_not_change_the_estimate(distance, monkeypatch):
    acqf = SAL(random_ensemble(3), distance=distance, estimator="monte_carlo")
    X = points(40, 2).unsqueeze(1)
    whole = acqf(X)
    monkeypatch.setattr("scorebo.acquisition.sal.MAX_ELEMENTS", 3000)
    torch.testing.assert_close(acqf(X), whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": "helinger"}, "hellinger, kl, reverse_kl, wasserstein"),
        ({"estimator": "mc"}, "exact, moment_matching, monte_carlo"),
        ({"estimator": "exact", "num_samples": 64}, "num_samples is that of Monte Carlo.*exact it has no effect"),
        ({"estimator": "exact", "marginal_variance": "mean"}, "with estimator exact it has no effect"),
        ({"num_samples": 0}, "num_samples"),
        ({"num_samples": 2.5}, "num_samples"),
        ({"seed": -1}, "seed"),
        ({"marginal_variance": "none"}, "mean, mixture"),
        ({"marginal_variance": "mean", "estimator": "monte_carlo"}, "with estimator monte_carlo it has no effect"),
        ({"observation_noise": 0.1}, "observation_noise must be true or false"),
        ({"distance": SAL}, "is not a subclass of scorebo.acquisition.distances.Distance"),
    ],
)
def test_unusable_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        SAL(random_ensemble(0), **options)


@pytest.mark.parametrize("seed", range(5))
def test_hellinger_with_the_samples_of_a_run_is_accurate_for_every_scramble(seed):
    """16 sets and 256 draws: levels shared by all sets gave errors up to 80 % for an unlucky scramble."""
    model = random_ensemble(11, n=20, dim=3, num_mcmc_samples=16)
    X = torch.rand(50, 1, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact = SAL(model, estimator="monte_carlo", num_samples=2**15, seed=99)(X)
    estimate = SAL(model, estimator="monte_carlo", num_samples=256, seed=seed)(X)
    assert float(((estimate - exact).abs() / exact).mean()) < 0.15
    assert float(torch.corrcoef(torch.stack([estimate, exact]))[0, 1]) > 0.98


def by_hand(name, mean, variance, marginal_mean, marginal_variance):
    """The textbook distance of two normals."""
    if name == "hellinger":
        total = variance + marginal_variance
        affinity = math.sqrt(2 * math.sqrt(variance * marginal_variance) / total)
        return math.sqrt(1 - affinity * math.exp(-((mean - marginal_mean) ** 2) / (4 * total)))
    if name == "wasserstein":
        return math.hypot(mean - marginal_mean, math.sqrt(variance) - math.sqrt(marginal_variance))
    pairs = torch.tensor([[mean, variance], [marginal_mean, marginal_variance]], dtype=torch.float64)
    ours, other = (Normal(center, square.sqrt()) for center, square in pairs)
    return kl_divergence(other, ours).item() if name == "reverse_kl" else kl_divergence(ours, other).item()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("observation_noise", [True, False])
@pytest.mark.parametrize("marginal_variance", ["mixture", "mean"])
def test_departures_are_the_textbook_distances_of_botorchs_posterior(distance, observation_noise, marginal_variance):
    model = random_ensemble(4, num_mcmc_samples=6)
    X = points(20, 2, seed=5).unsqueeze(1)
    posterior = model.posterior(X, observation_noise=observation_noise)
    mean, variance = (moment[..., 0, 0].numpy() for moment in (posterior.mean, posterior.variance))
    spread = mean.var(axis=1) if marginal_variance == "mixture" else 0.0
    marginals = zip(mean.mean(axis=1), variance.mean(axis=1) + spread, strict=True)
    expected = [
        np.mean([by_hand(distance, *one, *marginal) for one in zip(means, variances, strict=True)])
        for means, variances, marginal in zip(mean, variance, marginals, strict=True)
    ]
    options = {"observation_noise": observation_noise, "marginal_variance": marginal_variance}
    acqf = SAL(model, distance=distance, **options)
    np.testing.assert_allclose(acqf(X).numpy(), expected, rtol=1e-8)
    np.testing.assert_allclose(acqf.screen(X[:, 0]).numpy(), expected, rtol=1e-8)


def test_monte_carlo_between_noiseless_functions_is_that_of_their_mixture():
    model, X = random_ensemble(4, num_mcmc_samples=3), points(3, 2, seed=5)
    mean, variance = (moment.numpy() for moment in model.marginals(X))
    y, step = np.linspace(-12, 12, 200_001, retstep=True)
    expected = []
    for means, stds in zip(mean, np.sqrt(variance), strict=True):
        densities = norm.pdf(y[:, None], means, stds)
        affinity = np.sqrt(densities * densities.mean(axis=1, keepdims=True)).sum(axis=0) * step
        expected.append(np.sqrt(1 - affinity).mean())
    acqf = SAL(model, estimator="monte_carlo", num_samples=2**14, observation_noise=False)
    np.testing.assert_allclose(acqf(X.unsqueeze(1)).numpy(), expected, atol=1e-3)
    assert (acqf(X.unsqueeze(1)) - SAL(model, estimator="monte_carlo", num_samples=2**14)(X.unsqueeze(1))).min() > 1e-3
