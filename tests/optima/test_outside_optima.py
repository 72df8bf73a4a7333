"""Paths and optima under kernels from outside the package are those under the compiled ones."""

import pytest
import torch

from scorebo.errors import InputError
from scorebo.gp import Additive, FullyBayesianGP, Warped
from scorebo.optima import sample_optima, sample_paths
from scorebo.optima.maximize import NEWTON_DIM
from tests import outside_models
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble

KERNELS = [("matern52", outside_models.SameWaves()), ("rbf", outside_models.RBF())]


def unit_box(dim):
    return torch.stack([torch.zeros(dim), torch.ones(dim)]).double()


def with_kernel(model, kernel):
    sets = {name: getattr(model, name) for name in ("lengthscale", "outputscale", "noise", "mean")}
    return FullyBayesianGP(model.train_X, model.train_Y, kernel=kernel, **sets)


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_same_paths(name, kernel):
    own, outside = (sample_paths(random_ensemble(1, dim=3, kernel=k), 3, 200, seed=4) for k in (name, kernel))
    X = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(outside(X), own(X), rtol=1e-10, atol=1e-10)
    ours, theirs = (torch.autograd.grad(paths(X).sum(), X)[0] for paths in (own, outside))
    torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-10)
    points = X.detach().expand(3, 4, 5, 3)
    ours, theirs = (paths.own(points, gradient=True) for paths in (own, outside))
    torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dim", [2, NEWTON_DIM + 1])
@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_same_optima(name, kernel, dim):
    models = [random_ensemble(2, dim=dim, num_mcmc_samples=2, kernel=k) for k in (name, kernel)]
    own, outside = (sample_optima(model, unit_box(dim), 3, 200, seed=5) for model in models)
    torch.testing.assert_close(outside[1], own[1], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(outside[0], own[0], rtol=0, atol=1e-6 if dim > 2 else 1e-8)


def test_same_optima_of_groups():
    own = additive_ensemble(3)
    outside = with_kernel(own, Additive(outside_models.RBF(), own.kernel.partitions))
    ours, theirs = (sample_optima(model, unit_box(4), 3, 200, seed=6) for model in (own, outside))
    torch.testing.assert_close(theirs[1], ours[1], rtol=1e-10, atol=1e-10)


def test_same_optima_under_warped_inputs():
    own = warped_ensemble(4)
    parts = own.kernel.concentration0, own.kernel.concentration1
    outside = with_kernel(own, Warped(outside_models.SameWaves(), *parts))
    ours, theirs = (sample_optima(model, unit_box(2), 3, 200, seed=7) for model in (own, outside))
    torch.testing.assert_close(theirs[1], ours[1], rtol=1e-10, atol=1e-10)


def test_rough_paths_are_searched_up_to_the_observed_points():
    """Where the second derivative of a Matérn-3/2 correlation is infinite: an optimum is no lower than any of them."""
    model = random_ensemble(5, n=20, kernel=outside_models.Matern32())
    inputs, outputs = sample_optima(model, unit_box(2), 4, 400, seed=8)
    paths = sample_paths(model, 4, 400, seed=8)
    dense = torch.cat([torch.rand(2000, 2, dtype=torch.float64), model.train_X])
    assert bool((outputs[..., 0] >= paths(dense).max(dim=-1).values - 1e-9).all())
    assert bool(((inputs >= 0.0) & (inputs <= 1.0)).all())


def test_an_error_in_the_search_is_raised():
    class Broken(outside_models.Matern52):
        calls = 0

        def radial(self, squared_distance):
            Broken.calls += 1
            if Broken.calls > 60:
                raise RuntimeError("no such function")
            return super().radial(squared_distance)

    with pytest.raises(InputError, match="radial of the kernel Broken failed: RuntimeError: no such function"):
        sample_optima(random_ensemble(6, kernel=Broken()), unit_box(2), 3, 200)
