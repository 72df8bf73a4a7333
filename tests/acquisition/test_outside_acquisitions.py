"""Acquisitions and their gradients under a kernel from outside the package are those under the compiled one."""

import pytest
import torch
from acquisition_contract import points
from optima_contract import some_optima

from scorebo.acquisition import BALD, JES, MES, PES, SAL, UCB, MixtureMean, NoisyExpectedImprovement, SCoreBO
from tests import outside_models
from tests.conftest import random_ensemble

MAKERS = {
    "sal_hr": lambda model: SAL(model, distance="hellinger"),
    "sal_mc": lambda model: SAL(model, distance="kl", estimator="monte_carlo", num_samples=32, seed=1),
    "scorebo": lambda model: SCoreBO(model, *some_optima(model)),
    "jes": lambda model: JES(model, *some_optima(model)),
    "mes": lambda model: MES(model, some_optima(model)[1]),
    "pes": lambda model: PES(model, some_optima(model)[0]),
    "nei": lambda model: NoisyExpectedImprovement(model, seed=1),
    "ucb": UCB,
    "bald": BALD,
    "mean": MixtureMean,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("own", "outside"), [("matern52", outside_models.Matern52()), ("rbf", outside_models.RBF())])
def test_same_values_and_gradients(name, own, outside):
    X = points(8, 2).unsqueeze(1).requires_grad_()
    ours, theirs = (MAKERS[name](random_ensemble(7, kernel=kernel))(X) for kernel in (own, outside))
    torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-10)
    gradients = [torch.autograd.grad(values.sum(), X)[0] for values in (ours, theirs)]
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-9)
