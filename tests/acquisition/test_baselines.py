from __future__ import annotations

import pytest
import torch
from acquisition_contract import AcquisitionContract, points
from botorch.models import SingleTaskGP
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

from scorebo.acquisition import BALD, BALM, BQBC, QBMGP, SAL
from scorebo.errors import InputError
from tests.conftest import random_ensemble


class TestBALD(AcquisitionContract):
    def build(self, model):
        return BALD(model)

    def test_definition(self):
        model, X = random_ensemble(10), points(20, 2)
        mean, variance = model.marginals(X, observation_noise=True)
        mixture = variance.mean(-1) + mean.var(-1, correction=0)
        expected = 0.5 * mixture.log() - 0.5 * variance.log().mean(-1)
        torch.testing.assert_close(BALD(model)(X.unsqueeze(1)), expected, rtol=0, atol=1e-13)


class TestBQBC(AcquisitionContract):
    def build(self, model):
        return BQBC(model)

    def test_definition(self):
        model, X = random_ensemble(10), points(20, 2)
        mean, _ = model.marginals(X)
        torch.testing.assert_close(BQBC(model)(X.unsqueeze(1)), mean.var(-1, correction=0), rtol=1e-11, atol=1e-14)


class TestQBMGP(AcquisitionContract):
    zero_for_one_set = False

    def build(self, model):
        return QBMGP(model)

    def test_is_balm_plus_bqbc(self):
        model, X = random_ensemble(10), points(20, 2).unsqueeze(1)
        torch.testing.assert_close(QBMGP(model)(X), BALM(model)(X) + BQBC(model)(X), rtol=1e-13, atol=0)


class TestBALM(AcquisitionContract):
    zero_for_one_set = False

    def build(self, model):
        return BALM(model)

    def test_counts_the_noise(self):
        model, X = random_ensemble(10), points(20, 2)
        _, variance = model.marginals(X)
        expected = variance.mean(-1) + model.noise_variance.mean()
        torch.testing.assert_close(BALM(model)(X.unsqueeze(1)), expected, rtol=1e-13, atol=0)


@pytest.fixture(scope="module")
def botorch_model():
    X = points(10, 2)
    Y = torch.sin(5 * X.sum(-1, keepdim=True))
    model = SaasFullyBayesianSingleTaskGP(X, (Y - Y.mean()) / Y.std())
    samples = {"lengthscale": 0.2 + points(4, 2, seed=1).unsqueeze(1), "outputscale": 0.5 + points(4, 1, seed=2)[:, 0]}
    samples |= {"noise": 0.01 + 0.1 * points(4, 1, seed=3)[:, 0], "mean": points(4, 1, seed=4)[:, 0]}
    model.load_mcmc_samples(samples)
    return model


@pytest.mark.parametrize("acquisition", [SAL, BALD, BQBC, QBMGP, BALM])
def test_a_botorch_fully_bayesian_model_is_lifted(acquisition, botorch_model):
    X = points(8, 2, seed=5)
    posterior = botorch_model.posterior(X.unsqueeze(1), observation_noise=True)
    acqf = acquisition(botorch_model)
    expected = acqf.score(posterior.mean[..., 0, 0], posterior.variance[..., 0, 0])
    torch.testing.assert_close(acqf(X.unsqueeze(1)), expected, rtol=1e-7, atol=1e-9)


def test_a_model_with_one_set_of_hyperparameters_is_refused():
    X = points(6, 2)
    with pytest.raises(InputError, match="fully Bayesian"):
        SAL(SingleTaskGP(X, (X.sum(-1, keepdim=True) - X.sum(-1).mean()) / X.sum(-1).std()))
