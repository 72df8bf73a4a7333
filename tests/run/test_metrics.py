import math

import numpy as np
import pytest
import torch
from scipy import stats

import scorebo
from scorebo.gp import FullyBayesianGP
from scorebo.run import metrics
from scorebo.transforms.standardize import DataTransform
from tests.conftest import random_ensemble


def test_negative_mll_is_the_joint_density_of_blocks(monkeypatch):
    monkeypatch.setattr(metrics, "BLOCK", 5)
    model = random_ensemble(1)
    X, targets = torch.rand(15, 2, dtype=torch.float64), torch.randn(15, dtype=torch.float64)
    total = 0.0
    for block in range(3):
        part = slice(5 * block, 5 * block + 5)
        posterior = model.posterior(X[part], observation_noise=True)
        for m in range(model.num_mcmc_samples):
            mean, covariance = posterior.mean[m, :, 0], posterior.distribution.covariance_matrix[m]
            total += stats.multivariate_normal(mean.numpy(), covariance.numpy()).logpdf(targets[part].numpy()) / 5
    prediction = metrics.predict_in_blocks(model, X, targets)
    assert prediction.negative_mll == pytest.approx(-total / (3 * model.num_mcmc_samples), rel=1e-10)
    assert prediction.jittered_blocks == 0
    mean, variance = model.marginals(X, observation_noise=True)
    torch.testing.assert_close(prediction.mean, mean, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(prediction.variance, variance, rtol=1e-12, atol=1e-13)


def test_nlpd_is_the_density_of_the_mixture():
    mean, variance = torch.randn(7, 3, dtype=torch.float64), 0.1 + torch.rand(7, 3, dtype=torch.float64)
    targets = torch.randn(7, dtype=torch.float64)
    density = stats.norm(mean.numpy(), variance.sqrt().numpy()).pdf(targets[:, None].numpy()).mean(1)
    value = metrics.negative_log_predictive_density(mean, variance, targets)
    assert value == pytest.approx(-np.log(density).mean(), rel=1e-12)


def test_nlpd_of_a_hopeless_target_is_finite():
    one = torch.ones(1, 2, dtype=torch.float64)
    assert math.isfinite(metrics.negative_log_predictive_density(0 * one, 1e-6 * one, torch.tensor([1e3])))


def test_covariance_of_a_block_is_factorized():
    covariance = 3.0 * np.eye(4) + 1.0
    factor = np.empty((4, 4), order="F")
    assert not metrics.factorize(np.asfortranarray(covariance), covariance.diagonal() + 0.1, factor)
    expected = np.linalg.cholesky(covariance + 0.1 * np.eye(4))
    np.testing.assert_allclose(np.tril(factor), expected, rtol=1e-14, atol=1e-15)


def test_indefinite_blocks_are_jittered_and_counted(monkeypatch):
    covariance = np.full((3, 3), 0.75)
    factor = np.empty((3, 3), order="F")
    assert metrics.factorize(np.asfortranarray(covariance), covariance.diagonal() - 1e-13, factor)
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, covariance, rtol=0, atol=1e-9)
    # The same point many times, without noise to speak of.
    monkeypatch.setattr(metrics, "BLOCK", 50)
    model = FullyBayesianGP(
        torch.tensor([[0.0], [1.0]], dtype=torch.float64),
        torch.tensor([0.0, 1.0], dtype=torch.float64),
        lengthscale=torch.ones(1, 1),
        outputscale=torch.ones(1),
        noise=torch.full((1,), 1e-17),
        mean=torch.zeros(1),
    )
    X = torch.full((100, 1), 0.3, dtype=torch.float64)
    assert metrics.predict_in_blocks(model, X, torch.zeros(100, dtype=torch.float64)).jittered_blocks == 2


def test_points_depend_on_task_seed_and_iteration_only():
    points = metrics.test_points("ishigami", 1, 7, 3)
    assert points.shape == (2000, 3)
    assert torch.equal(points, metrics.test_points("ishigami", 1, 7, 3))
    for other in (("ishigami", 2, 7, 3), ("ishigami", 1, 8, 3), ("higdon", 1, 7, 3)):
        assert not torch.equal(points, metrics.test_points(*other))


