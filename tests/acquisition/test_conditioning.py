from __future__ import annotations

import functools

import pytest
import torch
from acquisition_contract import points
from optima_contract import some_optima

from scorebo.acquisition.conditioning import JITTER, Optima, below_optimum
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble


def explicit(model, m, x_star, f_star, X):
    """Moments of f under set m with (x*, f*) added to the data as an observation of variance `JITTER`."""
    select = {"lengthscale": model.lengthscale[m : m + 1], "outputscale": model.outputscale[m : m + 1]}
    inputs = torch.cat([model.train_X, x_star[None]])
    targets = torch.cat([model.train_Y[:, 0], f_star]) - model.mean[m]
    noise = torch.cat([model.noise_variance[m].expand(len(model.train_X)), torch.tensor([JITTER]).double()])
    kernel = model.kernel.of_set(m)
    K = kernel(inputs, inputs, **select)[0] + torch.diag(noise)
    cross = kernel(X, inputs, **select)[0]
    mean = model.mean[m] + cross @ torch.linalg.solve(K, targets)
    prior = kernel(X[:1], X[:1], **select)[0, 0, 0]
    return mean, prior - (cross * torch.linalg.solve(K, cross.mT).mT).sum(-1)


MODELS = {
    "matern52": functools.partial(random_ensemble, kernel="matern52"),
    "rbf": functools.partial(random_ensemble, kernel="rbf"),
    "additive": additive_ensemble,
    "warped": warped_ensemble,
}


