import numpy as np
import pytest
import torch
from scipy import stats
from scipy.linalg import hadamard as hadamard_matrix

from scorebo.gp import Kernel
from scorebo.optima import generations, sample_paths, structured
from scorebo.optima._batch import evaluate_batch
from scorebo.optima._structured import LANES, SHARED, hadamard
from tests.conftest import additive_ensemble, random_ensemble

DIM = structured.DENSE_DIM + 6  # blocks of 128


def dense_paths(monkeypatch, *arguments):
    """The paths with quasi-random frequencies."""
    with monkeypatch.context() as patch:
        patch.setattr(structured, "DENSE_DIM", 10_000)
        return sample_paths(*arguments)


@pytest.mark.parametrize("size", [16, 32, 64, 128, 512])
def test_the_transform_against_its_matrix(size):
    rng = np.random.default_rng(size)
    vectors, factors, result = rng.random((size, LANES)), rng.random(size), np.empty(size * LANES)
    hadamard(vectors.ravel(), factors, result)
    expected = hadamard_matrix(size) @ (factors[:, None] * vectors)
    np.testing.assert_allclose(result.reshape(size, LANES), expected, rtol=0, atol=1e-12 * size)


def test_frequencies_are_the_product_of_their_factors():
    model = random_ensemble(2, dim=DIM, num_mcmc_samples=2)
    paths = sample_paths(model, 1, 400)  # a block and a part of one
    signs, radii = paths.structure.signs.numpy(), paths.structure.radii.numpy()
    transform = hadamard_matrix(128).astype(float)
    for m in range(2):
        shared = np.linalg.multi_dot([transform @ np.diag(signs[m, k]) for k in range(SHARED - 1, -1, -1)])
        blocks = [np.diag(radii[m, k]) @ transform @ np.diag(signs[m, SHARED + k]) @ shared for k in range(2)]
        expected = np.concatenate(blocks)[:200, :DIM] / model.lengthscale[m].numpy()
        np.testing.assert_allclose(paths.frequencies[m], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_frequencies_have_the_law_of_the_spectrum(kernel):
    """Single coordinates against Student's t with 5 degrees of freedom, or the normal distribution."""
    model = random_ensemble(2, dim=DIM, num_mcmc_samples=4, kernel=kernel)
    paths = sample_paths(model, 1, 2048, seed=3)
    unscaled = (paths.frequencies * model.lengthscale.unsqueeze(-2)).numpy()
    law = stats.t(5) if kernel == "matern52" else stats.norm()
    p_values = [stats.kstest(unscaled[m, :, d], law.cdf).pvalue for m in range(4) for d in range(0, DIM, 5)]
    assert min(p_values) > 0.01 / len(p_values)
    # No two directions are alike, of the same sample or of two: in 70 of 128 dimensions cosines are near 0.09.
    rows = np.concatenate(unscaled[:2])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, 0.0)
    assert abs(cosines).max() < 0.8


@pytest.mark.parametrize(("single", "tolerance"), [(False, 1e-11), (True, 3e-4)])
@pytest.mark.parametrize(("dim", "features"), [(DIM, 300), (180, 1400)])
def test_a_batch_by_the_structure_is_every_path_at_its_point(dim, features, single, tolerance):
    """Against the evaluation of one path at one point with the frequencies themselves; more points than lanes."""
    model = random_ensemble(4, n=12, dim=dim, num_mcmc_samples=2)
    paths = sample_paths(model, 3, features)
    X = torch.rand(LANES + 5, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    which, values, gradients = np.arange(len(X)) % 3, np.empty(len(X)), np.empty((len(X), dim))
    prepared = generations.prepare(paths.of_set(1, single=single), paths.structure_of_set(1, single=single))
    assert prepared[1].size == 0  # no matrix of frequencies takes part
    evaluate_batch(X.numpy(), which, prepared, values, gradients)
    own, slopes = paths.own(X.expand(3, 2, len(X), dim), gradient=True)
    np.testing.assert_allclose(values, own[which, 1, range(len(X))], rtol=0, atol=tolerance)
    np.testing.assert_allclose(gradients, slopes[which, 1, range(len(X))], rtol=0, atol=100 * tolerance)


@pytest.mark.parametrize("dim", [DIM, 180, 388])
def test_covariances_are_no_worse_than_with_quasi_random_frequencies(dim, monkeypatch):
    """Sparse lengthscales, pairs over the box and close ones, 4096 frequencies: mean and greatest error of a prior."""
    rng = np.random.default_rng(dim)
    model = random_ensemble(1, dim=dim, num_mcmc_samples=8)
    lengthscale = np.exp(rng.normal(3.0, 1.0, (8, dim)))
    for row in lengthscale:
        row[rng.choice(dim, 6, replace=False)] = rng.uniform(0.3, 1.2, 6)
    model = type(model)(
        model.train_X, model.train_Y, lengthscale=torch.from_numpy(lengthscale), outputscale=model.outputscale,
        noise=model.noise, mean=model.mean,
    )  # fmt: skip
    X = torch.from_numpy(rng.random((300, dim)))
    Z = torch.from_numpy(rng.random((300, dim)))
    Z[:150] = X[:150] + 0.3 * (Z[:150] - X[:150])
    errors = []
    for paths in (sample_paths(model, 1, 8192), dense_paths(monkeypatch, model, 1, 8192)):
        by_features = (paths.frequencies @ (X - Z).mT).cos().mean(dim=1)
        exact = model.kernel.correlation(((X - Z) / model.lengthscale[:, None]).square().sum(dim=-1))
        error = (by_features - exact).abs()
        errors.append((float(error.mean()), float(error.max(dim=-1).values.mean())))
    (mean, greatest), (dense_mean, dense_greatest) = errors
    assert mean < 1.1 * dense_mean
    assert greatest < 1.2 * dense_greatest


def test_where_there_is_no_structure():
    class Own(Kernel):
        def radial(self, squared_distance):
            decay = (-0.5 * squared_distance).exp()
            return decay, -0.5 * decay, 0.25 * decay

        def frequencies(self, uniform):
            return torch.special.ndtri(uniform[..., :-1])

    assert sample_paths(random_ensemble(1, dim=DIM), 1, 256).structure is not None
    assert sample_paths(random_ensemble(1, dim=DIM), 1, 254).structure is None  # not one block
    assert sample_paths(random_ensemble(1, dim=structured.DENSE_DIM), 1, 256).structure is None
    assert sample_paths(random_ensemble(1, dim=DIM, kernel=Own()), 1, 256).structure is None
    assert sample_paths(additive_ensemble(1, dim=DIM), 1, 512).structure is None


def test_a_function_of_the_seed_alone():
    model = random_ensemble(1, dim=DIM)
    first, again, other = (sample_paths(model, 1, 256, seed).frequencies for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[0] * model.lengthscale[0], first[1] * model.lengthscale[1])
