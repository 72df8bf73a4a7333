"""Sparse lengthscales against BoTorch's model of the same name, and under every way of inference."""

import jax
import numpy as np
import pytest
import torch
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP, SaasPyroModel
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy import stats

import scorebo
from scorebo.config import load_model
from scorebo.gp import LogDensity
from scorebo.inference import nuts, posterior
from scorebo.inference.maximum import laplace_draws, maximize

BOTORCH_FLOOR = 1e-4  # that of its inferred noise


def data(n=20, dim=5):
    rng = np.random.default_rng(0)
    X = rng.random((n, dim))
    y = np.sin(6.0 * X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std(ddof=1)


def test_density_is_botorch_s():
    """At prior draws, with the Jacobian of the logarithms taken off; BoTorch computes in single precision."""
    dim = 4
    X, y = data(dim=dim)
    theirs = SaasFullyBayesianSingleTaskGP(torch.from_numpy(X), torch.from_numpy(y[:, None])).pyro_model
    ours = LogDensity(X, y, load_model("saas"), noise_floor=BOTORCH_FLOOR)
    # Compiled as one: JAX compiles what it is given piece by piece as well, and takes far longer over the pieces.
    density = jax.jit(lambda sites: log_density(theirs.sample, (), {}, sites)[0])
    for theta in ours.sample_prior(np.random.default_rng(dim), 6):
        theta[:dim] = np.clip(theta[:dim], -4.0, 2.0)  # where six digits are enough for a Cholesky factor
        own, shared, outputscale, noise = (np.exp(part) for part in np.split(theta[:-1], [dim, dim + 1, dim + 2]))
        sites = {"_kernel_inv_length_sq": own, "kernel_tausq": shared[0]}
        sites |= {"outputscale": outputscale[0], "noise": noise[0], "mean": theta[-1]}
        expected = float(density(sites))
        assert ours(theta)[0] - theta[:-1].sum() == pytest.approx(expected, rel=2e-4, abs=2e-3)


def test_prior_draws_of_lengthscales_are_botorch_s():
    own = LogDensity(*data(dim=1), load_model("saas"))
    ours = np.log(own.constrain(own.sample_prior(np.random.default_rng(1), 4000))["lengthscale"][:, 0])
    keys = jax.random.split(jax.random.PRNGKey(0), 4000)
    draw = jax.jit(jax.vmap(lambda key: handlers.seed(SaasPyroModel().sample_lengthscale, key)(1)))
    theirs = np.log(np.asarray(draw(keys)))[:, 0]
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-3


def test_sampler_finds_the_inputs_that_matter():
    X, y = data(n=40, dim=25)
    gp = scorebo.fit_gp(
        torch.from_numpy(X), torch.from_numpy(y), "saas", warmup=128, thinning=8, num_mcmc_samples=16, seed=1
    )
    lengthscale = gp.lengthscale.median(dim=0).values
    assert lengthscale[0] < 2.0
    assert lengthscale[1:-1].min() > 5.0 * lengthscale[0]
    assert gp.diagnostics.fallback is None
    # 32 prior draws, a few for the first step size, and at most 2⁴ − 1 leapfrog steps a draw.
    assert gp.diagnostics.gradient_evaluations <= 32 + 64 + 256 * 15


def test_maximum_and_laplace_draws():
    X, y = data(dim=20)
    density = LogDensity(X, y, load_model("saas"))
    mode = maximize(density, noise_lower_bound=1e-4, seed=1)
    assert np.abs(density(mode)[1]).max() < 0.05
    draws = laplace_draws(density, size=8, seed=1)
    assert np.isfinite(density.batch(draws)[0]).all()
    gp = scorebo.fit_gp(torch.from_numpy(X), torch.from_numpy(y), "saas", sampler="map")
    assert gp.num_mcmc_samples == 1
    assert gp.lengthscale[0, 0] < gp.lengthscale[0, 1:-1].min()


def test_more_inputs_than_observations():
    X, y = data(n=6, dim=388)
    density = LogDensity(X, y, load_model("saas"))
    chain = nuts.sample(density, posterior.start(density, 1), warmup=16, draws=8, seed=1)
    assert chain.failure is None
    assert np.isfinite(density.constrain(chain.theta)["lengthscale"]).all()
