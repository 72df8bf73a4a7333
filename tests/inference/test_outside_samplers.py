"""Every sampler draws the same sets with kernels and priors from outside the package as with the compiled ones."""

import pytest
import torch

import scorebo
from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp.partitions import Partitions
from scorebo.inference.fit import Carry, fit_gp
from tests import outside_models
from tests.outside_models import model_from_outside

# Short: a chain amplifies rounding from step to step.
SMALL = {"warmup": 6, "thinning": 1, "num_mcmc_samples": 4}


def data(n, dim=2):
    X = torch.rand(n, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    Y = torch.sin(4.0 * X[:, 0]) + X[:, 1] ** 2
    return X, (Y - Y.mean()) / Y.std()


def assert_same_sets(own, outside, rtol=1e-6):
    for name in ("lengthscale", "outputscale", "noise", "mean"):
        torch.testing.assert_close(getattr(outside, name), getattr(own, name), rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("model", ["bo_lognormal", "botorch", "saas", "warped"])
@pytest.mark.parametrize("sampler", ["nuts", "pyro", "map"])
def test_same_draws(sampler, model):
    X, Y = data(12)
    own = load_model(model)
    outside = model_from_outside(own, outside_models.Matern52())
    ours, theirs = (fit_gp(X, Y, m, sampler=sampler, seed=3, **SMALL) for m in (own, outside))
    assert ours.diagnostics.fallback is None
    # A maximum is known to the root of the gain, 2e-9 of the value, at which L-BFGS-B stops.
    assert_same_sets(ours, theirs, rtol=1e-4 if sampler == "map" else 1e-6)
    if sampler != "map":
        assert theirs.diagnostics.gradient_evaluations == ours.diagnostics.gradient_evaluations


def test_same_draws_of_the_sequential_sampler():
    own = load_model("bo_lognormal")
    outside = model_from_outside(own, outside_models.Matern52())
    carries = Carry(), Carry()
    for n in (10, 11, 12):
        X, Y = data(14)
        fits = [
            fit_gp(X[:n], Y[:n], model, sampler="sequential", refresh_fraction=None, carry=carry, seed=n, **SMALL)
            for model, carry in zip((own, outside), carries, strict=True)
        ]
        assert_same_sets(*fits)
    assert fits[1].diagnostics.refresh_reason is None  # the last fit moved the sets of the one before


def test_same_partitions():
    X, Y = data(15, dim=4)
    own = load_model("additive", partitions=Partitions(2))
    outside = model_from_outside(own, outside_models.RBF())
    ours, theirs = (fit_gp(X, Y, model, seed=1, **SMALL) for model in (own, outside))
    assert theirs.kernel.partitions == ours.kernel.partitions
    assert_same_sets(ours, theirs, rtol=1e-4)


def test_given_to_the_public_function():
    X, Y = data(10)
    gp = scorebo.fit_gp(X, Y, kernel=outside_models.Matern32(), lengthscale=outside_models.Gamma(3.0, 6.0), **SMALL)
    assert isinstance(gp.kernel, outside_models.Matern32)
    assert gp.diagnostics.fallback is None


class Broken(outside_models.LogNormal):
    """Fails after some calls, in the middle of a chain."""

    calls = 0

    def log_prob(self, value):
        Broken.calls += 1
        if Broken.calls > 100:  # 64 of them choose the start
            raise RuntimeError("no such density")
        return super().log_prob(value)


def test_an_error_in_a_chain_is_not_a_failure_of_the_sampler(caplog):
    """It is raised at once: no other chain is tried, and no Laplace approximation takes its place."""
    X, Y = data(10)
    with pytest.raises(InputError, match="log_prob of the prior Broken failed: RuntimeError: no such density"):
        fit_gp(X, Y, load_model("bo_lognormal", noise=Broken(0.0, 3.0)), **SMALL)
    assert not caplog.records
