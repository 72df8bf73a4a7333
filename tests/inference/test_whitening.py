import numpy as np

from scorebo.inference.sequential import whitening_factor


def test_many_draws_give_their_covariance_back():
    covariance = np.array([[1.0, 0.6], [0.6, 0.5]])
    draws = np.random.default_rng(0).multivariate_normal([3.0, -1.0], covariance, size=50_000)
    factor = whitening_factor(draws)
    assert factor[0, 1] == 0.0
    # Correlations are shrunk by a fiftieth at least.
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=0.03)


def test_correlations_shrink_away_where_draws_are_few():
    draws = np.random.default_rng(1).standard_normal((128, 300))
    factor = whitening_factor(draws)
    covariance = factor @ factor.T
    off_diagonal = covariance[~np.eye(300, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.05  # of the draws themselves: about 0.35
    assert np.linalg.cond(covariance) < 10.0


def test_two_and_three_draws_are_enough_to_be_factorized():
    rng = np.random.default_rng(3)
    for count in (2, 3):
        factor = whitening_factor(rng.standard_normal((count, 5)) * [0.1, 1.0, 10.0, 1.0, 1.0])
        assert (np.diag(factor) > 0.0).all()


def test_one_draw_and_a_coordinate_that_never_changes_are_possible():
    assert np.isfinite(whitening_factor(np.ones((1, 3)))).all()
    draws = np.random.default_rng(2).standard_normal((20, 2))
    draws[:, 1] = 7.0
    factor = whitening_factor(draws)
    assert (np.diag(factor) > 0.0).all()
    assert whitening_factor(draws[:, :1]).shape == (1, 1)
