from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from scorebo.acquisition.distances import DISTANCES, sobol_levels
from scorebo.acquisition.mixture import Mixture, Normals

MEANS = np.array([0.0, 0.4, -1.5, 3.0])
STDS = np.array([1.0, 0.3, 0.6, 1.2])


def normals(means=MEANS, stds=STDS) -> Normals:
    mean, std = (torch.as_tensor(values, dtype=torch.float64).reshape(1, -1) for values in (means, stds))
    return Normals(mean, std.square())


def estimates(distance, conditionals, mixture, num_samples, seed):
    """The estimates from levels as the distance wants them."""
    wanted = DISTANCES[distance]()
    u = sobol_levels(num_samples, mixture.size if wanted.of_components else None, seed)
    return wanted.estimate(conditionals, mixture, u)


def density(y):
    return norm.pdf(y, MEANS, STDS).mean()


def quantile(u):
    return brentq(lambda y: norm.cdf(y, MEANS, STDS).mean() - u, -20.0, 20.0, xtol=1e-13)


def integral(distance: str, mean: float, std: float) -> float:
    """The distance between N(mean, std²) and the true mixture by adaptive quadrature."""
    limits = {"limit": 500, "points": sorted({*MEANS.tolist(), mean}), "epsabs": 1e-10}
    if distance == "hellinger":
        return np.sqrt(1 - quad(lambda y: np.sqrt(norm.pdf(y, mean, std) * density(y)), -15, 15, **limits)[0])
    if distance == "kl":
        window = (mean - 9 * std, mean + 9 * std)
        ratio = lambda y: norm.logpdf(y, mean, std) - np.log(density(y))  # noqa: E731
        return quad(lambda y: norm.pdf(y, mean, std) * ratio(y), *window, limit=500)[0]
    if distance == "reverse_kl":
        ratio = lambda y: np.log(density(y)) - norm.logpdf(y, mean, std)  # noqa: E731
        return quad(lambda y: density(y) * ratio(y), -15, 15, **limits)[0]
    # In the score z of the level u = Φ(z) the integrand is smooth to the ends.
    squared = lambda z: norm.pdf(z) * (mean + std * z - quantile(norm.cdf(z))) ** 2  # noqa: E731
    return np.sqrt(quad(squared, -7, 7, limit=200, epsabs=1e-9)[0])


@pytest.mark.parametrize("distance", DISTANCES)
def test_converges_to_the_integral_over_the_true_mixture(distance):
    conditionals = normals([*MEANS, 1.0], [*STDS, 0.8])
    expected = torch.tensor([integral(distance, *pair) for pair in zip([*MEANS, 1.0], [*STDS, 0.8], strict=True)])
    errors = []
    for num_samples in (256, 2**15):
        estimate = estimates(distance, conditionals, Mixture(normals()), num_samples, seed=3)[0]
        # Relative to those above 1: the reverse KL from a narrow component is 16.
        errors.append(((estimate - expected).abs() / expected.clamp_min(1.0)).max().item())
    assert errors[0] < 0.05
    assert errors[1] < 5e-4


def test_quantiles_invert_the_cdf():
    u = torch.cat([torch.tensor([1e-9, 1 - 1e-9], dtype=torch.float64), sobol_levels(500, None, seed=0)])
    y = Mixture(normals()).quantile(u)[0]
    expected = [quantile(level) for level in u[2:].tolist()]
    np.testing.assert_allclose(y[2:].numpy(), expected, rtol=0, atol=2e-11)
    reached = norm.cdf(y[:2, None].numpy(), MEANS, STDS).mean(-1)
    np.testing.assert_allclose([reached[0], 1 - reached[1]], [1e-9, 1e-9], rtol=1e-6)


def test_gradient_of_quantiles_is_that_of_the_value():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(3, 5, dtype=torch.float64, generator=generator).requires_grad_()
    variance = torch.randn(3, 5, dtype=torch.float64, generator=generator).exp().requires_grad_()
    u = torch.tensor([0.01, 0.3, 0.5, 0.9, 0.999], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda m, v: Mixture(Normals(m, v)).quantile(u), (mean, variance), atol=1e-6)


def extremes() -> dict[str, tuple[list[float], list[float]]]:
    cases = {f"equal to {k} digits": ([1.0, 1.0 + 10.0**-k, 1.0], [1.0, 1.0, 1.0 + 10.0**-k]) for k in range(8, 17, 2)}
    cases["equal"] = ([0.3] * 5, [0.7] * 5)
    cases["variance ratio 1e24"] = ([0.0, 0.0, 0.1], [1e-6, 1e6, 1.0])
    cases["means far apart"] = ([0.0, 1e6, -1e6, 1.0], [1.0, 1e-3, 1.0, 2.0])
    cases["everything"] = ([-1e6, 1e6, 0.0, 0.0], [1e-6, 1e6, 1e-6, 1.0])
    return cases


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("case", extremes())
def test_finite_in_the_extremes(distance, case):
    means, stds = (torch.tensor([values], dtype=torch.float64) for values in extremes()[case])
    mean, variance = means.requires_grad_(), stds.square().requires_grad_()
    parts = Normals(mean, variance)
    value = estimates(distance, parts, Mixture(parts), 256, seed=0)
    gradients = torch.autograd.grad(value.sum(), (mean, variance), materialize_grads=True)
    assert value.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    if case.startswith("equal"):
        # 1 − mean √(q/p) of differences δ has an error of the order of δ times that of the integration, then rooted.
        assert value.max() < (3e-5 if distance == "hellinger" else 1e-7)


def test_components_far_apart_share_nothing():
    parts = normals([-1e6, 0.0, 1e6], [1.0, 1.0, 1.0])
    u = sobol_levels(3 * 1024, 3, seed=0)
    for distance, expected in (("hellinger", np.sqrt(1 - 3**-0.5)), ("kl", np.log(3))):
        assert DISTANCES[distance]().estimate(parts, Mixture(parts), u).tolist()[0] == pytest.approx([expected] * 3)


def test_levels_are_inside_and_reproducible():
    levels = sobol_levels(4096, None, seed=11)
    assert torch.equal(levels, sobol_levels(4096, None, seed=11))
    assert not torch.equal(levels, sobol_levels(4096, None, seed=12))
    assert 0 < levels.min() < 1e-3
    assert 1 - 1e-3 < levels.max() < 1


@pytest.mark.parametrize(("num_samples", "components", "expected"), [(256, 16, 16), (256, 12, 22), (1, 16, 1)])
def test_every_component_has_the_same_number_of_draws(num_samples, components, expected):
    assert sobol_levels(num_samples, components, seed=0).shape == (components, expected)
    assert len(sobol_levels(num_samples, None, seed=0)) == num_samples
