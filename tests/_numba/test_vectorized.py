import numba
import numpy as np
from scipy.special import erfcx as reference_erfcx

from scorebo._numba._vectorized import erfcx, exp, log


@numba.njit(error_model="numpy", fastmath={"contract", "nsz"})
def exponentials(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = exp(x[i])
    return result


@numba.njit(error_model="numpy", fastmath={"contract", "nsz"})
def scaled_tails(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = erfcx(x[i])
    return result


@numba.njit(error_model="numpy", fastmath={"contract", "nsz"})
def logarithms(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = log(x[i])
    return result


def test_log_of_normal_numbers():
    x = np.concatenate([np.linspace(0.1, 3, 3001), np.geomspace(3e-308, 1e308, 5001), 1 - np.geomspace(1e-16, 0.5, 99)])
    np.testing.assert_allclose(logarithms(x), np.log(x), rtol=3e-16, atol=2e-16)


def test_exp_in_its_whole_range():
    x = np.concatenate([np.linspace(-1, 1, 2001), np.geomspace(1, 707, 1001), -np.geomspace(1, 707, 1001)])
    np.testing.assert_allclose(exponentials(x), np.exp(x), rtol=1e-15)


def test_erfcx_from_zero_to_the_far_tail():
    x = np.concatenate([np.linspace(0, 10, 5001), np.geomspace(10, 1e12, 1001)])
    np.testing.assert_allclose(scaled_tails(x), reference_erfcx(x), rtol=2e-15)


def test_what_is_not_a_number_stays_so():
    assert np.isnan(exponentials(np.array([np.nan]))).all()
    assert np.isnan(scaled_tails(np.array([np.nan]))).all()
