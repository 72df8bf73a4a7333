"""Acquisitions that are given optima, built from a model alone."""

from __future__ import annotations

import pytest
import torch
from acquisition_contract import points, unit_box

import scorebo
from scorebo.acquisition import JES, MES, PES, SCoreBO, maximize
from scorebo.acquisition.base import OptimaAcquisition
from scorebo.errors import InputError
from scorebo.optima import sample_optima
from tests.conftest import random_ensemble

OPTIMA = {"num_optima": 3, "num_features": 128}


class Distance(OptimaAcquisition):
    """One of a user's own: the mean distance to the optima."""

    def __init__(self, model, optimal_inputs=None):
        super().__init__(model)
        self.optimal_inputs = optimal_inputs

    def evaluate(self, points):
        return torch.cdist(points, self.optimal_inputs.reshape(-1, points.shape[-1])).mean(-1)


@pytest.mark.parametrize(
    ("acquisition", "arguments", "options"),
    [
        (SCoreBO, lambda inputs, outputs: (inputs, outputs), {}),
        (SCoreBO, lambda inputs, outputs: (None, outputs), {"distance": "kl", "condition_on": "value"}),
        (SCoreBO, lambda inputs, outputs: (inputs, outputs), {"estimator": "monte_carlo", "num_samples": 32}),
        (JES, lambda inputs, outputs: (inputs, outputs), {}),
        (MES, lambda inputs, outputs: (outputs,), {}),
        (PES, lambda inputs, outputs: (inputs,), {"condition_on_observed": False}),
        (Distance, lambda inputs, outputs: (inputs,), {}),
    ],
)
def test_draws_the_optima_and_passes_the_options_on(acquisition, arguments, options):
    model, X = random_ensemble(0), points(20, 2).unsqueeze(1)
    built = acquisition.from_model(model, unit_box(2), **OPTIMA, seed=5, **options)
    assert type(built) is acquisition
    optima = sample_optima(model, unit_box(2), **OPTIMA, seed=5)
    samples = {"seed": 5} if acquisition is SCoreBO else {}
    assert torch.equal(built(X), acquisition(model, *arguments(*optima), **samples, **options)(X))
    assert not torch.equal(built(X), acquisition.from_model(model, unit_box(2), **OPTIMA, seed=6, **options)(X))


def test_by_default_eight_optima_of_2048_features():
    model = random_ensemble(1, num_mcmc_samples=2)
    inputs, outputs = sample_optima(model, unit_box(2), num_optima=8, num_features=2048, seed=0)
    built = SCoreBO.from_model(model, scorebo.Box(lower=[0.0, 0.0], upper=[1.0, 1.0]))
    assert torch.equal(built.optima.inputs, inputs)
    assert torch.equal(built.max_values, outputs)
    x, value = maximize(built, unit_box(2), raw_samples=32, num_restarts=2)
    assert x.shape == (1, 2)
    assert value > 0


@pytest.mark.parametrize("acquisition", [SCoreBO, JES, MES, PES])
def test_without_optima_it_is_named(acquisition):
    with pytest.raises(InputError, match=r"(optimal_inputs|max_values) is needed.*SCoreBO\.from_model\(model, "):
        acquisition(random_ensemble(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": unit_box(3)}, "with D = 2"),
        ({"bounds": None}, "bounds must be"),
        ({"num_optima": 0}, "num_optima must be"),
        ({"num_features": 0}, "num_features must be"),
        ({"seed": -1}, "seed must be"),
        ({"distance": "l2"}, "Unknown distance 'l2'"),
        ({"model": torch.nn.Linear(2, 1)}, "A fully Bayesian model is needed"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        SCoreBO.from_model(**{"model": random_ensemble(0), "bounds": unit_box(2), "num_features": 64, **arguments})
