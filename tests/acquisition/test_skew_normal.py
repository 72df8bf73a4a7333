from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from scorebo.acquisition.distances import sobol_levels
from scorebo.acquisition.skew_normal import SkewNormals

# (m, d, R, α): mild, sharp edge, almost normal, far tail, far tail with much noise, upwards, hardly truncated.
CASES = [
    (0.3, -1.0, 0.1, 0.5),
    (0.3, -1.0, 1e-6, 0.5),
    (0.0, 1e-3, 1.0, 0.0),
    (0.0, -1.0, 1e-4, -8.0),
    (0.0, -1.0, 0.01, -30.0),
    (-1.0, 1.5, 0.4, -1.0),
    (0.0, -1.0, 0.01, 7.0),
]


def build(*cases) -> SkewNormals:
    return SkewNormals(*torch.tensor(cases, dtype=torch.float64).mT.unsqueeze(1).unbind(0))


def weighted_integral(function, case, y=None):
    """∫ function(w) φ(w)/Φ(α) dw over w ≥ −α."""
    mean, shift, noise, threshold = case
    low = -threshold
    high = 40.0 if low < 1 else low + 40.0 / low
    breaks = {low + step * min(1.0, 1.0 / max(low, 1e-9)) for step in (0.5, 1, 2, 4, 8)} | {0.0}
    if y is not None:
        center, width = (y - mean) / shift, math.sqrt(noise) / abs(shift)
        breaks |= {center + step * width for step in (-8, -4, -2, 0, 2, 4, 8)}
    inside = sorted(point for point in breaks if low < point < high)
    constant = -0.5 * math.log(2 * math.pi) - float(log_ndtr(threshold))
    weight = lambda w: math.exp(constant - 0.5 * w * w)  # noqa: E731
    edges = [low, *inside, high]
    parts = pairwise(edges)
    return sum(quad(lambda w: function(w) * weight(w), *part, epsabs=0, epsrel=1e-12)[0] for part in parts)


@pytest.mark.parametrize("case", CASES)
def test_moments_are_those_of_the_integral(case):
    mean, variance = (moment.item() for moment in build(case).moments())
    m, d, R, _ = case
    first = weighted_integral(lambda w: w, case)
    second = weighted_integral(lambda w: (w - first) ** 2, case)
    assert mean == pytest.approx(m + d * first, rel=1e-9)
    assert variance == pytest.approx(R + d * d * second, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_density_is_that_of_the_sum(case):
    parts = build(case)
    levels = torch.tensor([1e-3, 0.1, 0.5, 0.9, 0.999], dtype=torch.float64)
    y = parts.quantile(levels)
    m, d, R, _ = case
    for at, value in zip(y.flatten().tolist(), parts.log_prob(y).flatten().tolist(), strict=True):
        expected = weighted_integral(
            lambda w, at=at: math.exp(-0.5 * (at - m - d * w) ** 2 / R) / math.sqrt(2 * math.pi * R), case, at
        )
        assert math.exp(value) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_quantiles_invert_the_cdf(case):
    parts = build(case)
    levels = [1e-8, 1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999, 1 - 1e-8]
    y = parts.quantile(torch.tensor(levels, dtype=torch.float64))
    density = parts.log_prob(y).exp().flatten()
    m, d, R, _ = case
    spread = parts.moments()[1].sqrt().item()
    for at, level, p in zip(y.flatten().tolist(), levels, density.tolist(), strict=True):
        reached = weighted_integral(lambda w, at=at: ndtr((at - m - d * w) / math.sqrt(R)), case, at)
        # The error of the quantile, in standard deviations: that of interpolation, and where there is next to no
        # density that of this integral (1e-13 in the level).
        assert abs(reached - level) / (p * spread) < 1e-5 + 1e-13 / (p * spread)


def test_gradients_are_those_of_the_values():
    parameters = torch.tensor(CASES, dtype=torch.float64).mT.unsqueeze(1).unbind(0)
    # Noise of 1e-6 moves the quantiles by too much within one step of finite differences.
    parameters = [part[:, [0, 2, 5]].clone().requires_grad_() for part in parameters]
    u = torch.tensor([0.01, 0.3, 0.5, 0.9, 0.999], dtype=torch.float64)
    y = torch.tensor([[[-1.0, 0.2, 0.4, 2.0]]], dtype=torch.float64)
    options = {"atol": 1e-6, "rtol": 1e-5}
    assert torch.autograd.gradcheck(lambda *a: SkewNormals(*a).log_prob(y), parameters, **options)
    assert torch.autograd.gradcheck(lambda *a: SkewNormals(*a).quantile(u), parameters, **options)
    assert torch.autograd.gradcheck(lambda *a: torch.stack(SkewNormals(*a).moments()), parameters, **options)


def test_without_a_threshold_it_is_normal():
    parts = build((0.3, -0.6, 0.64, 30.0))
    u = sobol_levels(64, None, seed=0)
    torch.testing.assert_close(parts.quantile(u).flatten(), 0.3 + torch.special.ndtri(u), rtol=0, atol=1e-9)


def test_finite_in_the_extremes():
    cases = [
        (mean, shift, noise, threshold)
        for mean in (0.0, 1e3)
        for shift in (-1e-6, -1.0, 1.0)
        for noise in (0.0, 1e-12, 1e-4, 10.0)
        for threshold in (-1e6, -1e3, -40.0, 0.0, 40.0, 1e6)
    ]
    columns = torch.tensor(cases, dtype=torch.float64).mT.unsqueeze(1)
    parameters = [column.clone().requires_grad_() for column in columns]
    parts = SkewNormals(*parameters)
    y = parts.quantile(sobol_levels(64, None, seed=0))
    total = y.sum() + parts.log_prob(y).sum() + sum(moment.sum() for moment in parts.moments())
    assert y.isfinite().all()
    assert total.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(total, parameters))
