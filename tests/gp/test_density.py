import ctypes
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp import LogDensity, _callback
from scorebo.gp._compiled import PRODUCTS_FROM, log_likelihood
from scorebo.gp.partitions import Partitions
from scripts.speed.density_speed import by_autograd

MODELS = ["al_lognormal", "al_lognormal_no_outputscale", "bo_lognormal", "botorch", "saas", "warped"]


def data(seed, n, dim):
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    y = np.sin(4 * X[:, 0]) + rng.standard_normal(n) * 0.2
    return X, (y - y.mean()) / y.std(ddof=1)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize("model", MODELS)
def test_agrees_with_autograd(model, kernel):
    surrogate = load_model(model, kernel=kernel)
    rng = np.random.default_rng(7)
    for n, dim in ((2, 1), (9, 3), (40, 6), (30, 25)):
        X, y = data(n, n, dim)
        density = LogDensity(X, y, surrogate)
        for theta in density.sample_prior(rng, 5):
            value, gradient = density(theta)
            expected, expected_gradient = by_autograd(X, y, surrogate, theta)
            assert value == pytest.approx(expected, rel=1e-8)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_sum_over_groups_agrees_with_autograd(kernel):
    rng = np.random.default_rng(8)
    for n, labels in ((2, [1]), (9, [2, 1, 2]), (40, [3, 3, 1, 1, 3, 2]), (30, [1 + d % 3 for d in range(20)])):
        surrogate = load_model("additive", kernel=kernel, partitions=Partitions(max(labels)))
        X, y = data(n, n, len(labels))
        density = LogDensity(X, y, surrogate, of_logarithms=False, noise_floor=0.0, labels=np.array(labels))
        for theta in density.sample_prior(rng, 4):
            value, gradient = density(theta)
            expected, slope = by_autograd(X, y, surrogate, theta, of_logarithms=False, noise_floor=0.0, labels=labels)
            assert value == pytest.approx(expected, rel=1e-8)
            np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())


def test_log_likelihood_is_the_density_without_priors():
    X, y = data(3, 12, 2)
    density = LogDensity(X, y, load_model("botorch"), noise_floor=0.0)
    theta = np.array([-0.5, 0.3, 0.1, -1.0, 0.2])
    squares = ((X[:, None] - X) ** 2 / np.exp(2 * theta[:2])).sum(-1)
    scaled = np.sqrt(5 * squares)
    K = np.exp(theta[2]) * (1 + scaled + scaled**2 / 3) * np.exp(-scaled) + np.exp(theta[3]) * np.eye(12)
    expected = multivariate_normal(np.full(12, theta[4]), K).logpdf(y)
    assert density.log_likelihood(theta) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("lengthscale", [0.02, 0.3, 30.0])
def test_products_of_points_lose_little_to_cancellation(lengthscale):
    """Pairs 1e-5 apart at the noise floor: |s|² + |t|² − 2s·t against sums of squared differences.

    Squared distances are off by 1e-16 |s|² ≤ 1e-12, and K's least eigenvalue is 1e-6: six digits are left at worst.
    """
    dim = PRODUCTS_FROM
    X, y = data(5, 40, dim)
    X[20:] = X[:20] + 1e-5 * np.random.default_rng(0).standard_normal((20, dim))
    X -= X.mean(axis=0)
    squares = np.ascontiguousarray(((X[:, None] - X) ** 2)[np.tril_indices(40, -1)].T)
    parameters = np.append(np.full(dim, np.log(lengthscale)), [0.0, -30.0, 0.0])
    products, sums = np.empty(dim + 3), np.empty(dim + 3)
    one_group, no_pulls = np.zeros(dim, np.int64), np.empty((0, 0))
    value = log_likelihood(0, X, np.empty((0, 0)), y, parameters, one_group, 1e-6, products, no_pulls)
    assert value == pytest.approx(
        log_likelihood(0, X, squares, y, parameters, one_group, 1e-6, sums, no_pulls), rel=1e-6
    )
    np.testing.assert_allclose(products, sums, rtol=1e-6, atol=1e-6 * np.abs(sums).max())


