import numpy as np
import pytest

from scorebo.inference import hmc

COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 2.0, -0.3], [0.0, -0.3, 0.25]])
MEAN = np.array([1.0, -2.0, 0.5])


class Gaussian:
    """N(MEAN, COVARIANCE), counting what it is asked."""

    def __init__(self):
        self.evaluations = 0
        self.precision = np.linalg.inv(COVARIANCE)

    def __call__(self, theta):
        self.evaluations += len(theta)
        gradient = -(theta - MEAN) @ self.precision
        return 0.5 * np.sum((theta - MEAN) * gradient, axis=1), gradient


def move(start, density=None, factor=None, step_size=0.7, **settings):
    density = density or Gaussian()
    factor = np.linalg.cholesky(COVARIANCE) if factor is None else factor
    population = hmc.Population(start, *density(start))
    return hmc.move(density, population, factor, step_size, np.random.default_rng(3), **{"transitions": 6} | settings)


def assert_normal(theta):
    """Means and covariances within 4.5 standard errors, of which the widest are about 1/√M and √2/√M."""
    scale = np.sqrt(np.diag(COVARIANCE))
    root = np.sqrt(len(theta))
    assert (np.abs(theta.mean(axis=0) - MEAN) < 4.5 * scale / root).all()
    assert (np.abs(np.cov(theta.T) - COVARIANCE) < 4.5 * np.sqrt(2.0) * np.outer(scale, scale) / root).all()


@pytest.mark.parametrize("factor", [np.linalg.cholesky(COVARIANCE), np.diag([2.0, 0.5, 1.0])])
def test_draws_of_the_target_stay_draws_of_the_target(factor):
    start = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, size=20_000)
    moves = move(start.copy(), factor=factor, transitions=3)
    assert_normal(moves.population.theta)
    assert not np.allclose(moves.population.theta[0], start[0])


def test_a_wrong_start_is_forgotten():
    moves = move(np.full((20_000, 3), 3.0), transitions=12)
    assert_normal(moves.population.theta)
    values, gradients = Gaussian()(moves.population.theta)
    np.testing.assert_array_equal(moves.population.value, values)
    np.testing.assert_array_equal(moves.population.gradient, gradients)


def test_evaluations_are_bounded_and_acceptance_approaches_its_target():
    density = Gaussian()
    moves = move(np.tile(MEAN, (16, 1)), density, step_size=1e-3, transitions=6)
    assert density.evaluations == 16 + 16 * 6 * 8  # a tiny step is used as often as allowed
    assert moves.step_size > 1e-3
    moves = move(np.tile(MEAN, (200, 1)), step_size=2.0, transitions=60)
    assert 0.6 < moves.acceptance < 0.95


def test_where_nothing_is_accepted_nothing_moves():
    def nowhere(theta):
        return np.full(len(theta), -np.inf), np.zeros_like(theta)

    population = hmc.Population(np.zeros((4, 3)), np.zeros(4), np.zeros((4, 3)))
    moves = hmc.move(nowhere, population, np.eye(3), 0.5, np.random.default_rng(0), transitions=3)
    assert (moves.acceptance, moves.stuck) == (0.0, 4)
    assert (moves.population.theta == 0.0).all()
    assert moves.step_size < 0.5
