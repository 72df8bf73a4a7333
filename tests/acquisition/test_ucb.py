from __future__ import annotations

import pytest
import torch
from acquisition_contract import AcquisitionContract, points, with_sets

from scorebo.acquisition import UCB, MixtureMean
from scorebo.errors import InputError
from tests.conftest import random_ensemble


class TestUCB(AcquisitionContract):
    def build(self, model):
        return UCB(model)

    def test_a_single_set_does_not_disagree(self):
        """A bound has a sign of its own; that of a single set is μ + 2σ of f."""
        model, X = with_sets(random_ensemble(4), [2]), points(50, 2)
        mean, variance = model.marginals(X)
        torch.testing.assert_close(UCB(model)(X.unsqueeze(1)), (mean + 2.0 * variance.sqrt())[:, 0])


def test_mean_and_deviation_are_those_of_the_mixture():
    model, X = random_ensemble(10, dim=3), points(20, 3).unsqueeze(1)
    posterior = model.posterior(X)
    expected = posterior.mixture_mean.flatten() + (9.0 * posterior.mixture_variance.flatten()).sqrt()
    torch.testing.assert_close(UCB(model, beta=9.0)(X), expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(UCB(model, beta=0.0)(X), MixtureMean(model)(X))


@pytest.mark.parametrize("beta", [-1.0, float("nan"), "wide"])
def test_unusable_beta_is_refused(beta):
    with pytest.raises(InputError, match="beta"):
        UCB(random_ensemble(0), beta=beta)
