import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from scorebo.acquisition.mixture import Mixture, Normals, affinity_deficit
from scorebo.errors import InputError


def moments(rows=3, size=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(rows, size, dtype=torch.float64, generator=generator)
    variance = torch.randn(rows, size, dtype=torch.float64, generator=generator).exp()
    return mean.requires_grad_(), variance.requires_grad_()


def samples(rows=3, count=7):
    y = 2.0 * torch.randn(rows, count, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return y.requires_grad_()


def test_log_density_of_the_mixture_to_the_far_tails():
    mean, variance = moments()
    # More points than are worked on at once, out to where every component's density underflows.
    y = torch.linspace(-60, 60, 301, dtype=torch.float64).expand(3, -1)
    ours = Mixture(Normals(mean, variance)).log_prob(y).detach()
    parts = norm.logpdf(
        y[:, None].numpy(), mean.detach()[..., None].numpy(), variance.detach().sqrt()[..., None].numpy()
    )
    np.testing.assert_allclose(ours.numpy(), logsumexp(parts, axis=1) - np.log(5), rtol=1e-13, atol=1e-13)


def test_gradient_of_the_log_density():
    inputs = (*moments(), samples())
    assert torch.autograd.gradcheck(lambda m, v, y: Mixture(Normals(m, v)).log_prob(y), inputs)


def test_affinity_of_normals_with_a_density():
    (mean, variance), y = moments(), samples()
    log_density = torch.randn(3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    ours = affinity_deficit(Normals(mean, variance), y, log_density)
    log_ratio = Normals(mean, variance).log_prob(y.unsqueeze(-2)) - log_density.unsqueeze(-2)
    torch.testing.assert_close(ours, 1.0 - (0.5 * log_ratio).exp().mean(dim=-1), rtol=1e-12, atol=1e-14)
    inputs = (mean, variance, y, log_density)
    assert torch.autograd.gradcheck(lambda m, v, y, p: affinity_deficit(Normals(m, v), y, p), inputs)


def test_a_mixture_of_one_is_its_component_to_the_last_bit():
    parts = Normals(*moments(size=1))
    y, u = samples(), torch.tensor([0.1, 0.5, 0.99], dtype=torch.float64)
    assert torch.equal(Mixture(parts).log_prob(y), parts.log_prob(y.unsqueeze(-2)).squeeze(-2))
    assert torch.equal(Mixture(parts).quantile(u), parts.quantile(u).squeeze(-2))


def test_second_derivatives_are_refused():
    mean, variance = moments()
    value = Mixture(Normals(mean, variance)).log_prob(samples()).sum()
    with pytest.raises(InputError, match="first derivatives only"):
        torch.autograd.grad(value, mean, create_graph=True)
