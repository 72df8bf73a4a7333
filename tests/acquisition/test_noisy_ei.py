from __future__ import annotations

import warnings

import pytest
import torch
from acquisition_contract import AcquisitionContract, points, with_sets
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.monte_carlo import qNoisyExpectedImprovement
from botorch.acquisition.utils import prune_inferior_points
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.utils.safe_math import fatplus
from botorch.utils.sampling import draw_sobol_normal_samples

from scorebo.acquisition import NoisyExpectedImprovement
from scorebo.acquisition._smooth import TAU_RELU, sum_smooth
from scorebo.acquisition.noisy_ei import PRUNING_SAMPLES
from scorebo.errors import InputError
from tests.conftest import random_ensemble


def botorch(model, acqf, *, log, num_samples=64, seed=5):
    kind = qLogNoisyExpectedImprovement if log else qNoisyExpectedImprovement
    sampler = SobolQMCNormalSampler(torch.Size([num_samples]), seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it advises against the plain form
        return kind(model, X_baseline=acqf.baseline, sampler=sampler, prune_baseline=False)


class TestLog(AcquisitionContract):
    # Every sample has a kink where it starts to improve on the best: a shorter step passes fewer, and rounds more.
    gradient_step = 1e-7
    gradient_tolerance = 1e-5

    def build(self, model):
        return NoisyExpectedImprovement(model, num_samples=1024, seed=1)

    def test_a_single_set_does_not_disagree(self):
        """A logarithm has a sign of its own; that of a single set is BoTorch's."""
        model, X = with_sets(random_ensemble(4), [2]), points(50, 2).unsqueeze(1)
        acqf = NoisyExpectedImprovement(model, num_samples=64, seed=5)
        torch.testing.assert_close(acqf(X), botorch(model, acqf, log=True)(X), rtol=1e-8, atol=1e-8)


class TestPlain(AcquisitionContract):
    zero_for_one_set = False
    gradient_step = 1e-7
    gradient_tolerance = 1e-7

    def build(self, model):
        return NoisyExpectedImprovement(model, log=False, num_samples=1024, seed=1)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_value_and_gradient_are_those_of_botorch(log, seed):
    model = random_ensemble(seed, n=10 + 10 * seed, dim=1 + seed, num_mcmc_samples=1)
    acqf = NoisyExpectedImprovement(model, log=log, num_samples=64, seed=5)
    X = points(40, model.dim, seed + 100).unsqueeze(1).requires_grad_()
    reference = botorch(model, acqf, log=log)(X)
    torch.testing.assert_close(acqf(X), reference, rtol=1e-9, atol=1e-9)
    (expected,) = torch.autograd.grad(reference.sum(), X)
    (gradient,) = torch.autograd.grad(acqf(X).sum(), X)
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("log", [True, False])
def test_with_the_same_samples_for_every_set_it_is_that_of_botorch(log):
    model = random_ensemble(2, n=25, dim=3, num_mcmc_samples=5)
    acqf = NoisyExpectedImprovement(model, log=log, num_samples=5 * 64, seed=5)
    shared = draw_sobol_normal_samples(len(acqf.baseline) + 1, 64, dtype=torch.float64, seed=5)
    mean, covariance = model.joint(acqf.baseline)
    best = (mean.unsqueeze(-2) + shared[:, :-1] @ torch.linalg.cholesky(covariance).mT).amax(dim=-1, keepdim=True)
    acqf.samples = torch.cat([shared.expand(5, *shared.shape), torch.ones_like(best), -best], dim=-1)
    X = points(40, 3, 102).unsqueeze(1)
    torch.testing.assert_close(acqf(X), botorch(model, acqf, log=log)(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("num_mcmc_samples", [1, 3, 8])
def test_the_sets_divide_the_samples(num_mcmc_samples):
    model = random_ensemble(3, num_mcmc_samples=num_mcmc_samples)
    acqf = NoisyExpectedImprovement(model, num_samples=100, seed=2)
    parts = acqf.samples[..., :-2]
    assert parts.shape == (num_mcmc_samples, -(-100 // num_mcmc_samples), len(acqf.baseline) + 1)
    assert len(parts.flatten(end_dim=1).unique(dim=0)) == parts.shape[:2].numel()


def test_improvement_is_nearer_to_the_truth_than_with_the_same_samples_for_every_set():
    """The truth are many times more samples."""
    model, X = random_ensemble(4, n=20, num_mcmc_samples=16), points(50, 2, seed=3).unsqueeze(1)
    truth = NoisyExpectedImprovement(model, log=False, num_samples=16 * 2**14, seed=99)(X)
    errors = {"own": 0.0, "shared": 0.0}
    for seed in range(5):
        acqf = NoisyExpectedImprovement(model, log=False, num_samples=16 * 64, seed=seed)
        errors["own"] += (acqf(X) - truth).square().mean().item()
        errors["shared"] += (botorch(model, acqf, log=False, seed=seed)(X) - truth).square().mean().item()
    assert errors["own"] < 0.5 * errors["shared"]


@pytest.mark.parametrize(("n", "dim", "num_mcmc_samples"), [(2, 1, 1), (40, 2, 5), (60, 6, 16)])
def test_the_baseline_is_that_of_botorch(n, dim, num_mcmc_samples):
    model = random_ensemble(n, n=n, dim=dim, num_mcmc_samples=num_mcmc_samples)
    for seed in range(4):
        sampler = SobolQMCNormalSampler(torch.Size([PRUNING_SAMPLES]), seed=seed)
        assert NoisyExpectedImprovement(model, seed=seed).baseline.equal(
            prune_inferior_points(model, model.train_X, sampler=sampler)
        )


def test_the_baseline_is_pruned_to_points_that_may_be_the_best():
    model = random_ensemble(2, n=40)
    baseline = NoisyExpectedImprovement(model, seed=3).baseline
    assert 0 < len(baseline) < 40
    kept = (model.train_X[:, None] == baseline).all(dim=-1).any(dim=-1)
    assert kept.sum() == len(baseline)
    # BoTorch judges by the mean over the sets of a draw: what is left out is the best of hardly any other draw.
    sampler = SobolQMCNormalSampler(torch.Size([PRUNING_SAMPLES]), seed=99)
    draws = sampler(model.posterior(model.train_X)).squeeze(-1).mean(dim=1)
    best = torch.bincount(draws.argmax(dim=-1), minlength=40) / PRUNING_SAMPLES
    assert best[~kept].sum() < 5e-3


def test_far_from_any_improvement_the_logarithm_still_shows_the_way():
    """Where no sample improves, EI is flat at 0 and its logarithm is not."""
    model = random_ensemble(1, num_mcmc_samples=1)
    worst = model.train_X[model.train_Y.argmin()].reshape(1, 1, 2).clone().requires_grad_()
    assert NoisyExpectedImprovement(model, log=False, num_samples=16)(worst).item() == 0
    value = NoisyExpectedImprovement(model, num_samples=16)(worst)
    (gradient,) = torch.autograd.grad(value.sum(), worst)
    assert value.isfinite()
    assert gradient.norm() > 0


def test_the_smooth_maximum_and_its_derivative_at_any_distance_from_zero():
    sizes = torch.cat([torch.logspace(-12, 3, 200), torch.linspace(1e-7, 1e-4, 300)]).double()
    x = torch.cat([-sizes, torch.zeros(1).double(), sizes]).unsqueeze(0).requires_grad_()
    reference = fatplus(x, tau=TAU_RELU).squeeze(0)
    slope = torch.empty_like(x)
    total = torch.from_numpy(sum_smooth(x.detach().numpy(), slope.numpy()))
    # BoTorch's softplus is linear from t = 20 on.
    torch.testing.assert_close(TAU_RELU * total, reference, rtol=1e-12, atol=3e-9 * TAU_RELU)
    (expected,) = torch.autograd.grad(reference.sum(), x)
    torch.testing.assert_close(slope, expected, rtol=1e-9, atol=3e-9)


def test_global_random_state_is_neither_used_nor_changed():
    model, X = random_ensemble(3), points(5, 2).unsqueeze(1)
    state = torch.get_rng_state()
    first = NoisyExpectedImprovement(model, seed=2)(X)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    assert torch.equal(NoisyExpectedImprovement(model, seed=2)(X), first)
    assert not torch.equal(NoisyExpectedImprovement(model, seed=4)(X), first)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"log": 1}, "log must be true or false"), ({"num_samples": 0}, "num_samples"), ({"seed": -1}, "seed")],
)
def test_unusable_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        NoisyExpectedImprovement.check_options(**options)
    with pytest.raises(InputError, match=message):
        NoisyExpectedImprovement(random_ensemble(0), **options)
