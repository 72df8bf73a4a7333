from __future__ import annotations

import mpmath
import pytest
import torch

from scorebo.acquisition.distances import DISTANCES, KL, ReverseKL, moment_match


def exact(name: str, mean1: float, variance1: float, mean2: float, variance2: float) -> float:
    with mpmath.workdps(60):
        m1, v1, m2, v2 = (mpmath.mpf(number) for number in (mean1, variance1, mean2, variance2))
        if name == "reverse_kl":
            m1, v1, m2, v2 = m2, v2, m1, v1
        if name == "hellinger":
            affinity = mpmath.sqrt(2 * mpmath.sqrt(v1 * v2) / (v1 + v2)) * mpmath.exp(
                -((m1 - m2) ** 2) / (4 * (v1 + v2))
            )
            return float(mpmath.sqrt(1 - affinity))
        if name == "wasserstein":
            return float(mpmath.sqrt((m1 - m2) ** 2 + (mpmath.sqrt(v1) - mpmath.sqrt(v2)) ** 2))
        return float(mpmath.log(v2 / v1) / 2 + (v1 + (m1 - m2) ** 2) / (2 * v2) - mpmath.mpf(1) / 2)


ORDINARY = [
    (0.0, 1.0, 0.5, 2.0),
    (-1.0, 0.3, 2.0, 0.2),
    (0.1, 1.0, 0.1, 1.09),
    (0.0, 1.0, 0.0, 1.1),
    (0.0, 1.0, 0.0, 0.9),
]
NEARLY_EQUAL = [(1.0, 1.0, 1.0, 1.0 + 10.0**-k) for k in range(1, 16)]
NEARLY_EQUAL += [(1.0, 0.7, 1.0 + 10.0**-k, 0.7) for k in range(1, 16)]
NEARLY_EQUAL += [(1.0, 0.7 * (1 + 10.0**-k), 1.0 + 10.0**-k, 0.7) for k in range(1, 16)]
WILD = [
    (0.0, 1e-12, 0.0, 1.0),
    (0.0, 1e12, 0.0, 1.0),
    (0.0, 1.0, 1e6, 1.0),
    (-1e6, 1e-12, 1e6, 1e12),
    (0.0, 1e-12, 1.0, 1e-12),
]
WILD += [(0.0, 1e-6, 0.0, 1e6), (1e6, 1e12, 0.0, 1e-12)]


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("case", ORDINARY + NEARLY_EQUAL + WILD)
def test_accurate_with_finite_gradient(name, case):
    arguments = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in case]
    value = DISTANCES[name]().closed_form(*arguments)
    assert value.item() == pytest.approx(exact(name, *case), rel=1e-12, abs=0)
    assert all(gradient.isfinite() for gradient in torch.autograd.grad(value, arguments))


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("variance", [1e-12, 0.1, 1.0, 1e12])
def test_equal_normals_are_at_distance_zero_with_zero_gradient(name, variance):
    mean1, mean2 = (torch.tensor(0.3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    variance1, variance2 = (torch.tensor(variance, dtype=torch.float64, requires_grad=True) for _ in range(2))
    value = DISTANCES[name]().closed_form(mean1, variance1, mean2, variance2)
    assert value.item() == 0.0
    assert all(g == 0 for g in torch.autograd.grad(value, [mean1, variance1, mean2, variance2]))


def test_the_last_bit_of_difference_is_seen():
    one = torch.tensor(1.0, dtype=torch.float64)
    nearly = torch.nextafter(one, 2 * one)
    for distance in DISTANCES.values():
        assert distance().closed_form(one, one, one, nearly) > 0
        assert distance().closed_form(one, one, nearly, one) > 0


@pytest.mark.parametrize("name", DISTANCES)
def test_gradient_is_that_of_the_value(name):
    generator = torch.Generator().manual_seed(0)
    mean1, mean2 = torch.randn(2, 30, dtype=torch.float64, generator=generator)
    variance1, variance2 = torch.randn(2, 30, dtype=torch.float64, generator=generator).exp()
    arguments = [tensor.requires_grad_() for tensor in (mean1, variance1, mean2, variance2)]
    assert torch.autograd.gradcheck(DISTANCES[name]().closed_form, arguments, eps=1e-7, atol=1e-6)


def test_kl_is_from_the_conditional_to_the_marginal_and_its_reverse_the_other_way():
    zero, one, four = torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)
    assert KL().closed_form(zero, one, zero, four) == pytest.approx(0.5 * (0.25 - 1 + torch.log(four).item()))
    assert KL().closed_form(zero, four, zero, one) == pytest.approx(0.5 * (4 - 1 - torch.log(four).item()))
    assert ReverseKL().closed_form(zero, one, zero, four) == pytest.approx(0.5 * (4 - 1 - torch.log(four).item()))


def test_moments_of_the_mixture():
    mean = torch.tensor([[0.0, 2.0, 4.0]], dtype=torch.float64)
    variance = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    mixture_mean, mixture_variance = moment_match(mean, variance)
    assert mixture_mean.tolist() == [[2.0]]
    assert mixture_variance.item() == pytest.approx(2.0 + 8.0 / 3.0)


@pytest.mark.parametrize("count", [1, 3, 12, 16])
def test_moments_of_equal_components_are_their_own(count):
    mean, variance = (torch.full((1, count), value, dtype=torch.float64) for value in (0.1, 0.7))
    assert [moment.item() for moment in moment_match(mean, variance)] == [0.1, 0.7]
