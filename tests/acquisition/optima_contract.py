"""The contract of acquisitions that are given optima, and optima to give them."""

from __future__ import annotations

import torch
from acquisition_contract import AcquisitionContract, points

from scorebo.gp import FullyBayesianGP
from tests.conftest import random_ensemble


def some_optima(model: FullyBayesianGP, count: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """For each set the maximizers and maxima of μ + zσ over random points, z = ½ … 2; a function of the set alone."""
    candidates = points(256, model.dim, seed=99)
    mean, variance = model.marginals(candidates)
    scores = torch.linspace(0.5, 2.0, count, dtype=torch.float64)
    outputs, best = (mean + scores[:, None, None] * variance.sqrt()).max(dim=1)
    return candidates[best], outputs.unsqueeze(-1)


def one_set(model: FullyBayesianGP, m: int) -> FullyBayesianGP:
    names = ("lengthscale", "outputscale", "noise", "mean")
    return FullyBayesianGP(model.train_X, model.train_Y, **{name: getattr(model, name)[m : m + 1] for name in names})


class OptimaContract(AcquisitionContract):
    """Subclasses say how the acquisition is built from a model and optima."""

    zero_for_one_set = False

    def build_with(self, model, optimal_inputs, optimal_outputs):
        raise NotImplementedError

    def build(self, model):
        return self.build_with(model, *some_optima(model))

    def test_order_of_the_optima_does_not_matter(self):
        model, X = random_ensemble(8), points(20, 2).unsqueeze(1)
        inputs, outputs = some_optima(model)
        order = torch.tensor([2, 0, 1])
        shuffled = self.build_with(model, inputs[order], outputs[order])
        torch.testing.assert_close(shuffled(X), self.build_with(model, inputs, outputs)(X), rtol=1e-10, atol=1e-13)

    def test_finite_at_and_around_the_optima(self):
        model = random_ensemble(9)
        inputs, outputs = some_optima(model)
        near = inputs.reshape(-1, 2)
        steps = [0.0, 1e-12, 1e-9, 1e-6, 1e-4]
        X = torch.cat([(near + step).clamp(0, 1) for step in steps]).unsqueeze(1).requires_grad_()
        values = self.build_with(model, inputs, outputs)(X)
        (gradient,) = torch.autograd.grad(values.sum(), X)
        assert values.isfinite().all()
        assert gradient.isfinite().all()

    def test_finite_with_optima_out_of_the_ordinary(self):
        model = random_ensemble(10)
        inputs, outputs = some_optima(model)
        X = torch.cat([points(40, 2), model.train_X]).unsqueeze(1).requires_grad_()
        # At an observed input; the same one N times; maxima far below and far above every mean.
        cases = [
            (model.train_X[:3, None].expand(3, 4, 2), outputs),
            (inputs[:1].expand(3, 4, 2), outputs[:1].expand(3, 4, 1)),
            *[(inputs, outputs + shift) for shift in (-1.0, -5.0, -100.0, -1e6, 100.0, 1e6)],
        ]
        for case in cases:
            values = self.build_with(model, *case)(X)
            (gradient,) = torch.autograd.grad(values.sum(), X)
            assert values.isfinite().all()
            assert gradient.isfinite().all()