def test_rmse_is_in_the_tasks_units():
    task = scorebo.load_benchmark("branin_al")
    X = task.initial_design(1)
    y = task.evaluate_true(X)
    transform = DataTransform.of(task.bounds, y, maximize=task.maximize, standardize=True)
    model = scorebo.fit_gp(
        transform.to_unit(X), transform.to_model(y), model="true", lengthscale=[0.3, 0.3], noise=1e-4
    )
    quality = metrics.evaluate(model, task, transform, 1, 4)
    points = metrics.test_points("branin_al", 1, 4, 2)
    mean, _ = model.marginals(points)
    predicted = float(y.mean()) - mean[:, 0] * float(y.std())
    truth = task.evaluate_true(transform.from_unit(points))
    assert quality["rmse"] == pytest.approx(float((predicted - truth).pow(2).mean().sqrt()), rel=1e-10)
    assert quality["rmse"] > 1.0  # Branin's values go to 308: standardized errors would be below 1


@pytest.mark.parametrize("power", [None, 0.4])
def test_densities_in_the_tasks_units_are_those_of_a_model_of_the_outputs_as_they_are(power):
    """The same GP with mean and variances in the task's units; transformed outputs by a change of variables."""
    task = scorebo.load_benchmark("branin_al")
    X = task.initial_design(1)
    y = task.evaluate_true(X)
    seen = y if power is None else torch.from_numpy(stats.yeojohnson(y.numpy(), power))
    transform = DataTransform(task.bounds, -1.0, float(seen.mean()), float(seen.std()), power)
    unit, std = transform.to_unit(X), transform.output_std
    drawn = ([[0.3, 0.4], [0.6, 0.2]], [1.0, 2.0], [0.01, 0.1], [0.0, 0.5])
    lengthscale, outputscale, noise, mean = (torch.tensor(values, dtype=torch.float64) for values in drawn)
    sets = {"lengthscale": lengthscale, "outputscale": outputscale}
    model = FullyBayesianGP(unit, transform.to_model(y), noise=noise, mean=mean, noise_floor=1e-6, **sets)
    quality = metrics.evaluate(model, task, transform, 1, 4)

    points = metrics.test_points("branin_al", 1, 4, 2)
    truth = task.evaluate_true(transform.from_unit(points))
    targets = truth if power is None else torch.from_numpy(stats.yeojohnson(truth.numpy(), power))
    # f(y) dy = f(z) dz, by differences of scipy's transform.
    step = 1e-5 * np.maximum(1.0, truth.numpy())
    jacobian = np.zeros(len(truth))
    if power is not None:
        up, down = (stats.yeojohnson(truth.numpy() + sign * step, power) for sign in (1, -1))
        jacobian = np.log((up - down) / (2 * step))
    joint, single = [], np.empty((2, len(truth)))
    for m in range(2):
        one = FullyBayesianGP(
            unit,
            seen,
            lengthscale=sets["lengthscale"][m : m + 1],
            outputscale=std**2 * sets["outputscale"][m : m + 1],
            noise=std**2 * noise[m : m + 1],
            mean=transform.output_mean - std * mean[m : m + 1],
            noise_floor=1e-6 * std**2,
        )
        for first in range(0, len(truth), metrics.BLOCK):
            block = slice(first, first + metrics.BLOCK)
            center, covariance = (moment[0].numpy() for moment in one.joint(points[block], observation_noise=True))
            density = stats.multivariate_normal(center, covariance).logpdf(targets[block].numpy())
            joint.append((density + jacobian[block].sum()) / metrics.BLOCK)
        center, variance = (moment[:, 0].numpy() for moment in one.marginals(points, observation_noise=True))
        single[m] = stats.norm(center, np.sqrt(variance)).pdf(targets.numpy()) * np.exp(jacobian)
    assert quality["negative_mll_task_units"] == pytest.approx(-np.mean(joint), rel=1e-8)
    assert quality["nlpd_task_units"] == pytest.approx(-np.log(single.mean(axis=0)).mean(), rel=1e-8)
    shift = quality["negative_mll_task_units"] - quality["negative_mll"]
    assert shift == pytest.approx(np.log(std) - jacobian.mean(), rel=1e-8)
    assert quality["nlpd_task_units"] - quality["nlpd"] == pytest.approx(shift)


def test_outputs_that_are_not_standardized_have_one_density():
    task = scorebo.load_benchmark("gramacy1")
    X = task.initial_design(1)
    y = task.evaluate_true(X)
    transform = DataTransform.of(task.bounds, y, maximize=task.maximize, standardize=False)
    model = scorebo.fit_gp(transform.to_unit(X), transform.to_model(y), model="true", lengthscale=0.3, noise=0.01)
    quality = metrics.evaluate(model, task, transform, 1, 3)
    assert quality["negative_mll_task_units"] == quality["negative_mll"]
    assert quality["nlpd_task_units"] == quality["nlpd"]
