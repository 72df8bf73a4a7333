"""Priors on hyperparameters, in the paper's notation: LN(a, b) and N(a, b) give a *variance* b, Γ(a, b) a *rate* b.

Every positive parameter is sampled in its logarithm, every other one as it is. `unconstrained` states the density of
that coordinate in one of the forms that the compiled log density knows, or as a function that it calls.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from scorebo._numba._outside import OutsideFunction
from scorebo.errors import InputError, check_number

# Forms of the log density of an unconstrained coordinate u with parameters (a, b):
GAUSSIAN = 0  # −½(u − a)²/b − ½ log 2πb
LOG_GAMMA = 1  # a·u − b·eᵘ + a·log b − log Γ(a), the density of log v for v ~ Γ(a, b)
LOG_HALF_CAUCHY = 2  # −log cosh(u − a) − log π, the density of log v for v ~ HC(eᵃ); b is not used


class Prior(ABC):
    """Distribution of one scalar hyperparameter.

    A prior of your own is a subclass with `log_prob` and `sample`; give it as `fit_gp(…, lengthscale=Exponential(2.0))`
    in Python or `model.lengthscale={_target_: my_package.Exponential, rate: 2.0}` on the command line. It works with
    every model and sampler, and agrees with compiled arithmetic to rounding, but is slower: compiled code calls it in
    Python, once for each parameter.

        @dataclass(frozen=True)
        class Exponential(Prior):
            rate: float

            def log_prob(self, value):
                return math.log(self.rate) - self.rate * value

            def sample(self, rng, size):
                return rng.exponential(1.0 / self.rate, size)

    A parameter that may be negative, the mean, needs a prior with `positive = False`.
    """

    positive: ClassVar[bool] = True

    @abstractmethod
    def log_prob(self, value: Tensor) -> Tensor:
        """Log density of the parameter itself (not of its logarithm), element by element, in PyTorch."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """`size` independent draws of the parameter."""

    def gradient(self, value: Tensor) -> Tensor:
        """Derivative of `log_prob`, element by element; by automatic differentiation unless a prior defines its own."""
        with torch.enable_grad():
            points = value.detach().requires_grad_()
            total = self.log_prob(points).sum()
        # A flat density does not depend on the parameter.
        return torch.autograd.grad(total, points)[0] if total.requires_grad else torch.zeros_like(value)

    @property
    def unconstrained(self) -> tuple[float, float, float, float]:
        """Form, parameters (a, b) and constant of the log density of the unconstrained coordinate.

        The form of any but the very classes that have one is the address of `outside`.
        """
        if self.outside is None:
            return _FORMS[type(self)](self)
        return self.outside.address, 0.0, 0.0, 0.0

    @cached_property
    def outside(self) -> OutsideFunction | None:
        """The log density of the unconstrained coordinate as compiled code calls it; None where there is a form."""
        if type(self) in _FORMS:
            return None
        draws = torch.from_numpy(np.asarray(self.sample(np.random.default_rng(0), 8), dtype=np.float64))
        probe = draws.log() if self.positive else draws
        if probe.shape != (8,) or not bool(probe.isfinite().all()):
            kind = "positive numbers" if self.positive else "numbers"
            raise InputError(f"sample of the prior {type(self).__name__} must return `size` {kind}, got {draws}.")
        return OutsideFunction(self._of_coordinate, f"log_prob of the prior {type(self).__name__}", probe)

    def _of_coordinate(self, u: Tensor) -> Tensor:
        """Log density of an unconstrained coordinate and its derivative, `2 x …`."""
        if not self.positive:
            return torch.stack([self.log_prob(u), self.gradient(u)])
        value = u.exp()
        return torch.stack([self.log_prob(value) + u, self.gradient(value) * value + 1.0])


@dataclass(frozen=True)
class _Gaussian(Prior):
    """A normal distribution of the parameter or of its logarithm."""

    mean: float
    variance: float

    def __post_init__(self) -> None:
        check_number(f"The mean of a {type(self).__name__} prior", self.mean, -math.inf, exclusive=True)
        check_number(f"The variance of a {type(self).__name__} prior", self.variance, 0.0, exclusive=True)

    def _log_density(self, value: Tensor) -> Tensor:
        return -0.5 * (value - self.mean).square() / self.variance - 0.5 * math.log(2.0 * math.pi * self.variance)


class LogNormal(_Gaussian):
    """LN(mean, variance): log v is normal with this mean and this variance."""

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density(value.log()) - value.log()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.lognormal(self.mean, math.sqrt(self.variance), size)


class Normal(_Gaussian):
    """N(mean, variance)."""

    positive: ClassVar[bool] = False

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density(value)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(self.mean, math.sqrt(self.variance), size)


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


# Form, a, b and constant: what the density has besides the terms with u.
_FORMS: dict[type[Prior], Callable[[Any], tuple[float, float, float, float]]] = {
    LogNormal: lambda p: (GAUSSIAN, p.mean, p.variance, -0.5 * math.log(2.0 * math.pi * p.variance)),
    Normal: lambda p: (GAUSSIAN, p.mean, p.variance, -0.5 * math.log(2.0 * math.pi * p.variance)),
    Gamma: lambda p: (LOG_GAMMA, p.shape, p.rate, p.shape * math.log(p.rate) - math.lgamma(p.shape)),
    HalfCauchy: lambda p: (LOG_HALF_CAUCHY, math.log(p.scale), 0.0, math.log(2.0 / math.pi)),
}
