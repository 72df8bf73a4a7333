import pickle

import gpytorch
import numpy as np
import pytest
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.models.fully_bayesian import FullyBayesianSingleTaskGP, SaasFullyBayesianSingleTaskGP
from botorch.optim import optimize_acqf
from botorch.posteriors.fully_bayesian import MCMC_DIM, GaussianMixturePosterior

from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from tests.conftest import additive_ensemble, random_ensemble, warped_ensemble


def by_definition(model, X, m):
    """Posterior mean and covariance of f from the textbook formula, set m."""
    kernel = model.kernel
    select = {"lengthscale": model.lengthscale[m : m + 1], "outputscale": model.outputscale[m : m + 1]}
    K = kernel(model.train_X, model.train_X, **select)[0] + model.noise_variance[m] * torch.eye(
        len(model.train_X), dtype=torch.float64
    )
    cross, prior = kernel(X, model.train_X, **select)[0], kernel(X, X, **select)[0]
    mean = model.mean[m] + cross @ torch.linalg.solve(K, model.train_Y[:, 0] - model.mean[m])
    return mean, prior - cross @ torch.linalg.solve(K, cross.mT)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_posterior_is_the_textbook_one(kernel):
    model = random_ensemble(1, n=30, dim=3, num_mcmc_samples=5, kernel=kernel)
    X = torch.rand(4, 6, 3, dtype=torch.float64)
    for noisy in (False, True):
        posterior = model.posterior(X, observation_noise=noisy)
        assert isinstance(posterior, GaussianMixturePosterior)
        assert posterior.mean.shape == (4, 5, 6, 1)
        assert posterior.mean.shape[MCMC_DIM] == 5
        for b in range(4):
            for m in range(5):
                mean, covariance = by_definition(model, X[b], m)
                covariance = covariance + noisy * model.noise_variance[m] * torch.eye(6, dtype=torch.float64)
                torch.testing.assert_close(posterior.mean[b, m, :, 0], mean, rtol=1e-10, atol=1e-10)
                ours = posterior.distribution.covariance_matrix[b, m]
                torch.testing.assert_close(ours, covariance, rtol=1e-10, atol=1e-10)


def test_marginals_are_the_posterior_of_single_points():
    model = random_ensemble(2)
    X = torch.rand(3, 5, 2, dtype=torch.float64)
    mean, variance = model.marginals(X, observation_noise=True)
    assert mean.shape == variance.shape == (3, 5, 4)
    for row in range(3):
        joint_mean, covariance = model.joint(X[row], observation_noise=True)
        torch.testing.assert_close(mean[row], joint_mean.mT)
        torch.testing.assert_close(variance[row], covariance.diagonal(dim1=-2, dim2=-1).mT)
    single = model.posterior(X.unsqueeze(-2), observation_noise=True)
    torch.testing.assert_close(single.mean.squeeze(-1).squeeze(-1), mean)
    torch.testing.assert_close(single.variance.squeeze(-1).squeeze(-1), variance)


def test_noise_floor_is_in_data_and_prediction():
    plain = random_ensemble(3)
    settings = {name: getattr(plain, name) for name in ("lengthscale", "outputscale", "mean")}
    floored = FullyBayesianGP(plain.train_X, plain.train_Y, noise=plain.noise, noise_floor=0.1, **settings)
    raised = FullyBayesianGP(plain.train_X, plain.train_Y, noise=plain.noise + 0.1, **settings)
    X = torch.rand(7, 2, dtype=torch.float64)
    pairs = zip(floored.marginals(X, observation_noise=True), raised.marginals(X, observation_noise=True), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)
    assert torch.equal(floored.noise, plain.noise)


@pytest.mark.parametrize("cls", [SaasFullyBayesianSingleTaskGP, FullyBayesianSingleTaskGP])
def test_lifts_a_botorch_model(cls):
    X = torch.rand(15, 3, dtype=torch.float64)
    Y = torch.sin(4 * X.sum(-1, keepdim=True))
    peer = cls(X, (Y - Y.mean()) / Y.std())
    sets = {
        "lengthscale": torch.rand(6, 1, 3, dtype=torch.float64) + 0.1,
        "noise": torch.rand(6, dtype=torch.float64) * 0.1 + 0.001,
        "mean": torch.randn(6, dtype=torch.float64),
    }
    if cls is SaasFullyBayesianSingleTaskGP:
        sets["outputscale"] = torch.rand(6, dtype=torch.float64) + 0.2
    peer.load_mcmc_samples(sets)
    ours = FullyBayesianGP.from_botorch(peer)
    points = torch.rand(8, 4, 3, dtype=torch.float64)
    for noisy in (False, True):
        expected, lifted = (
            peer.posterior(points, observation_noise=noisy),
            ours.posterior(points, observation_noise=noisy),
        )
        assert (expected.mean - lifted.mean).abs().max() < 1e-8
        difference = expected.distribution.covariance_matrix - lifted.distribution.covariance_matrix
        assert difference.abs().max() < 1e-8
        assert (expected.mixture_variance - lifted.mixture_variance).abs().max() < 1e-8


def test_refuses_to_lift_what_it_cannot_hold():
    X = torch.rand(5, 2, dtype=torch.float64)
    Y = (X.sum(-1, keepdim=True) - X.sum(-1).mean()) / X.sum(-1).std()
    peer = SaasFullyBayesianSingleTaskGP(X, Y, train_Yvar=torch.full_like(Y, 0.1))
    peer.load_mcmc_samples({"lengthscale": torch.rand(3, 1, 2), "outputscale": torch.rand(3), "mean": torch.rand(3)})
    with pytest.raises(InputError, match="train_Yvar"):
        FullyBayesianGP.from_botorch(peer)


