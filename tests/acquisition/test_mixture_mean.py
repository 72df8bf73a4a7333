from __future__ import annotations

import pytest
import torch
from acquisition_contract import AcquisitionContract, points, with_sets

from scorebo.acquisition.mixture_mean import MixtureMean
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble


class TestMixtureMean(AcquisitionContract):
    def build(self, model):
        return MixtureMean(model)

    def test_definition(self):
        model, X = random_ensemble(10, dim=3), points(20, 3).unsqueeze(1)
        expected = model.posterior(X).mixture_mean.flatten()
        torch.testing.assert_close(MixtureMean(model)(X), expected, rtol=1e-11, atol=1e-11)

    def test_a_single_set_does_not_disagree(self):
        """A mean has a sign of its own; that of a single set is the set's."""
        model, X = with_sets(random_ensemble(4), [2]), points(50, 2)
        torch.testing.assert_close(MixtureMean(model)(X.unsqueeze(1)), model.marginals(X)[0][:, 0])


def check_gradient(model, dim):
    X = points(7, dim).requires_grad_()
    value = MixtureMean(model)(X.unsqueeze(1))
    expected = torch.autograd.grad(value.sum(), X)[0]
    ours, gradient = MixtureMean(model).with_gradient(X.detach())
    torch.testing.assert_close(ours, value.detach(), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(gradient, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("ensemble", [random_ensemble, additive_ensemble, warped_ensemble])
def test_value_with_gradient(ensemble):
    check_gradient(ensemble(6, dim=3), 3)


class Plain(torch.nn.Module):
    def marginals(self, X):
        return torch.stack([X.square().sum(-1), 3 * X.square().sum(-1)], dim=-1), torch.ones(len(X), 2)


def test_any_model_with_marginals_will_do():
    X = points(5, 2).unsqueeze(1)
    torch.testing.assert_close(MixtureMean(Plain())(X), 2 * X.square().sum((-1, -2)))
    check_gradient(Plain(), 2)
