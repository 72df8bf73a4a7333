"""What every acquisition of the ensemble must do; a new acquisition's test inherits `AcquisitionContract`."""

from __future__ import annotations

import pickle

import pytest
import torch
from botorch.optim import optimize_acqf

from scorebo.acquisition import maximize
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import random_ensemble


def unit_box(dim: int) -> torch.Tensor:
    return torch.tensor([[0.0] * dim, [1.0] * dim], dtype=torch.float64)


def points(count: int, dim: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, dim, dtype=torch.float64, generator=generator)


def with_sets(model: FullyBayesianGP, order: list[int]) -> FullyBayesianGP:
    """The ensemble with its sets chosen and ordered anew."""
    names = ("lengthscale", "outputscale", "noise", "mean")
    sets = {name: getattr(model, name)[order] for name in names}
    return FullyBayesianGP(model.train_X, model.train_Y, **sets)


class AcquisitionContract:
    """Subclasses say how the acquisition is built from a model."""

    # Whether the acquisition measures disagreement between the sets, of which a single set has none.
    zero_for_one_set = True
    gradient_tolerance = 1e-6
    # Of the finite differences; shorter for a function with kinks.
    gradient_step = 1e-5

    def build(self, model):
        raise NotImplementedError

    def test_one_value_for_each_point(self):
        acqf = self.build(random_ensemble(0))
        X = points(7, 2, seed=100)  # with the ensemble's own seed they would be its observations
        values = acqf(X.unsqueeze(1))
        assert values.shape == (7,)
        assert torch.allclose(acqf(X[3:4]), values[3:4], rtol=1e-12, atol=1e-14)
        assert torch.allclose(acqf(X[:6].reshape(2, 3, 1, 2)), values[:6].reshape(2, 3), rtol=1e-12, atol=1e-14)

    def test_refuses_several_points_at_once(self):
        acqf = self.build(random_ensemble(0))
        with pytest.raises(InputError, match=r"takes one point at a time.*got \(3, 2, 2\).*with q=1"):
            acqf(points(6, 2).reshape(3, 2, 2))
        with pytest.raises(InputError, match="q=2 points at once are not supported yet"):
            optimize_acqf(acqf, unit_box(2), q=2, num_restarts=1, raw_samples=4)

    def test_refuses_pending_points(self):
        acqf = self.build(random_ensemble(0))
        acqf.set_X_pending(None)
        with pytest.raises(InputError, match=r"does not support pending points yet.*one point at a time.*q=1"):
            acqf.set_X_pending(points(1, 2))
        with pytest.raises(InputError, match="does not support pending points yet"):
            optimize_acqf(acqf, unit_box(2), q=2, num_restarts=1, raw_samples=4, sequential=True)
        assert acqf.X_pending is None

    def test_gradient_is_that_of_the_value(self):
        acqf = self.build(random_ensemble(1, dim=3))
        X = points(5, 3, seed=100).unsqueeze(1).requires_grad_()
        (gradient,) = torch.autograd.grad(acqf(X).sum(), X)
        step = self.gradient_step
        with torch.no_grad():
            for d in range(3):
                offset = step * torch.eye(3, dtype=torch.float64)[d]
                numerical = (acqf(X + offset) - acqf(X - offset)) / (2 * step)
                torch.testing.assert_close(gradient[:, 0, d], numerical, rtol=1e-5, atol=self.gradient_tolerance)

    def test_finite_in_the_box_and_at_the_observations(self):
        model = random_ensemble(2)
        corners = torch.cartesian_prod(*2 * [torch.tensor([0.0, 1.0], dtype=torch.float64)])
        X = torch.cat([points(200, 2), model.train_X, corners]).unsqueeze(1).requires_grad_()
        values = self.build(model)(X)
        (gradient,) = torch.autograd.grad(values.sum(), X)
        assert values.isfinite().all()
        assert gradient.isfinite().all()

    def test_order_of_the_sets_does_not_matter(self):
        model = random_ensemble(3, num_mcmc_samples=6)
        X = points(20, 2).unsqueeze(1)
        shuffled = with_sets(model, [4, 1, 5, 0, 3, 2])
        torch.testing.assert_close(self.build(shuffled)(X), self.build(model)(X), rtol=1e-10, atol=1e-13)

    def test_a_single_set_does_not_disagree(self):
        values = self.build(with_sets(random_ensemble(4), [2]))(points(50, 2).unsqueeze(1))
        assert bool((values == 0).all()) == self.zero_for_one_set
        assert bool((values >= 0).all())

    def test_maximized_no_worse_than_by_botorch(self):
        model = random_ensemble(5, dim=2)
        acqf = self.build(model)
        numbers = {"num_restarts": 10, "raw_samples": 256, "options": {"maxiter": 100}}
        _, reference = optimize_acqf(acqf, unit_box(2), q=1, **numbers)
        x, value = maximize(acqf, unit_box(2), raw_samples=256, num_restarts=10, seed=1)
        assert value >= reference - 1e-6 * reference.abs()
        torch.testing.assert_close(acqf(x.unsqueeze(0))[0], value)

    def test_pickles(self):
        acqf = self.build(random_ensemble(6))
        X = points(9, 2).unsqueeze(1)
        assert torch.equal(pickle.loads(pickle.dumps(acqf))(X), acqf(X))

    def test_same_every_time(self):
        model, X = random_ensemble(7), points(9, 2).unsqueeze(1)
        assert torch.equal(self.build(model)(X), self.build(model)(X))
