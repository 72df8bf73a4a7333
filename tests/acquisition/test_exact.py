"""Exact distances against mpmath in some of the hostile cases of scripts/validation/exact_distances.py."""

from __future__ import annotations

import mpmath
import pytest
import torch

from scorebo.acquisition import SAL, SCoreBO
from scorebo.acquisition.distances import DISTANCES
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.acquisition.skew_normal import SkewNormals
from scorebo.errors import InputError
from scripts.validation.exact_distances import Case, cases, references
from tests.acquisition.test_scorebo import some_optima
from tests.conftest import random_ensemble

ORDINARY = Case((0.3, -0.8, 0.3, 0.7), [(0.0, 1.0), (0.8, 0.7), (-0.5, 1.3)])


def tensors(case: Case) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    means, stds = (torch.tensor([column], dtype=torch.float64) for column in zip(*case.components, strict=True))
    own = [torch.tensor([[number]], dtype=torch.float64) for number in case.conditional]
    return own, [means, stds.square()]


def exact(distance, own, marginal):
    conditionals = SkewNormals(*own) if own[1].abs() > 0 else Normals(own[0], own[2])
    return DISTANCES[distance]().exact(conditionals, Mixture(Normals(*marginal)))


@pytest.mark.parametrize("case", [*list(cases())[::37], ORDINARY])
def test_value_is_the_integral(case):
    for distance, expected in references(case).items():
        found = exact(distance, *tensors(case)).item()
        assert abs(found - expected) <= 2e-5 * max(1.0, expected), distance


def test_gradient_is_that_of_the_integral():
    """Differences over 1e-3 of the references, with an error of second order of their own."""
    own, marginal = tensors(ORDINARY)
    arguments = [tensor.requires_grad_() for tensor in (*own, *marginal)]
    found = {
        distance: [g.flatten()[0].item() for g in torch.autograd.grad(exact(distance, own, marginal).sum(), arguments)]
        for distance in DISTANCES
    }
    for k in range(5):
        above, below = (references(moved(k, side * 1e-3)) for side in (1, -1))
        for distance, gradient in found.items():
            expected = (above[distance] - below[distance]) / 2e-3
            assert gradient[k] == pytest.approx(expected, rel=1e-3, abs=2e-5), (distance, k)


def moved(k: int, step: float) -> Case:
    """The case with one of m, d, R, α or the mean of the first component changed."""
    own, (first, *others) = list(ORDINARY.conditional), ORDINARY.components
    if k < 4:
        own[k] += step
    return Case(tuple(own), [(first[0] + step * (k == 4), first[1]), *others])


@pytest.mark.parametrize("distance", DISTANCES)
def test_gradient_is_that_of_the_value(distance):
    generator = torch.Generator().manual_seed(0)
    mean, own_mean = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator)
    variance, noise = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator).exp()
    shift, threshold = torch.randn(2, 3, 5, dtype=torch.float64, generator=generator)
    arguments = [tensor.requires_grad_() for tensor in (own_mean, shift, noise, 2 * threshold.detach(), mean, variance)]

    def value(*given):
        return DISTANCES[distance]().exact(SkewNormals(*given[:4]), Mixture(Normals(*given[4:])))

    assert torch.autograd.gradcheck(value, arguments, eps=1e-5, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("distance", DISTANCES)
def test_is_the_limit_of_monte_carlo(distance):
    model = random_ensemble(3, dim=2)
    X = torch.rand(10, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    of_samples = SAL(model, distance, "monte_carlo", num_samples=2**16)
    found = SAL(model, distance, "exact")(X.unsqueeze(1))
    torch.testing.assert_close(found, of_samples(X.unsqueeze(1)), rtol=2e-3, atol=2e-4)
    optima = some_optima(model)
    sampled = SCoreBO(model, *optima, distance, "monte_carlo", num_samples=2**14)(X.unsqueeze(1))
    exactly = SCoreBO(model, *optima, distance, "exact")(X.unsqueeze(1))
    tolerance = 5e-2 if distance == "reverse_kl" else 5e-3  # its log ratio grows with the square of y
    torch.testing.assert_close(exactly, sampled, rtol=tolerance, atol=1e-3)


@pytest.mark.parametrize("distance", DISTANCES)
def test_is_the_closed_form_between_normals(distance):
    """A mixture of equal normals is one of them."""
    mean, variance = torch.tensor([[0.3]], dtype=torch.float64), torch.tensor([[0.7]], dtype=torch.float64)
    own = torch.tensor([[0.3, 0.3, 1.0, -4.0]], dtype=torch.float64), torch.tensor([[0.7, 0.8, 2.0, 0.01]])
    mixture = Mixture(Normals(mean.expand(1, 5), variance.expand(1, 5)))
    found = DISTANCES[distance]().exact(Normals(own[0], own[1].double()), mixture)
    expected = DISTANCES[distance]().closed_form(own[0], own[1].double(), mean, variance)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_second_derivatives_are_refused():
    own, marginal = tensors(ORDINARY)
    own[0].requires_grad_()
    (gradient,) = torch.autograd.grad(exact("hellinger", own, marginal).sum(), own[0], create_graph=False)
    assert gradient.isfinite().all()
    with pytest.raises(InputError, match="first derivatives only"):
        torch.autograd.grad(exact("hellinger", own, marginal).sum(), own[0], create_graph=True)


def test_the_reference_is_the_textbook_distance():
    """Without a truncation, of two normals."""
    case = Case((0.5, 0.6, 0.64, 45.0), [(0.0, 2.0)])
    pair = [torch.tensor(number, dtype=torch.float64) for number in (0.5, 1.0, 0.0, 4.0)]
    with mpmath.workdps(15):
        for distance, value in references(case).items():
            assert value == pytest.approx(DISTANCES[distance]().closed_form(*pair).item(), rel=1e-6)
