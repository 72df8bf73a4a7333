from __future__ import annotations

import warnings

import pytest
import torch
from acquisition_contract import points
from botorch.acquisition.joint_entropy_search import qJointEntropySearch
from botorch.acquisition.max_value_entropy_search import qLowerBoundMaxValueEntropy
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.means import ConstantMean
from optima_contract import OptimaContract, one_set, some_optima

from scorebo.acquisition import JES, MES
from scorebo.acquisition.conditioning import JITTER
from scorebo.acquisition.truncation import truncate
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import random_ensemble


class TestMES(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return MES(model, outputs)


class TestJES(OptimaContract):
    def build_with(self, model, inputs, outputs):
        return JES(model, inputs, outputs)


def botorch_model(model: FullyBayesianGP) -> SingleTaskGP:
    """The only set of an ensemble as a BoTorch model with given noise."""
    covariance = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=model.dim)).double()
    covariance.base_kernel.lengthscale, covariance.outputscale = model.lengthscale, model.outputscale[0]
    mean = ConstantMean().double()
    mean.constant = model.mean[0]
    noise = model.noise_variance.expand(len(model.train_X), 1).contiguous()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SingleTaskGP(
            model.train_X,
            model.train_Y,
            train_Yvar=noise,
            covar_module=covariance,
            mean_module=mean,
            outcome_transform=None,
        ).eval()


@pytest.mark.parametrize("seed", range(5))
def test_mes_is_that_of_botorch_for_one_set(seed):
    model = random_ensemble(seed, n=15, dim=1 + seed % 3, num_mcmc_samples=1)
    _, outputs = some_optima(model, count=5)
    X = points(100, model.dim, seed).unsqueeze(1)
    peer = qLowerBoundMaxValueEntropy(botorch_model(model), points(10, model.dim))
    # It draws its own max values, on a candidate set: they are replaced by ours.
    peer.posterior_max_values = outputs[:, 0]
    with torch.no_grad():
        reference = peer(X)
    # Its log argument and Φ are clamped at 1e-8, which matters for none of these points.
    torch.testing.assert_close(MES(model, outputs)(X), reference, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_jes_is_that_of_botorch_for_one_set(seed, monkeypatch):
    """Its optimum has a variance of 1e-4, ours 1e-6: its constant is set to ours. Its conditioned model predicts y with
    the average of all noises given to it, that of the optimum included: our formula is evaluated with that too.
    """
    monkeypatch.setattr("botorch.acquisition.joint_entropy_search.MIN_INFERRED_NOISE_LEVEL", JITTER)
    model = random_ensemble(seed, n=15, dim=1 + seed % 3, num_mcmc_samples=1)
    inputs, outputs = some_optima(model, count=5)
    X = points(100, model.dim, seed)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = qJointEntropySearch(botorch_model(model), inputs[:, 0], outputs[:, 0], estimation_type="LB")
        reference = peer(X.unsqueeze(1))
    acqf = JES(model, inputs, outputs)
    prediction = acqf.optima.predict(X)
    mean, variance = acqf.optima.condition(prediction)
    threshold = (outputs - mean) / variance.sqrt()
    averaged = (15 * model.noise + JITTER) / 16
    total = prediction.variance + model.noise
    ours = 0.5 * (total / (averaged + variance * truncate(threshold)[1])).log().mean(dim=(0, 1))
    # It clamps Φ and the variance factor at 1e-7: farther out in the tail it differs.
    unclamped = (threshold > -4.5).all(dim=0)[0]
    assert unclamped.sum() > 50
    torch.testing.assert_close(ours[unclamped], reference[unclamped], rtol=1e-5, atol=1e-6)
    # With the noise that y really has the two differ by the change of the logarithm of the noise at the most.
    shift = 0.5 * (model.noise / averaged).log()
    difference = (reference - acqf(X.unsqueeze(1)))[unclamped]
    assert (difference >= -1e-6).all()
    assert (difference <= shift + 1e-6).all()


@pytest.mark.parametrize("name", ["mes", "jes"])
def test_is_the_average_over_sets_and_optima(name):
    model, X = random_ensemble(1), points(30, 2).unsqueeze(1)
    inputs, outputs = some_optima(model)

    def build(model, inputs, outputs):
        return MES(model, outputs) if name == "mes" else JES(model, inputs, outputs)

    parts = [
        build(one_set(model, m), inputs[n : n + 1, m : m + 1], outputs[n : n + 1, m : m + 1])(X)
        for m in range(4)
        for n in range(3)
    ]
    torch.testing.assert_close(build(model, inputs, outputs)(X), torch.stack(parts).mean(dim=0), rtol=1e-8, atol=1e-10)


def test_gains_vanish_far_below_the_maximum():
    model = random_ensemble(2)
    X = points(50, 2).unsqueeze(1)
    assert MES(model, torch.full((2, 4, 1), 1e3))(X).abs().max() == 0


@pytest.mark.parametrize("values", [torch.rand(3, 4), torch.rand(3, 5, 1), torch.full((3, 4, 1), torch.nan)])
def test_unusable_max_values_are_refused(values):
    with pytest.raises(InputError, match="max_values"):
        MES(random_ensemble(0), values)


def test_jes_needs_both():
    with pytest.raises(InputError, match="optimal_outputs"):
        JES(random_ensemble(0), torch.rand(3, 4, 2), torch.rand(2, 4, 1))
    with pytest.raises(InputError, match="optimal_inputs"):
        JES(random_ensemble(0), torch.rand(3, 4, 5), torch.rand(3, 4, 1))
