"""Kernels and priors from outside the package: they agree with compiled arithmetic, and mistakes in them are named."""

import copy
import pickle

import numpy as np
import pytest
import torch
from test_density import data

import scorebo.gp
from scorebo import priors
from scorebo.config import load_model
from scorebo.errors import InputError
from scorebo.gp import Kernel, LogDensity, _compiled, _covariances
from scorebo.gp.kernels import as_kernel, strictly_inside
from scorebo.gp.partitions import Partitions
from scorebo.optima._waves import correlate, evaluate, workspace
from tests import outside_models
from tests.conftest import random_ensemble
from tests.outside_models import from_outside, model_from_outside

KERNELS = [("matern52", outside_models.Matern52()), ("rbf", outside_models.RBF())]


def assert_same_density(own, outside, count=4):
    for theta in own.sample_prior(np.random.default_rng(1), count):
        value, gradient = own(theta)
        theirs, slope = outside(theta)
        assert theirs == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-10 * np.abs(gradient).max())
        assert outside.log_likelihood(theta) == pytest.approx(own.log_likelihood(theta), rel=1e-10)


@pytest.mark.parametrize("dim", [3, 20])
@pytest.mark.parametrize(("name", "kernel"), KERNELS)
@pytest.mark.parametrize("model", ["bo_lognormal", "botorch", "saas", "warped"])
def test_same_density_and_gradient(model, name, kernel, dim):
    X, y = data(1, 25, dim)
    own = load_model(model, kernel=name)
    outside = LogDensity(X, y, model_from_outside(own, kernel))
    assert_same_density(LogDensity(X, y, own), outside)
    thetas = outside.sample_prior(np.random.default_rng(2), 3)
    for ours, theirs in zip(LogDensity(X, y, own).batch(thetas), outside.batch(thetas), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_same_density_of_groups(name, kernel):
    X, y = data(2, 25, 4)
    own = load_model("additive", kernel=name, partitions=Partitions(3))
    of = {"of_logarithms": False, "noise_floor": 0.0, "labels": np.array([1, 2, 1, 3])}
    assert_same_density(LogDensity(X, y, own, **of), LogDensity(X, y, model_from_outside(own, kernel), **of))


@pytest.mark.parametrize(
    "prior", [priors.LogNormal(0.5, 2.0), priors.Gamma(1.1, 0.05), priors.HalfCauchy(0.1), priors.Normal(1.0, 3.0)]
)
def test_same_prior(prior):
    """The density, its gradient, and that of the unconstrained coordinate."""
    outside = from_outside(prior)
    draws = torch.from_numpy(prior.sample(np.random.default_rng(0), 50))
    torch.testing.assert_close(outside.log_prob(draws), prior.log_prob(draws), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(outside.gradient(draws), prior.gradient(draws), rtol=1e-10, atol=1e-10)
    u = (draws.log() if prior.positive else draws).numpy()
    tables = [np.array([[*p.unconstrained, 0, 0, 0]] * len(u)) for p in (prior, outside)]
    ours, theirs = (_compiled.log_priors(table, u) + np.stack([table[:, 3], 0.0 * u]) for table in tables)
    np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10)
    assert np.array_equal(
        outside.sample(np.random.default_rng(3), 5), np.array(prior.sample(np.random.default_rng(3), 5))
    )


def test_a_flat_prior():
    X, y = data(3, 10, 2)
    density = LogDensity(X, y, load_model("bo_lognormal", lengthscale=outside_models.Uniform()))
    value, gradient = density(np.zeros(density.dim))
    step = 1e-6 * np.eye(density.dim)[0]
    assert gradient[0] == pytest.approx((density(step)[0] - density(-step)[0]) / 2e-6, rel=1e-5)
    assert density(np.array([3.0, 0.0, 0.0, 0.0, 0.0]))[0] == -np.inf
    assert np.isfinite(value)


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_same_posterior(name, kernel):
    own, outside = random_ensemble(3, kernel=name), random_ensemble(3, kernel=kernel)
    X = torch.rand(6, 2, dtype=torch.float64)
    Z = torch.rand(3, own.num_mcmc_samples, 2, dtype=torch.float64)
    for ours, theirs in (
        (own.marginals(X), outside.marginals(X)),
        (own.joint(X), outside.joint(X)),
        (own.mixture_mean_with_gradient(X), outside.mixture_mean_with_gradient(X)),
        (own.paired_covariance(X, Z), outside.paired_covariance(X, Z)),
    ):
        torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-10)
    for (mean, covariance), (ours, expected) in zip(outside.joint_by_sample(X), own.joint_by_sample(X), strict=True):
        np.testing.assert_allclose(mean, ours, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(np.tril(covariance), np.tril(expected), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "kernel"), KERNELS)
