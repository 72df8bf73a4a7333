"""Data at the edge of what structured surrogates can be fitted to: few points in many dimensions, ends of the box."""

import math

import numpy as np
import pytest
import torch

import scorebo
from scorebo.acquisition import NoisyExpectedImprovement
from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp.partitions import Partitions
from scorebo.gp.priors import LogNormal, Normal
from scorebo.optima import sample_optima
from scorebo.search.box import unit_box

TINY = {"warmup": 12, "thinning": 1, "num_mcmc_samples": 3}
SETTINGS = {"saas": {}, "warped": {}, "additive": {"partitions": Partitions(3)}}


def fit(model, X, Y, **settings):
    return scorebo.fit_gp(X, Y, model, **{**TINY, **SETTINGS[model], **settings})


@pytest.mark.parametrize("model", SETTINGS)
@pytest.mark.parametrize("dim", [30, 60])
def test_far_more_dimensions_than_points(model, dim):
    rng = np.random.default_rng(dim)
    X, Y = torch.from_numpy(rng.random((3, dim))), torch.tensor([-1.0, 0.0, 1.0]).double()
    gp = fit(model, X, Y, seed=1)
    points = torch.from_numpy(rng.random((5, dim))).requires_grad_()
    mean, variance = gp.marginals(points)
    (gradient,) = torch.autograd.grad(mean.sum() + variance.sum(), points)
    assert mean.shape == (5, 3)
    assert bool(mean.isfinite().all() & (variance > 0).all())
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize("sampler", ["nuts", "sequential"])
def test_inputs_at_the_ends_of_the_box_can_be_warped(sampler):
    corners = torch.cartesian_prod(*2 * [torch.tensor([0.0, 1.0], dtype=torch.float64)])
    X = torch.cat([corners, torch.rand(6, 2, dtype=torch.float64)])
    Y = torch.sin(3.0 * X[:, 0]) + X[:, 1]
    gp = fit("warped", X, (Y - Y.mean()) / Y.std(), sampler=sampler, seed=2)
    acquisition = NoisyExpectedImprovement(gp, num_samples=16)
    points = corners.clone().unsqueeze(-2).requires_grad_()
    values = acquisition(points)
    (gradient,) = torch.autograd.grad(values.sum(), points)
    assert bool(values.isfinite().all() & gradient.isfinite().all())
    inputs, outputs = sample_optima(gp, unit_box(2), num_optima=2, num_features=64)
    assert bool(((inputs >= 0) & (inputs <= 1)).all() & outputs.isfinite().all())


def test_inputs_outside_the_box_are_not_warped():
    X = torch.tensor([[0.1], [0.5], [1.2]], dtype=torch.float64)
    with pytest.raises(InputError, match=r"Warped inputs lie in the unit box, got values from 0\.1 to 1\.2"):
        fit("warped", X, torch.tensor([0.0, 1.0, 2.0]))


def test_concentrations_are_learned():
    """A function of x³ with noise: the warping that makes it stationary has most of its slope at the right end.

    The prior LN(0, 0.1) is wide enough to follow; without data log c₁ would have mean 0.
    """
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    y = np.sin(12.0 * X[:, 0] ** 3) + 0.02 * rng.standard_normal(60)
    wide = {"concentration": LogNormal(0.0, 1.0)}
    gp = scorebo.fit_gp(
        torch.from_numpy(X), torch.from_numpy(y), "warped", warmup=64, thinning=3, num_mcmc_samples=32, **wide
    )
    assert float(gp.kernel.concentration1.log().mean()) > math.log(1.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"yeo_johnson": 1}, "yeo_johnson of model 'warped' must be true or false"),
        ({"standardize": False}, "transforms the outputs: they must be standardized too"),
        ({"concentration": Normal(0.0, 1.0)}, "concentration of model 'warped' is positive"),
        ({"concentration": -1.0}, "concentration of model 'warped' must be a prior or null"),
        ({"partitions": 3}, "partitions of model 'warped' must be Partitions or null"),
        ({"partitions": Partitions(2)}, "cannot have both partitions and warped inputs"),
    ],
)
def test_a_model_that_cannot_be_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        load_model("warped", **settings)