def test_botorch_acquisition_and_optimizer_run_on_it():
    model = random_ensemble(4, n=10)
    acquisition = qLogNoisyExpectedImprovement(model, model.train_X, prune_baseline=True)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    candidate, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=3, raw_samples=32)
    assert candidate.shape == (1, 2)
    assert torch.isfinite(value)
    assert ((candidate >= 0) & (candidate <= 1)).all()
    pair, _ = optimize_acqf(acquisition, bounds, q=2, num_restarts=2, raw_samples=16)
    assert pair.shape == (2, 2)


def test_sampling_works_at_observations_without_noise():
    X = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
    model = FullyBayesianGP(
        X, torch.sin(6 * X), lengthscale=[[0.5], [2.0]], outputscale=[1.0, 9.0], noise=[1e-9, 1e-9], mean=[0.0, 0.0]
    )
    points = torch.stack([X, X + 1e-12])[:, :, None, 0].mT.reshape(6, 2, 1)
    assert torch.isfinite(model.posterior(points).rsample(torch.Size([8]))).all()


def test_one_set_is_an_exact_gp():
    model = random_ensemble(5, num_mcmc_samples=1)
    peer = SingleTaskGP(model.train_X, model.train_Y, outcome_transform=None)
    peer.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=2)).double()
    peer.covar_module.outputscale = model.outputscale[0]
    peer.covar_module.base_kernel.lengthscale = model.lengthscale[0]
    peer.likelihood.noise, peer.mean_module.constant.data = model.noise[0], model.mean[0]
    X = torch.rand(9, 2, dtype=torch.float64)
    expected = peer.posterior(X, observation_noise=True)
    mean, variance = model.marginals(X, observation_noise=True)
    torch.testing.assert_close(mean, expected.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(variance, expected.variance, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ensemble", [random_ensemble, additive_ensemble, warped_ensemble])
def test_joint_distribution_by_set_is_that_of_all_sets(ensemble):
    model = ensemble(2)
    X = torch.rand(9, model.dim, dtype=torch.float64)
    means, covariances = model.joint(X)
    by_set = [(mean, np.tril(covariance)) for mean, covariance in model.joint_by_sample(X)]
    assert len(by_set) == model.num_mcmc_samples
    for m, (mean, triangle) in enumerate(by_set):
        np.testing.assert_allclose(mean, means[m].numpy(), rtol=1e-12)
        np.testing.assert_allclose(triangle, np.tril(covariances[m].numpy()), rtol=1e-10, atol=1e-13)
    assert torch.equal(model.joint(X)[1], covariances)  # nothing of the model is overwritten


def test_evaluation_factorizes_nothing(monkeypatch):
    model = random_ensemble(6)

    def refuse(*_args, **_kwargs):
        raise AssertionError("factorized again")

    for name in ("cholesky", "cholesky_ex", "solve", "solve_triangular", "inv"):
        monkeypatch.setattr(torch.linalg, name, refuse)
    X = torch.rand(50, 2, dtype=torch.float64, requires_grad=True)
    mean, variance = model.marginals(X)
    (mean + variance).sum().backward()
    assert torch.isfinite(X.grad).all()


def test_variance_stays_positive_next_to_noiseless_observations():
    X = torch.linspace(0, 1, 12, dtype=torch.float64)[:, None]
    model = FullyBayesianGP(
        X, torch.sin(6 * X), lengthscale=[[1.0]], outputscale=[100.0], noise=[1e-6], mean=[0.0], kernel="rbf"
    )
    _, variance = model.marginals(torch.cat([X, X + 1e-9]))
    assert (variance > 0).all()


def test_pickles():
    model = random_ensemble(7)
    again = pickle.loads(pickle.dumps(model))
    X = torch.rand(3, 2, dtype=torch.float64)
    assert torch.equal(again.marginals(X)[0], model.marginals(X)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengthscale": torch.ones(2, 3)}, "lengthscale must be M x 2"),
        ({"noise": torch.ones(3)}, "noise must hold one value for each of the 2 sets"),
        ({"outputscale": torch.tensor([1.0, -1.0])}, "outputscale must be positive"),
        ({"noise": torch.tensor([1.0, -1.0])}, "noise is a variance"),
        ({"mean": torch.tensor([float("nan"), 0.0])}, "mean holds values that are not finite"),
        ({"kernel": "cosine"}, "Unknown kernel 'cosine'"),
        ({"train_Y": torch.ones(5, 2)}, "train_X must be n x D and train_Y n x 1"),
        ({"train_Y": torch.ones(4)}, "train_X must be n x D and train_Y n x 1"),
    ],
)
def test_bad_input(change, message):
    settings = {
        "train_X": torch.rand(5, 2), "train_Y": torch.rand(5), "lengthscale": torch.ones(2, 2),
        "outputscale": torch.ones(2), "noise": torch.ones(2), "mean": torch.zeros(2),
    } | change  # fmt: skip
    with pytest.raises(InputError, match=message):
        FullyBayesianGP(settings.pop("train_X"), settings.pop("train_Y"), **settings)


def test_duplicates_without_noise_are_explained():
    X = torch.tensor([[0.5], [0.5], [0.2]])
    with pytest.raises(InputError, match="duplicates or too close"):
        FullyBayesianGP(X, torch.rand(3), lengthscale=[[1.0]], outputscale=[1.0], noise=[0.0], mean=[0.0])


def test_second_derivatives_of_the_moments():
    model = random_ensemble(3, n=6, dim=2, num_mcmc_samples=2)
    X = torch.rand(2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda points: model.marginals(points), (X,))
