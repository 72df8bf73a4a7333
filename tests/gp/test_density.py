import ctypes
import math

import gpytorch
import numpy as np
import pytest
import torch

from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp import LogDensity, _callback
from scorebo.gp.priors import Prior

MODELS = ["al_lognormal", "al_lognormal_no_outputscale", "bo_lognormal", "botorch"]


def data(seed, n, dim):
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    y = np.sin(4 * X[:, 0]) + rng.standard_normal(n) * 0.2
    return X, (y - y.mean()) / y.std(ddof=1)


def autograd(X, y, surrogate, theta, *, of_logarithms=True, noise_floor=None):
    """Log density and gradient from GPyTorch's kernels, torch's distributions and automatic differentiation."""
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    theta = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    beliefs, dim, values, position, total = surrogate.beliefs(X.shape[1]), X.shape[1], [], 0, torch.zeros(())
    for i, belief in enumerate(beliefs):
        if not isinstance(belief, Prior):
            values.append(torch.tensor(float(belief), dtype=torch.float64))
            continue
        u = theta[position]
        position += 1
        value = u.exp() if i < dim + 2 else u
        total = total + belief.log_prob(value) + (u if i < dim + 2 and of_logarithms else 0.0)
        values.append(value)
    scaled = X / torch.stack(values[:dim])
    base = (
        gpytorch.kernels.MaternKernel(nu=2.5) if surrogate.kernel.name == "matern52" else gpytorch.kernels.RBFKernel()
    )
    base = base.double()
    base.lengthscale = 1.0
    floor = surrogate.noise_floor if noise_floor is None else noise_floor
    identity = torch.eye(len(X), dtype=torch.float64)
    covariance = values[dim] * base(scaled, scaled).to_dense() + (values[dim + 1] + floor) * identity
    total = total + torch.distributions.MultivariateNormal(values[dim + 2].expand(len(X)), covariance).log_prob(y)
    total.backward()
    return float(total.detach()), theta.grad.numpy()


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize("model", MODELS)
def test_agrees_with_autograd(model, kernel):
    surrogate = load_model(model, kernel=kernel)
    rng = np.random.default_rng(7)
    for n, dim in ((2, 1), (9, 3), (40, 6), (70, 12)):
        X, y = data(n, n, dim)
        density = LogDensity(X, y, surrogate)
        for theta in density.sample_prior(rng, 5):
            value, gradient = density(theta)
            expected, expected_gradient = autograd(X, y, surrogate, theta)
            assert value == pytest.approx(expected, rel=1e-8)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())


def test_density_of_the_parameters_themselves_has_no_jacobian():
    surrogate = load_model("botorch")
    X, y = data(0, 15, 2)
    density = LogDensity(X, y, surrogate, of_logarithms=False, noise_floor=0.0)
    theta = np.array([-0.5, 0.3, 0.1, -1.0, 0.2])
    value, gradient = density(theta)
    expected, expected_gradient = autograd(X, y, surrogate, theta, of_logarithms=False, noise_floor=0.0)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9)


def test_noise_floor_is_in_the_density():
    X, y = data(1, 10, 2)
    theta = np.array([-0.5, 0.3, 0.1, -25.0, 0.0])
    surrogate = load_model("bo_lognormal")
    assert surrogate.noise_floor == 1e-6
    value, _ = LogDensity(X, y, surrogate)(theta)
    assert value == pytest.approx(autograd(X, y, surrogate, theta)[0], rel=1e-8)
    assert value != pytest.approx(LogDensity(X, y, surrogate, noise_floor=1e-3)(theta)[0], rel=1e-3)


def test_indefinite_covariance_is_minus_infinity_with_zero_gradient():
    X = np.array([[0.1], [0.1], [0.1], [0.7]])
    density = LogDensity(X, np.array([0.0, 1.0, -1.0, 0.5]), load_model("bo_lognormal"), noise_floor=0.0)
    value, gradient = density(np.array([0.0, 5.0, -80.0, 0.0]))
    assert value == -math.inf
    assert not gradient.any()


def test_extreme_coordinates_give_no_nan():
    X, y = data(2, 12, 3)
    density = LogDensity(X, y, load_model("botorch"))
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


def test_kernel_without_a_compiled_density_is_refused():
    from scorebo.gp import Kernel

    class Rough(Kernel):
        name = "rough"

        def correlation(self, squared_distance):
            return (-squared_distance.sqrt()).exp()

    with pytest.raises(InputError, match="No compiled density for the kernel Rough"):
        LogDensity(*data(4, 5, 2), load_model("bo_lognormal", kernel=Rough()))


@pytest.mark.parametrize("model", ["al_lognormal_no_outputscale", "bo_lognormal", "botorch"])
def test_c_function_is_the_density(model):
    density = LogDensity(*data(7, 9, 3), load_model(model))
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