def test_same_frequencies(name, kernel):
    """Those of Matérn-5/2 to 2e-9, as good as the package's own are."""
    uniform = strictly_inside(torch.rand(500, 4, dtype=torch.float64))
    torch.testing.assert_close(kernel.frequencies(uniform), as_kernel(name).frequencies(uniform), rtol=1e-8, atol=1e-8)


def test_a_class_is_a_kernel():
    assert isinstance(load_model("bo_lognormal", kernel=outside_models.Matern32).kernel, outside_models.Matern32)


class Rougher(scorebo.gp.Matern52):
    def radial(self, squared_distance):
        return outside_models.Matern32().radial(squared_distance)

    def correlation(self, squared_distance):
        return Kernel.correlation(self, squared_distance)


class Shifted(priors.LogNormal):
    def log_prob(self, value):
        return super().log_prob(value / 2.0)


def test_a_subclass_has_its_own_arithmetic():
    """Not the compiled arithmetic of the class it inherits from."""
    X, y = data(4, 12, 2)
    theta = np.zeros(5)
    rougher = LogDensity(X, y, load_model("bo_lognormal", kernel=Rougher()))(theta)
    assert rougher[0] == LogDensity(X, y, load_model("bo_lognormal", kernel=outside_models.Matern32()))(theta)[0]
    shifted = LogDensity(X, y, load_model("bo_lognormal", noise=Shifted(0.0, 1.0)))(theta)[0]
    plain = LogDensity(X, y, load_model("bo_lognormal", noise=priors.LogNormal(0.0, 1.0)))(theta)[0]
    log2 = np.log(2.0)
    assert shifted - plain == pytest.approx(log2 - 0.5 * log2**2, rel=1e-9)


class ThreeHalves(Kernel):
    """With a mistake."""

    def __init__(self, fault):
        self.fault = fault

    def radial(self, squared_distance):
        value, first, second = outside_models.Matern32().radial(squared_distance)
        if self.fault == "raises":
            raise RuntimeError("no such function")
        if self.fault == "infinite":
            second = -1.5 * first / (3.0 * squared_distance).sqrt()
        return {
            "by distance": (value, 2.0 * first * squared_distance.sqrt(), second),
            "sign": (value, -first, second),
            "second": (value, first, -second),
            "shape": (value, first, second[:1]),
            "scale": (2.0 * value, 2.0 * first, 2.0 * second),
        }.get(self.fault, (value, first, second))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("by distance", r"radial of the kernel ThreeHalves: derivative 1 at 0.03 is -0.384\S+, but differences"),
        ("sign", "derivative 1 at 0.03 is 1.1"),
        ("second", "derivative 2 at 0.03 is -5.5"),
        ("infinite", "radial of the kernel ThreeHalves must be finite, also at distance 0"),
        ("scale", "correlation at distance 0 must be 1, got 2"),
        ("shape", "radial of the kernel ThreeHalves failed: RuntimeError: stack expects each tensor to be equal size"),
        ("raises", "radial of the kernel ThreeHalves failed: RuntimeError: no such function"),
    ],
)
def test_a_kernel_with_a_mistake_is_refused_before_any_fit(fault, message):
    with pytest.raises(InputError, match=message):
        load_model("bo_lognormal", kernel=ThreeHalves(fault))


