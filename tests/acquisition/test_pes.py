from __future__ import annotations

import warnings

import pytest
import torch
from acquisition_contract import points
from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
from optima_contract import OptimaContract, one_set, some_optima
from scipy.stats import truncnorm
from test_entropy_search import botorch_model

from scorebo.acquisition import PES
from scorebo.acquisition.conditioning import Optima, Prediction, below_optimum
from scorebo.acquisition.orthant import fit_sites, site_weights
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import random_ensemble


class TestPES(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return PES(model, inputs)


class TestWithoutTheObserved(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return PES(model, inputs, condition_on_observed=False)


def test_variance_given_the_maximizer_agrees_with_sampling():
    """Against the joint posterior at all points involved, of which the draws that obey every constraint are kept."""
    model = random_ensemble(3, n=8, num_mcmc_samples=1)
    inputs, _ = some_optima(model, count=1)
    X = points(6, 2, seed=2)
    acqf = PES(model, inputs)
    assert acqf.num_fallbacks == 0
    generator = torch.Generator().manual_seed(0)
    noise = model.noise[0]
    for k in range(6):
        mean, covariance = model.joint(torch.cat([X[k : k + 1], inputs[0], model.train_X]))
        factor = torch.linalg.cholesky(covariance[0] + 1e-12 * torch.eye(10, dtype=torch.float64))
        draws = mean[0] + torch.randn(400_000, 10, dtype=torch.float64, generator=generator) @ factor.mT
        kept = draws[(draws <= draws[:, 1:2]).all(dim=-1), 0]
        assert len(kept) > 5_000
        sampled = 0.5 * ((covariance[0, 0, 0] + noise) / (kept.var() + noise)).log()
        # Two per cent for sampling, the rest for expectation propagation itself, whose variances are not exact.
        assert acqf(X[k : k + 1]).item() == pytest.approx(sampled.item(), abs=0.03)


def test_sites_give_the_moments_of_sampling():
    generator = torch.Generator().manual_seed(1)
    root = torch.randn(5, 5, dtype=torch.float64, generator=generator)
    covariance = root @ root.mT / 5 + 0.1 * torch.eye(5, dtype=torch.float64)
    mean = torch.tensor([0.5, -0.5, 0.0, 1.0, 0.3], dtype=torch.float64)
    sites = fit_sites(mean[None], covariance[None])
    assert sites.converged.all()
    assert (sites.precision > 0).all()
    fitted = covariance - covariance @ site_weights(covariance[None], sites.precision)[0] @ covariance
    located = mean + fitted @ (sites.shift - sites.precision * mean)[0]
    draws = (
        mean
        + torch.randn(2_000_000, 5, dtype=torch.float64, generator=generator) @ torch.linalg.cholesky(covariance).mT
    )
    kept = draws[(draws >= 0).all(dim=-1)]
    assert len(kept) > 20_000
    # Expectation propagation is good to a few per cent for orthants of few, not too correlated, dimensions.
    torch.testing.assert_close(located, kept.mean(dim=0), rtol=0, atol=0.02)
    torch.testing.assert_close(fitted.diagonal(), kept.var(dim=0), rtol=0.05, atol=0)


def test_one_constraint_is_exact():
    sites = fit_sites(torch.tensor([[-1.5]]).double(), torch.tensor([[[0.7]]]).double(), tolerance=1e-12)
    variance = 1 / (1 / 0.7 + sites.precision.item())
    draws = torch.distributions.Normal(0.0, 1.0)
    z = torch.tensor(-1.5 / 0.7**0.5).double()
    r = (draws.log_prob(z).exp() / draws.cdf(z)).item()
    assert variance == pytest.approx(0.7 * (1 - z.item() * r - r * r), rel=1e-5)
    assert variance * (sites.shift.item() - 1.5 / 0.7) == pytest.approx(-1.5 + 0.7**0.5 * r, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_is_that_of_botorch_for_one_set(seed):
    """BoTorch's evaluation leaves out what expectation propagation found at the observed inputs when there is one
    optimum (it keeps only the factors between Pareto points), and compares noisy observations instead of f at x and at
    x*. What remains is one truncation, ours with the same moments; without noise it is PES without the observed.
    """
    model = random_ensemble(seed, n=15, dim=1 + seed % 3, num_mcmc_samples=1)
    inputs, _ = some_optima(model, count=4)
    X = points(100, model.dim, seed)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = qPredictiveEntropySearch(botorch_model(model), inputs[:, 0], test_jitter=1e-9)(X.unsqueeze(1))
    optima = Optima(model, inputs)
    prediction = optima.predict(X)
    noisy = Prediction(prediction.mean, prediction.variance + model.noise, prediction.covariance)
    _, after = below_optimum(noisy, optima.mean, optima.variance + model.noise, torch.zeros(1, 1)).moments()
    ours = 0.5 * (noisy.variance / after).log().mean(dim=(0, 1))
    # Ours has a jitter of 1e-6 in the variance of f(x*) − f(x), BoTorch 1e-9 in several places.
    torch.testing.assert_close(ours, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_almost_without_noise_is_that_of_botorch(seed):
    plain = random_ensemble(seed, n=10, num_mcmc_samples=1)
    sets = {name: getattr(plain, name) for name in ("lengthscale", "outputscale", "mean")}
    model = FullyBayesianGP(plain.train_X, plain.train_Y, noise=torch.tensor([1e-6]).double(), **sets)
    inputs, _ = some_optima(model, count=4)
    X = points(100, 2, seed)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = qPredictiveEntropySearch(botorch_model(model), inputs[:, 0], test_jitter=1e-9)(X.unsqueeze(1))
    # What is left of the noise, which only BoTorch has in its comparison, matters next to observed inputs.
    torch.testing.assert_close(
        PES(model, inputs, condition_on_observed=False)(X.unsqueeze(1)), reference, rtol=0, atol=5e-3
    )


def test_sites_are_those_of_botorch():
    model = random_ensemble(1, n=6, num_mcmc_samples=1)
    inputs, _ = some_optima(model, count=3)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = qPredictiveEntropySearch(botorch_model(model), inputs[:, 0], ep_jitter=1e-8, threshold=1e-6)
    mean, covariance = model.joint(torch.cat([model.train_X.expand(3, 6, 2), inputs], dim=-2))
    difference = torch.cat([-torch.eye(6), torch.ones(6, 1)], dim=-1).double()
    gap = mean[:, 0] @ difference.mT
    sites = fit_sites(gap, difference @ covariance[:, 0] @ difference.mT, tolerance=1e-8)
    assert sites.converged.all()
    # Each of its factors is a 2 x 2 precision τ·[[1, −1], [−1, 1]] for f(x_i) and f(x*).
    theirs = peer._omega_f_nat_cov[:, 0, :-1, 0]
    torch.testing.assert_close(sites.precision, theirs[..., 0, 0], rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(-sites.precision, theirs[..., 0, 1], rtol=1e-2, atol=1e-3)


def test_is_the_average_over_sets_and_optima():
    model, X = random_ensemble(1), points(30, 2).unsqueeze(1)
    inputs, _ = some_optima(model)
    parts = [PES(one_set(model, m), inputs[n : n + 1, m : m + 1])(X) for m in range(4) for n in range(3)]
    torch.testing.assert_close(PES(model, inputs)(X), torch.stack(parts).mean(dim=0), rtol=1e-3, atol=1e-4)


def test_fallbacks_are_counted(monkeypatch):
    model, X = random_ensemble(2), points(30, 2).unsqueeze(1)
    inputs, _ = some_optima(model)
    assert PES(model, inputs).num_fallbacks == 0
    monkeypatch.setattr("scorebo.acquisition.orthant.MAX_SWEEPS", 1)
    acqf = PES(model, inputs)
    assert acqf.num_fallbacks == 12
    # What is left is the constraint at x alone.
    torch.testing.assert_close(acqf(X), PES(model, inputs, condition_on_observed=False)(X), rtol=1e-9, atol=1e-12)


def parallel_updates(mean, covariance, damping=0.5, iterations=2000):
    """Sites by damped updates of all at once, by plain linear algebra."""
    tau, nu = torch.full_like(mean, 1e-9), torch.zeros_like(mean)
    for _ in range(iterations):
        fitted = torch.linalg.inv(torch.linalg.inv(covariance) + torch.diag_embed(tau))
        located = (fitted @ (torch.linalg.solve(covariance, mean) + nu).unsqueeze(-1)).squeeze(-1)
        variance = fitted.diagonal(dim1=-2, dim2=-1)
        cavity = 1.0 / (1.0 / variance - tau)
        center = cavity * (located / variance - nu)
        a, scale = (-center / cavity.sqrt()).numpy(), cavity.sqrt().numpy()
        truncated = truncnorm(a, float("inf"), loc=center.numpy(), scale=scale)
        tilted = torch.as_tensor(truncated.var())
        tau = (1 - damping) * tau + damping * (1.0 / tilted - 1.0 / cavity)
        nu = (1 - damping) * nu + damping * (torch.as_tensor(truncated.mean()) / tilted - center / cavity)
    return tau, nu


def test_updates_in_turn_give_the_sites_of_parallel_updates():
    model = random_ensemble(1, n=20, dim=3, num_mcmc_samples=3)
    mean, covariance = model.joint(model.train_X)
    sites = fit_sites(mean, covariance, tolerance=1e-10)
    assert sites.converged.all()
    tau, nu = parallel_updates(mean, covariance, iterations=200)
    torch.testing.assert_close(sites.precision, tau, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(sites.shift, nu, rtol=1e-5, atol=1e-7)


def near_copies(n, apart, mean):
    """A normal number n times, each time with a little noise: parallel updates overshoot."""
    covariance = torch.ones(n, n, dtype=torch.float64) + apart * torch.eye(n, dtype=torch.float64)
    return torch.full((1, n), mean, dtype=torch.float64), covariance[None]


@pytest.mark.parametrize("mean", [-6.0, -1.0, 0.5])
@pytest.mark.parametrize(("n", "apart"), [(10, 1e-6), (60, 1e-2), (60, 1e-6)])
def test_constraints_that_say_the_same(n, apart, mean):
    problem = near_copies(n, apart, mean)
    sites = fit_sites(*problem, tolerance=1e-8)
    assert sites.converged.all()
    assert (sites.precision > 0).all()
    # Under the sites every coordinate has the moments of its constraint under the cavity.
    fitted = torch.linalg.inv(torch.linalg.inv(problem[1][0]) + torch.diag(sites.precision[0]))
    located = problem[0][0] + fitted @ (sites.shift - sites.precision * problem[0])[0]
    cavity = 1.0 / (1.0 / fitted.diagonal() - sites.precision[0])
    center = cavity * (located / fitted.diagonal() - sites.shift[0])
    a, scale = (-center / cavity.sqrt()).numpy(), cavity.sqrt().numpy()
    truncated = truncnorm(a, float("inf"), loc=center.numpy(), scale=scale)
    assert located.numpy() == pytest.approx(truncated.mean(), rel=1e-3)
    assert fitted.diagonal().numpy() == pytest.approx(truncated.var(), rel=1e-3)


def test_screening_ranks_by_nearly_the_values():
    model, X = random_ensemble(4, n=20), points(200, 2)
    acqf = PES(model, some_optima(model)[0])
    torch.testing.assert_close(acqf.screen(X), acqf.evaluate(X), rtol=1e-4, atol=1e-6)


def test_impossible_constraints_fall_back():
    covariance = torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
    mean = torch.tensor([[0.0, 0.0, 0.0], [torch.nan, 0.0, 0.0]], dtype=torch.float64)
    sites = fit_sites(mean, covariance)
    assert sites.converged.tolist() == [True, False]
    assert (sites.precision[1] == 0).all()
    assert (sites.shift[1] == 0).all()


@pytest.mark.parametrize("inputs", [torch.rand(3, 4), torch.rand(3, 5, 2), torch.full((3, 4, 2), torch.inf)])
def test_unusable_optima_are_refused(inputs):
    with pytest.raises(InputError, match="optimal_inputs"):
        PES(random_ensemble(0), inputs)


def test_unusable_options_are_refused():
    with pytest.raises(InputError, match="observed"):
        PES.check_options(condition_on_observed="yes")
