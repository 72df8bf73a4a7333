import itertools
import math

import numpy as np
import pytest
import torch

from scorebo.errors import InputError
from scorebo.gp import Kernel
from scorebo.optima import _search, sample_paths
from scorebo.optima._waves import evaluate, sincos, workspace
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble

KERNELS = ["matern52", "rbf"]


def points(count: int, dim: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def implied_covariance(model, paths, X):
    """Covariance of a draw at X given its frequencies, over its weights and noise: M x b x b. No sampling error."""
    both = torch.cat([X, model.train_X])
    phase = paths.frequencies @ both.mT
    features = torch.cat([phase.cos(), phase.sin()], dim=-2)
    prior = model.outputscale[:, None, None] * features.mT @ features / paths.frequencies.shape[1]
    prior[:, len(X) :, len(X) :] += torch.diag_embed(model.noise_variance[:, None].expand(-1, len(model.train_X)))
    cross = model.kernel(X, model.train_X, model.lengthscale, model.outputscale)
    gain = torch.cholesky_solve(cross.mT, model.cholesky).mT
    linear = torch.cat([torch.eye(len(X), dtype=torch.float64).expand(len(gain), -1, -1), -gain], dim=-1)
    return linear @ prior @ linear.mT


@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_of_many_draws(kernel):
    """Mean and covariance over 4000 draws against the exact posterior, to five standard errors of the averages."""
    model = random_ensemble(3, n=12, dim=2, num_mcmc_samples=2, kernel=kernel)
    X = points(8, 2)
    draws = 4000
    paths = sample_paths(model, draws, 4096, seed=1)
    values = paths(X)  # draws x M x b
    mean, covariance = model.joint(X)
    variance = covariance.diagonal(dim1=-2, dim2=-1)
    deviation = (values.mean(dim=0) - mean).abs()
    assert bool((deviation < 5.0 * (variance / draws).sqrt()).all())

    centered = values - mean
    estimate = torch.einsum("nmi,nmj->mij", centered, centered) / draws
    # Var of a product of two normals: v_i v_j + c_ij². The features' own error is known exactly and comes on top.
    spread = ((variance[:, :, None] * variance[:, None, :] + covariance.square()) / draws).sqrt()
    features = (implied_covariance(model, paths, X) - covariance).abs()
    assert bool(((estimate - covariance).abs() < 5.0 * spread + features).all())
    assert float(features.max()) < 0.02 * float(model.outputscale.max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_covariance_approaches_the_exact_one_as_features_grow(kernel):
    model = random_ensemble(5, n=15, dim=3, num_mcmc_samples=3, kernel=kernel)
    X = points(20, 3)
    _, exact = model.joint(X)
    errors = []
    for num_features in (1024, 2048, 4096, 8192):
        squared = [
            (implied_covariance(model, sample_paths(model, 1, num_features, seed), X) - exact).square().mean()
            for seed in range(6)
        ]
        errors.append(math.sqrt(sum(squared) / len(squared)))
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    # Random frequencies would gain √8; Sobol frequencies gain more.
    assert errors[-1] < errors[0] / math.sqrt(8.0)


def test_paths_without_noise_pass_through_the_data():
    model = random_ensemble(2, n=10, dim=2)
    model = type(model)(
        model.train_X, model.train_Y, lengthscale=model.lengthscale, outputscale=model.outputscale,
        noise=torch.full((4,), 1e-10, dtype=torch.float64), mean=model.mean,
    )  # fmt: skip
    values = sample_paths(model, 5, 512)(model.train_X)
    # Noise of standard deviation 1e-5 is all that separates them; 200 values stay within 5 of these.
    torch.testing.assert_close(values, model.train_Y[:, 0].expand_as(values), rtol=0, atol=5e-5)


def test_paths_of_different_sets_and_draws_are_uncorrelated():
    model = random_ensemble(4, n=5, dim=1, num_mcmc_samples=2)
    values = sample_paths(model, 2000, 256)(points(1, 1))[..., 0]
    values = (values - values.mean(dim=0)) / values.std(dim=0)
    # Correlations of independent draws have standard error 1/√2000.
    assert abs(float((values[:, 0] * values[:, 1]).mean())) < 4.0 / math.sqrt(2000)
    assert abs(float((values[1:] * values[:-1]).mean())) < 4.0 / math.sqrt(4000)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 6, 25])