@pytest.mark.parametrize("kind", MODELS)
def test_is_the_posterior_with_the_optimum_observed(kind):
    model = MODELS[kind](0, n=25, dim=3, num_mcmc_samples=4)
    inputs, outputs = some_optima(model)
    X = torch.cat([points(50, 3), model.train_X[:5]])
    optima = Optima(model, inputs, outputs)
    mean, variance = optima.condition(optima.predict(X))
    assert mean.shape == variance.shape == (3, 4, len(X))
    for n in range(3):
        for m in range(4):
            expected_mean, expected_variance = explicit(model, m, inputs[n, m], outputs[n, m], X)
            torch.testing.assert_close(mean[n, m], expected_mean, rtol=0, atol=1e-8)
            torch.testing.assert_close(variance[n, m], expected_variance, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", MODELS)
def test_derivatives_are_those_of_differences(kind):
    model = MODELS[kind](3, n=8, dim=3, num_mcmc_samples=2)
    optima = Optima(model, *some_optima(model, count=2))
    X = points(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda X: optima.condition(optima.predict(X)), (X,))


def test_is_the_ensemble_with_one_more_observation():
    names = ("lengthscale", "outputscale", "mean")
    model = random_ensemble(1, num_mcmc_samples=1)
    sets = {name: getattr(model, name) for name in names}
    # An ensemble has one noise variance for all observations: with that of the optimum both can be compared.
    model = FullyBayesianGP(model.train_X, model.train_Y, noise=torch.tensor([JITTER]), **sets)
    inputs, outputs = some_optima(model, count=1)
    more = FullyBayesianGP(
        torch.cat([model.train_X, inputs[0]]), torch.cat([model.train_Y, outputs[0]]), noise=model.noise, **sets
    )
    X = points(50, 2)
    optima = Optima(model, inputs, outputs)
    mean, variance = optima.condition(optima.predict(X))
    expected_mean, expected_variance = more.marginals(X)
    torch.testing.assert_close(mean[0, 0], expected_mean[:, 0], rtol=0, atol=1e-7)
    torch.testing.assert_close(variance[0, 0], expected_variance[:, 0], rtol=0, atol=1e-7)


def test_prediction_is_the_joint_posterior():
    model = random_ensemble(2, dim=3)
    inputs, _ = some_optima(model)
    X = points(6, 3)
    optima = Optima(model, inputs)
    prediction = optima.predict(X)
    for n in range(3):
        for m in range(4):
            mean, covariance = model.joint(torch.cat([X, inputs[n, m][None]]))
            torch.testing.assert_close(prediction.mean[m], mean[m, :-1])
            torch.testing.assert_close(optima.mean[n, m, 0], mean[m, -1])
            torch.testing.assert_close(prediction.variance[m], covariance[m].diagonal()[:-1])
            torch.testing.assert_close(optima.variance[n, m, 0], covariance[m, -1, -1])
            torch.testing.assert_close(prediction.covariance[n, m], covariance[m, :-1, -1])


def test_optima_condition_their_own_set_alone():
    model = random_ensemble(3)
    inputs, outputs = some_optima(model)
    changed_inputs, changed_outputs = inputs.clone(), outputs.clone()
    changed_inputs[1, 2], changed_outputs[1, 2] = 0.3, 5.0
    X = points(20, 2)
    first, second = Optima(model, inputs, outputs), Optima(model, changed_inputs, changed_outputs)
    pairs = zip(first.condition(first.predict(X)), second.condition(second.predict(X)), strict=True)
    for before, after in pairs:
        same = (before == after).all(dim=-1)
        assert same.sum() == 11
        assert not same[1, 2]


def test_at_the_optimum_its_value_is_known():
    model = random_ensemble(4)
    inputs, outputs = some_optima(model)
    optima = Optima(model, inputs, outputs)
    for n in range(3):
        mean, variance = optima.condition(optima.predict(inputs[n]))
        for m in range(4):
            assert mean[n, m, m].item() == pytest.approx(outputs[n, m].item(), abs=1e-4)
            assert 0 < variance[n, m, m] < 1.01 * JITTER


def test_below_the_optimum_agrees_with_sampling():
    model = random_ensemble(5, num_mcmc_samples=1)
    inputs, _ = some_optima(model, count=1)
    X, noise = points(4, 2), torch.tensor([[0.05]], dtype=torch.float64)
    optima = Optima(model, inputs)
    mean, variance = below_optimum(optima.predict(X), optima.mean, optima.variance, noise).moments()
    generator = torch.Generator().manual_seed(0)
    count = 1_000_000
    for k in range(4):
        located, covariance = model.joint(torch.cat([X[k : k + 1], inputs[0]]))
        draws = located[0] + torch.randn(count, 2, dtype=torch.float64, generator=generator) @ (
            torch.linalg.cholesky(covariance[0]).mT
        )
        kept = draws[draws[:, 0] <= draws[:, 1], 0]
        assert len(kept) > 10_000
        # Six standard errors.
        assert mean[0, 0, k].item() == pytest.approx(kept.mean().item(), abs=6 * kept.std().item() / len(kept) ** 0.5)
        assert variance[0, 0, k].item() - 0.05 == pytest.approx(kept.var().item(), rel=6 * (3 / len(kept)) ** 0.5)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (torch.rand(3, 4), torch.rand(3, 4, 1), "optimal_inputs must be N x 4 x 2"),
        (torch.rand(3, 5, 2), torch.rand(3, 5, 1), "optimal_inputs must be N x 4 x 2"),
        (torch.rand(3, 4, 3), torch.rand(3, 4, 1), "optimal_inputs must be N x 4 x 2"),
        (torch.rand(0, 4, 2), torch.rand(0, 4, 1), "optimal_inputs must be N x 4 x 2"),
        (torch.rand(3, 4, 2), torch.rand(3, 4), "optimal_outputs must be N x 4 x 1"),
        (torch.rand(3, 4, 2), torch.rand(2, 4, 1), "3 optima for each set, optimal_outputs 2"),
        (torch.full((3, 4, 2), torch.nan), torch.rand(3, 4, 1), "optimal_inputs holds values that are not finite"),
        (torch.rand(3, 4, 2), torch.full((3, 4, 1), torch.inf), "optimal_outputs holds values that are not finite"),
        ("here", torch.rand(3, 4, 1), "optimal_inputs must be a tensor"),
    ],
)
def test_unusable_optima_are_refused(inputs, outputs, message):
    with pytest.raises(InputError, match=message):
        Optima(random_ensemble(0), inputs, outputs)


def test_conditioning_needs_values():
    optima = Optima(random_ensemble(0), torch.rand(3, 4, 2))
    with pytest.raises(InputError, match="optimal_outputs"):
        optima.condition(optima.predict(points(3, 2)))
