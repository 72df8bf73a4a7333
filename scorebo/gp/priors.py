"""Priors on hyperparameters, in the paper's notation: LN(a, b) and N(a, b) give a *variance* b, Γ(a, b) a *rate* b.

Every positive parameter is sampled in its logarithm, every other one as it is. `unconstrained` states the density of
that coordinate in one of the forms that the compiled log density knows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from scorebo.errors import check_number

# Forms of the log density of an unconstrained coordinate u with parameters (a, b):
GAUSSIAN = 0  # −½(u − a)²/b − ½ log 2πb
LOG_GAMMA = 1  # a·u − b·eᵘ + a·log b − log Γ(a), the density of log v for v ~ Γ(a, b)
LOG_HALF_CAUCHY = 2  # −log cosh(u − a) − log π, the density of log v for v ~ HC(eᵃ); b is not used


@dataclass(frozen=True)
class Prior(ABC):
    """Distribution of one scalar hyperparameter."""

    positive: ClassVar[bool] = True

    @abstractmethod
    def log_prob(self, value: Tensor) -> Tensor:
        """Log density of the parameter itself (not of its logarithm), element by element."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """`size` independent draws of the parameter."""

    @property
    @abstractmethod
    def unconstrained(self) -> tuple[int, float, float]:
        """Form and parameters (a, b) of the density of the unconstrained coordinate."""


@dataclass(frozen=True)
class LogNormal(Prior):
    """LN(mean, variance): log v is normal with this mean and this variance."""

    mean: float
    variance: float

    def __post_init__(self) -> None:
        check_number("The mean of a LogNormal prior", self.mean, -math.inf, exclusive=True)
        check_number("The variance of a LogNormal prior", self.variance, 0.0, exclusive=True)

    def log_prob(self, value: Tensor) -> Tensor:
        return _log_normal_density(value.log(), self.mean, self.variance) - value.log()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.lognormal(self.mean, math.sqrt(self.variance), size)

    @property
    def unconstrained(self) -> tuple[int, float, float]:
        return GAUSSIAN, self.mean, self.variance


@dataclass(frozen=True)
class Gamma(Prior):
    """Γ(shape, rate), with mean shape/rate."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        check_number("The shape of a Gamma prior", self.shape, 0.0, exclusive=True)
        check_number("The rate of a Gamma prior", self.rate, 0.0, exclusive=True)

    def log_prob(self, value: Tensor) -> Tensor:
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return (self.shape - 1.0) * value.log() - self.rate * value + constant

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.gamma(self.shape, 1.0 / self.rate, size)

    @property
    def unconstrained(self) -> tuple[int, float, float]:
        return LOG_GAMMA, self.shape, self.rate


@dataclass(frozen=True)
class HalfCauchy(Prior):
    """HC(scale): the absolute value of a Cauchy variable; half of its mass lies below `scale`."""

    scale: float

    def __post_init__(self) -> None:
        check_number("The scale of a HalfCauchy prior", self.scale, 0.0, exclusive=True)

    def log_prob(self, value: Tensor) -> Tensor:
        return math.log(2.0 / (math.pi * self.scale)) - (value / self.scale).square().log1p()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return self.scale * np.abs(rng.standard_cauchy(size))

    @property
    def unconstrained(self) -> tuple[int, float, float]:
        return LOG_HALF_CAUCHY, math.log(self.scale), 0.0


@dataclass(frozen=True)
class Normal(Prior):
    """N(mean, variance)."""

    positive: ClassVar[bool] = False
    mean: float
    variance: float

    def __post_init__(self) -> None:
        check_number("The mean of a Normal prior", self.mean, -math.inf, exclusive=True)
        check_number("The variance of a Normal prior", self.variance, 0.0, exclusive=True)

    def log_prob(self, value: Tensor) -> Tensor:
        return _log_normal_density(value, self.mean, self.variance)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(self.mean, math.sqrt(self.variance), size)

    @property
    def unconstrained(self) -> tuple[int, float, float]:
        return GAUSSIAN, self.mean, self.variance


def log_constant(form: int, a: float, b: float) -> float:
    """What a form's density has besides the terms with u, as `_compiled.log_prior` has them."""
    if form == GAUSSIAN:
        return -0.5 * math.log(2.0 * math.pi * b)
    if form == LOG_GAMMA:
        return a * math.log(b) - math.lgamma(a)
    return math.log(2.0 / math.pi)


def _log_normal_density(value: Tensor, mean: float, variance: float) -> Tensor:
    return -0.5 * (value - mean).square() / variance - 0.5 * math.log(2.0 * math.pi * variance)
