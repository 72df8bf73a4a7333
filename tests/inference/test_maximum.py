import numpy as np
import pytest

from scorebo.inference.maximum import laplace_draws, maximize


class Gaussian:
    """A density whose mode and curvature are known, with a wall of minus infinity far out."""

    mean = np.array([0.5, -1.0, 2.0])
    covariance = np.array([[1.0, 0.6, 0.0], [0.6, 0.8, 0.1], [0.0, 0.1, 0.05]])
    dim = 3

    def __call__(self, theta):
        if np.abs(theta).max() > 30:
            return -np.inf, np.zeros(3)
        slope = -np.linalg.solve(self.covariance, theta - self.mean)
        return 0.5 * float((theta - self.mean) @ slope), slope

    def sample_prior(self, rng, size):
        return 3 * rng.standard_normal((size, 3))

    def bounds(self, noise_lower_bound):
        return np.full(3, -20.0), np.full(3, 20.0)


def test_maximum_of_a_gaussian():
    np.testing.assert_allclose(maximize(Gaussian(), noise_lower_bound=0.0, seed=1), Gaussian.mean, atol=1e-5)


def test_laplace_draws_of_a_gaussian_have_its_moments():
    draws = laplace_draws(Gaussian(), size=50_000, seed=2)
    np.testing.assert_allclose(draws.mean(0), Gaussian.mean, atol=4 / np.sqrt(50_000))
    np.testing.assert_allclose(np.cov(draws.T), Gaussian.covariance, atol=0.03)


def test_no_finite_start_is_an_error():
    class Nowhere(Gaussian):
        def __call__(self, theta):
            return -np.inf, np.zeros(3)

    with pytest.raises(RuntimeError, match="finite at none"):
        maximize(Nowhere(), noise_lower_bound=0.0, seed=1)
