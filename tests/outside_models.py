"""Kernels and priors as a user writes them: from public names alone, one class each."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import scipy.special
import torch

import scorebo.gp
from scorebo.gp import Kernel, SparseLengthscales
from scorebo.priors import Prior


class Matern52(Kernel):
    def radial(self, squared_distance):
        scaled = (5.0 * squared_distance).sqrt()
        decay = (-scaled).exp()
        return (1.0 + scaled + scaled**2 / 3.0) * decay, -5.0 / 6.0 * (1.0 + scaled) * decay, 25.0 / 12.0 * decay

    def frequencies(self, uniform):
        chi_square = 2.0 * torch.from_numpy(scipy.special.gammaincinv(2.5, uniform[..., -1:].numpy()))
        return torch.special.ndtri(uniform[..., :-1]) / (chi_square / 5.0).sqrt()


class SameWaves(Matern52):
    """With the frequencies of the package's own, whose quantiles are good to 2e-9."""

    def frequencies(self, uniform):
        return scorebo.gp.Matern52().frequencies(uniform)


class RBF(Kernel):
    def radial(self, squared_distance):
        value = (-0.5 * squared_distance).exp()
        return value, -0.5 * value, 0.25 * value

    def frequencies(self, uniform):
        return torch.special.ndtri(uniform[..., :-1])


class Matern32(Kernel):
    def radial(self, squared_distance):
        scaled = (3.0 * squared_distance).sqrt()
        decay = (-scaled).exp()
        return (1.0 + scaled) * decay, -1.5 * decay, 2.25 * decay / scaled.clamp_min(1e-12)

    def frequencies(self, uniform):
        chi_square = 2.0 * torch.from_numpy(scipy.special.gammaincinv(1.5, uniform[..., -1:].numpy()))
        return torch.special.ndtri(uniform[..., :-1]) / (chi_square / 3.0).sqrt()


@dataclass(frozen=True)
class LogNormal(Prior):
    mean: float
    variance: float

    def log_prob(self, value):
        constant = -0.5 * math.log(2.0 * math.pi * self.variance)
        return constant - 0.5 * (value.log() - self.mean) ** 2 / self.variance - value.log()

    def sample(self, rng, size):
        return rng.lognormal(self.mean, self.variance**0.5, size)


@dataclass(frozen=True)
class Gamma(Prior):
    shape: float
    rate: float

    def log_prob(self, value):
        shape, rate = torch.tensor([self.shape, self.rate], dtype=torch.float64)
        return torch.distributions.Gamma(shape, rate).log_prob(value)

    def sample(self, rng, size):
        return rng.gamma(self.shape, 1.0 / self.rate, size)


@dataclass(frozen=True)
class HalfCauchy(Prior):
    """With a gradient of its own, and a density that PyTorch cannot differentiate."""

    scale: float

    def log_prob(self, value):
        density = 2.0 / (math.pi * self.scale * (1.0 + (value.detach().numpy() / self.scale) ** 2))
        return torch.from_numpy(density).log()

    def gradient(self, value):
        return -2.0 * value / (self.scale**2 + value**2)

    def sample(self, rng, size):
        return self.scale * abs(rng.standard_cauchy(size))


@dataclass(frozen=True)
class Normal(Prior):
    positive = False
    mean: float
    variance: float

    def log_prob(self, value):
        mean, variance = torch.tensor([self.mean, self.variance], dtype=torch.float64)
        return torch.distributions.Normal(mean, variance.sqrt()).log_prob(value)

    def sample(self, rng, size):
        return rng.normal(self.mean, self.variance**0.5, size)


@dataclass(frozen=True)
class Uniform(Prior):
    """Flat between 0 and 10."""

    def log_prob(self, value):
        return torch.where((value > 0.0) & (value < 10.0), -math.log(10.0), -math.inf).double()

    def sample(self, rng, size):
        return rng.uniform(0.0, 10.0, size)


def from_outside(belief):
    """A prior of the package's own, as written here; what is no prior stays as it is."""
    if isinstance(belief, SparseLengthscales):
        return SparseLengthscales(from_outside(belief.global_shrinkage), from_outside(belief.local_shrinkage))
    return globals()[type(belief).__name__](**dataclasses.asdict(belief)) if isinstance(belief, Prior) else belief


def model_from_outside(model, kernel):
    """The same model with this kernel and with the priors written here."""
    names = ("lengthscale", "outputscale", "noise", "mean", "concentration")
    return dataclasses.replace(model, kernel=kernel, **{name: from_outside(getattr(model, name)) for name in names})