def test_compiled_values_and_gradients_agree_with_torch(kernel, dim):
    model = random_ensemble(dim, n=300, dim=dim, num_mcmc_samples=2, kernel=kernel)  # more data than one block
    paths = sample_paths(model, 3, 602)  # a block and a piece
    X = points(4, dim).requires_grad_()
    values = paths(X)
    assert values.shape == (3, 2, 4)
    own, gradient = paths.own(X.expand(3, 2, 4, dim), gradient=True)
    # 10⁻¹⁶ times the sum of the sizes of all terms, a few hundred for these paths.
    torch.testing.assert_close(own, values.detach(), rtol=0, atol=1e-11)
    for p in range(3):
        for m in range(2):
            (expected,) = torch.autograd.grad(values[p, m].sum(), X, retain_graph=True)
            torch.testing.assert_close(gradient[p, m], expected, rtol=0, atol=1e-9)
    assert paths.own(X.expand(3, 2, 4, dim))[1].numel() == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_hessian_agrees_with_autograd(kernel):
    model = random_ensemble(1, n=20, dim=3, num_mcmc_samples=1, kernel=kernel)
    paths = sample_paths(model, 1, 600)
    x = points(1, 3)
    hessian = np.empty((3, 3))
    kernel_code, *rest = _search._one(paths.of_set(0), 0)
    evaluate(2, kernel_code, x[0].numpy(), *rest, np.empty(3), hessian, workspace(rest[0]))
    expected = torch.autograd.functional.hessian(lambda z: paths(z[None])[0, 0, 0], x[0])
    torch.testing.assert_close(torch.from_numpy(hessian), expected, rtol=1e-9, atol=1e-9)


def test_paths_of_groups_agree_with_torch_and_have_the_posterior_s_moments():
    model = additive_ensemble(2, n=300, dim=4)
    paths = sample_paths(model, 3, 600)
    X = points(4, 4).requires_grad_()
    values = paths(X)
    own, gradient = paths.own(X.expand(3, 3, 4, 4), gradient=True)
    torch.testing.assert_close(own, values.detach(), rtol=0, atol=1e-10)
    for p, m in itertools.product(range(3), range(3)):
        (expected,) = torch.autograd.grad(values[p, m].sum(), X, retain_graph=True)
        torch.testing.assert_close(gradient[p, m], expected, rtol=0, atol=1e-8)
    few = additive_ensemble(2, n=6, dim=4)
    drawn = sample_paths(few, 4000, 1024)(X.detach())
    mean, covariance = few.joint(X.detach())
    spread = covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    # Standard errors of 4000 draws, and the 2 % or so that 512 frequencies are off.
    assert ((drawn.mean(dim=0) - mean) / spread).abs().max() < 5.0 / math.sqrt(4000)
    assert (drawn.std(dim=0) / spread - 1.0).abs().max() < 5.0 / math.sqrt(8000) + 0.04


def test_paths_under_warped_inputs_are_those_of_each_set():
    model = warped_ensemble(3)
    with pytest.raises(InputError, match=r"set by set: take those of model.unwarped\(m\)"):
        sample_paths(model)
    with pytest.raises(InputError, match="Only a model with warped inputs"):
        random_ensemble(1).unwarped(0)
    X = points(5, 2)
    warped = model.kernel.warp(X)
    for m in range(model.num_mcmc_samples):
        one = model.unwarped(m)
        for ours, whole in zip(one.joint(warped[m]), model.joint(X), strict=True):
            torch.testing.assert_close(ours[0], whole[m], rtol=1e-9, atol=1e-9)


def test_large_batches_are_sliced(monkeypatch):
    paths = sample_paths(random_ensemble(1), 2, 64)
    X = points(50, 2)
    whole = paths(X)
    monkeypatch.setattr("scorebo.optima.paths.MAX_WAVES", 1000)
    torch.testing.assert_close(paths(X), whole, rtol=1e-12, atol=1e-12)


def test_sine_and_cosine_are_accurate():
    angles = np.linspace(-2e3, 2e3, 256)
    angles[:9] = np.arange(-4, 5) * np.pi / 4
    cosine, sine = np.empty(256), np.empty(256)
    sincos(angles, cosine, sine, 256)
    bound = 3e-16 + 2e-16 * np.abs(angles)
    assert np.all(np.abs(cosine - np.cos(angles)) <= bound)
    assert np.all(np.abs(sine - np.sin(angles)) <= bound)

    single = (angles / 20.0).astype(np.float32)
    cosine, sine = np.empty(256, np.float32), np.empty(256, np.float32)
    sincos(single, cosine, sine, 256)
    exact = single.astype(np.float64)
    bound = 2e-7 + 1e-7 * np.abs(exact)
    assert np.all(np.abs(cosine - np.cos(exact)) <= bound)
    assert np.all(np.abs(sine - np.sin(exact)) <= bound)


def test_a_function_of_the_seed_alone():
    model = random_ensemble(1)
    state = torch.get_rng_state()
    X = points(5, 2)
    first, again, other = (sample_paths(model, 2, 64, seed)(X) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_paths": 0}, "num_paths"),
        ({"num_features": 0}, "num_features"),
        ({"num_features": 1}, "num_features"),
        ({"num_features": 63}, "even"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(InputError, match=message):
        sample_paths(random_ensemble(1), **change)


def test_a_kernel_that_is_not_compiled_is_refused():
    class Smooth(Kernel):
        name = "smooth"

        def correlation(self, squared_distance):
            return (-0.5 * squared_distance).exp()

        def frequencies(self, uniform):
            return torch.special.ndtri(uniform[..., :-1].clamp(0.01, 0.99))

    paths = sample_paths(random_ensemble(1, kernel=Smooth()), 2, 64)
    assert bool(paths(points(3, 2)).isfinite().all())
    with pytest.raises(InputError, match="Smooth"):
        paths.own(points(1, 2).expand(2, 4, 1, 2))