def test_a_kernel_without_radial_is_refused():
    class Rough(Kernel):
        pass

    with pytest.raises(InputError, match="The kernel Rough must define `radial`"):
        load_model("bo_lognormal", kernel=Rough())


class Broken(outside_models.LogNormal):
    """Raises what it is given where the parameter is far out."""

    error: BaseException = RuntimeError("no such density")

    def log_prob(self, value):
        if bool((value > 1e6).any()):
            raise self.error
        return super().log_prob(value)


def test_an_error_in_compiled_code_is_raised(monkeypatch):
    X, y = data(5, 10, 2)
    density = LogDensity(X, y, load_model("bo_lognormal", lengthscale=Broken(0.0, 3.0)))
    far = np.array([20.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(2):  # and each time
        with pytest.raises(InputError, match="log_prob of the prior Broken failed: RuntimeError: no such density"):
            density(far)
    with pytest.raises(InputError, match="no such density"):
        density.batch(np.stack([far, 0.0 * far]))
    assert np.isfinite(density(0.0 * far)[0])
    monkeypatch.setattr(Broken, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        density(far)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ({"sample": lambda self, rng, size: np.full(size, -1.0)}, "sample of the prior Wrong must return .* positive"),
        ({"sample": lambda self, rng, size: 1.0}, "sample of the prior Wrong must return .* positive"),
        ({"gradient": lambda self, value: value}, "log_prob of the prior Wrong: derivative 1 at .* but differences"),
    ],
)
def test_a_prior_with_a_mistake_is_refused_before_any_fit(method, message):
    with pytest.raises(InputError, match=message):
        load_model("bo_lognormal", noise=type("Wrong", (outside_models.LogNormal,), method)(0.0, 3.0))


def test_the_mean_needs_a_prior_that_can_be_negative():
    with pytest.raises(InputError, match="mean of model 'bo_lognormal' may be negative"):
        load_model("bo_lognormal", mean=outside_models.LogNormal(0.0, 1.0))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_model_has_functions_of_its_own(again):
    X, y = data(6, 10, 2)
    model = model_from_outside(load_model("bo_lognormal"), outside_models.Matern32())
    copied = again(model)
    assert copied.kernel.code != model.kernel.code
    assert LogDensity(X, y, copied)(np.zeros(5))[0] == LogDensity(X, y, model)(np.zeros(5))[0]


@pytest.mark.parametrize("code", [2, -1, 4095])
def test_an_unknown_code_raises(code):
    """Compiled branches end with the last code they know: nothing falls through to it."""
    X, y, one = np.random.default_rng(0).random((4, 2)), np.zeros(4), np.ones((1, 2))
    squares, none = _compiled.pack_squares(X), np.empty((0, 0))
    waves = np.zeros((2, 4)), np.zeros(4), np.zeros(4)
    path = (*waves, X.T.copy(), one, np.ones(4), 0.0)
    calls = [
        lambda: _compiled.log_likelihood(code, X, squares, y, np.zeros(5), np.zeros(2, int), 0.1, np.empty(5), none),
        lambda: _covariances.covariances(code, X[None], X[None], one, np.ones(1)),
        lambda: _covariances.covariances_gradient(
            code, X[None], X[None], one, np.ones(1), np.ones((1, 1, 4, 4)), X[None, :0]
        ),
        lambda: _covariances.combine(code, X, X, one, np.ones(1), np.ones((1, 4)), X[:0]),
        lambda: _covariances.fill_upper_triangle(code, X, one, 1.0, np.empty((4, 4))),
        lambda: correlate(code, np.ones(3), 3),
        lambda: evaluate(2, code, X[0], *path, np.empty(2), np.empty((2, 2)), workspace(waves[0])),
    ]
    for call in calls:
        with pytest.raises(InputError, match="Unknown code of a kernel"):
            call()


def test_an_unknown_form_raises():
    with pytest.raises(InputError, match="Unknown form of a prior"):
        _compiled.log_prior(3, 0.0, 1.0, 0.5)
