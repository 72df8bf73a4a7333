import math

import pytest
import torch
from torch.quasirandom import SobolEngine

from scorebo.errors import InputError
from scorebo.gp.kernels import RBF, Kernel, Matern52, strictly_inside
from tests import outside_models

KERNELS = [Matern52(), RBF(), outside_models.Matern52(), outside_models.Matern32(), outside_models.RBF()]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{type(kernel).__module__}.{type(kernel).__name__}")
@pytest.mark.parametrize("dim", [1, 2, 6])
def test_mean_cosine_is_the_correlation(kernel, dim):
    count = 200_000
    generator = torch.Generator().manual_seed(dim)
    frequencies = kernel.frequencies(torch.rand(count, dim + 1, dtype=torch.float64, generator=generator))
    assert frequencies.shape == (count, dim)
    differences = torch.rand(20, dim, dtype=torch.float64, generator=generator) * 3.0
    estimate = (frequencies @ differences.mT).cos().mean(dim=0)
    # A cosine has variance of at most 1/2 about its mean; the largest of 20 deviations stays below 5 standard errors.
    tolerance = 5.0 * math.sqrt(0.5 / count)
    torch.testing.assert_close(estimate, kernel.correlation(differences.square().sum(-1)), rtol=0, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{type(kernel).__module__}.{type(kernel).__name__}")
def test_sobol_is_more_even_than_random(kernel):
    differences = torch.linspace(0.0, 2.0, 21, dtype=torch.float64)[:, None] * torch.ones(3, dtype=torch.float64)
    exact = kernel.correlation(differences.square().sum(-1))
    errors = {"sobol": 0.0, "random": 0.0}
    for seed in range(8):
        uniform = {
            "sobol": SobolEngine(4, scramble=True, seed=seed).draw(1024, dtype=torch.float64),
            "random": torch.rand(1024, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)),
        }
        for name, numbers in uniform.items():
            estimate = (kernel.frequencies(numbers) @ differences.mT).cos().mean(dim=0)
            errors[name] += float((estimate - exact).square().mean())
    assert errors["sobol"] < 0.5 * errors["random"]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{type(kernel).__module__}.{type(kernel).__name__}")
def test_finite_at_the_corners(kernel):
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 3)
    assert bool(kernel.frequencies(strictly_inside(corners)).isfinite().all())


def test_unknown_spectrum_is_refused():
    class Rough(Kernel):
        name = "rough"

        def correlation(self, squared_distance):
            return (-squared_distance.sqrt()).exp()

    with pytest.raises(InputError, match="Rough"):
        Rough().frequencies(torch.rand(4, 3))
