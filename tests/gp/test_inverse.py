import math

import mpmath
import numpy as np
import pytest

from scorebo.gp._inverse import sweep


def bordered(K, y):
    """K with y below it; the strict upper triangle must not be read."""
    A = np.triu(np.full((len(K) + 1, len(K) + 1), np.nan), 1)
    A[:-1, :-1] += np.tril(K)
    A[-1, :-1] = y
    A[-1, -1] = 0.0
    return A


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 23, 64, 101])
def test_inverse_determinant_and_solution(n):
    rng = np.random.default_rng(n)
    K = np.cov(rng.standard_normal((n, 3 * n))).reshape(n, n) + 0.1 * np.eye(n)
    y = rng.standard_normal(n)
    A = bordered(K, y)
    log_determinant = sweep(A, n)
    alpha, quadratic = A[n, :n], -A[n, n]
    assert quadratic == pytest.approx(y @ np.linalg.solve(K, y), rel=1e-12)
    assert log_determinant == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(alpha, np.linalg.solve(K, y), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.tril(-A[:n, :n]), np.tril(np.linalg.inv(K)), rtol=1e-10, atol=1e-12)


def test_badly_conditioned_covariance_against_mpmath():
    """Close points, long lengthscales, noise of 1e-6 outputscales: condition 1e7, and still nine digits."""
    x = np.linspace(0, 1, 15)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.3**2) + 1e-6 * np.eye(15)
    y = np.sin(7 * x)
    A = bordered(K, y)
    log_determinant = sweep(A, 15)
    alpha, quadratic = A[15, :15], -A[15, 15]
    with mpmath.workdps(60):
        exact = mpmath.matrix(K.tolist())
        solution = mpmath.lu_solve(exact, mpmath.matrix(y.tolist()))
        assert abs(log_determinant / float(mpmath.log(mpmath.det(exact))) - 1) < 1e-10
        expected = float(sum(mpmath.mpf(v) * s for v, s in zip(y.tolist(), solution, strict=True)))
        assert quadratic == pytest.approx(expected, rel=1e-9)
        assert y @ alpha == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n", [3, 12])
def test_indefinite_matrix_is_reported(n):
    K = np.ones((n, n))
    K[-1, -1] = 0.5
    assert math.isnan(sweep(bordered(K, np.zeros(n)), n))