def test_many_dimensions_take_little_memory():
    """At D = 388, n = 150 the packed squares would be 35 MB; the points are half of one."""
    density = LogDensity(*data(6, 150, 388), load_model("saas"))
    assert density.dim == 388 + 4
    assert density.packed().nbytes < 1e6
    assert np.isfinite(density(np.zeros(density.dim))[0])


def test_density_of_the_parameters_themselves_has_no_jacobian():
    surrogate = load_model("botorch")
    X, y = data(0, 15, 2)
    density = LogDensity(X, y, surrogate, of_logarithms=False, noise_floor=0.0)
    theta = np.array([-0.5, 0.3, 0.1, -1.0, 0.2])
    value, gradient = density(theta)
    expected, expected_gradient = by_autograd(X, y, surrogate, theta, of_logarithms=False, noise_floor=0.0)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9)


def test_noise_floor_is_in_the_density():
    X, y = data(1, 10, 2)
    theta = np.array([-0.5, 0.3, 0.1, -25.0, 0.0])
    surrogate = load_model("bo_lognormal")
    assert surrogate.noise_floor == 1e-6
    value, _ = LogDensity(X, y, surrogate)(theta)
    assert value == pytest.approx(by_autograd(X, y, surrogate, theta)[0], rel=1e-8)
    assert value != pytest.approx(LogDensity(X, y, surrogate, noise_floor=1e-3)(theta)[0], rel=1e-3)


def test_indefinite_covariance_is_minus_infinity_with_zero_gradient():
    X = np.array([[0.1], [0.1], [0.1], [0.7]])
    density = LogDensity(X, np.array([0.0, 1.0, -1.0, 0.5]), load_model("bo_lognormal"), noise_floor=0.0)
    value, gradient = density(np.array([0.0, 5.0, -80.0, 0.0]))
    assert value == -math.inf
    assert not gradient.any()


@pytest.mark.parametrize("model", ["botorch", "warped"])
def test_extreme_coordinates_give_no_nan(model):
    X, y = data(2, 12, 3)
    X[0], X[1] = 0.0, 1.0
    density = LogDensity(X, y, load_model(model))
    for scale in (-400.0, -50.0, 50.0, 400.0, 800.0):
        value, gradient = density(np.full(density.dim, scale))
        assert not math.isnan(value)
        assert np.isfinite(gradient).all()


def test_constrain_puts_known_values_back():
    density = LogDensity(*data(3, 5, 2), load_model("al_lognormal_no_outputscale"))
    assert density.dim == 3
    sets = density.constrain(np.log([[0.5, 2.0, 0.1], [1.0, 3.0, 0.2]]))
    np.testing.assert_allclose(sets["lengthscale"], [[0.5, 2.0], [1.0, 3.0]])
    np.testing.assert_allclose(sets["noise"], [0.1, 0.2])
    assert sets["outputscale"].tolist() == [1.0, 1.0]
    assert sets["mean"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dim", [3, PRODUCTS_FROM])
@pytest.mark.parametrize("model", ["al_lognormal_no_outputscale", "bo_lognormal", "botorch", "saas", "warped"])
def test_c_function_is_the_density(model, dim):
    density = LogDensity(*data(7, 9, dim), load_model(model))
    block, theta = density.packed(), np.random.default_rng(1).standard_normal(density.dim)
    gradient, value = np.empty(density.dim), np.empty(1)
    doubles = ctypes.POINTER(ctypes.c_double)
    pointers = [array.ctypes.data_as(doubles) for array in (theta, gradient, value, block)]
    assert _callback.evaluate.ctypes(density.dim, *pointers) == 0
    expected, slope = density(theta)
    assert value[0] == expected
    assert np.array_equal(gradient, slope)
    assert block[0] == 1.0
    theta[:] = np.nan
    assert _callback.evaluate.ctypes(density.dim, *pointers) != 0


def test_only_the_density_of_logarithms_is_packed():
    with pytest.raises(InputError, match="logarithms"):
        LogDensity(*data(7, 9, 3), load_model("map"), of_logarithms=False).packed()
