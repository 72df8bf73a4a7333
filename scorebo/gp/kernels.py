"""Stationary ARD kernels, evaluated for all M hyperparameter sets at once.

Lengthscales and outputscales are the ensemble's, not a kernel object's. It is the one place that knows the covariance
as a function of the scaled squared distance r² = Σ_d (x_d − x'_d)²/ℓ_d². What else differs from set to set is its own:
the partitions of `Additive`, the concentrations of `Warped`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr
from torch import Tensor

from scorebo._numba._outside import OutsideFunction
from scorebo.errors import InputError, check_choice
from scorebo.gp import _covariances
from scorebo.gp.pairwise import Arguments, Combination, Covariances, Radial, weighted_sum

Array = NDArray[np.float64]

# Elements of the pairwise difference tensor held at once (64 MB); larger products of points are done in slices.
MAX_PAIRWISE = 8_000_000
# Squared distances at which `radial` is compared with differences; and the largest it is asked for, so that it need not
# mind overflow.
PROBE = torch.tensor([0.03, 0.2, 0.7, 3.1, 20.0], dtype=torch.float64)
FARTHEST = 1e100


class Kernel:
    """Covariance k(x, x') = outputscale · c(r²) of the scaled squared distance r² = Σ_d (x_d − x'_d)²/ℓ_d².

    A kernel of your own is a subclass with `radial` and, for posterior paths and optima, `frequencies`; give it as
    `fit_gp(…, kernel=Matern32())` in Python or `model.kernel={_target_: my_package.Matern32}` on the command line. It
    works with every model, sampler and acquisition, and agrees with compiled arithmetic to rounding, but is slower:
    compiled code calls `radial` in Python, and covariances are computed in PyTorch.

        class Matern32(Kernel):
            def radial(self, squared_distance):
                scaled = (3.0 * squared_distance).sqrt()
                decay = (-scaled).exp()
                return (1.0 + scaled) * decay, -1.5 * decay, 2.25 * decay / scaled.clamp_min(1e-12)

            def frequencies(self, uniform):  # Student's t with 3 degrees of freedom
                normal = torch.special.ndtri(uniform)
                chi_square = 2.0 * torch.from_numpy(scipy.special.gammaincinv(1.5, uniform[..., -1:].numpy()))
                return normal[..., :-1] / (chi_square / 3.0).sqrt()
    """

    def radial(self, squared_distance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation c(r²) and its first and second derivative by r², element by element.

        Args:
            squared_distance: r² ≥ 0, float64, of any shape.

        Returns:
            Three tensors of the same shape, finite everywhere; c(0) = 1. A derivative that is infinite at r² = 0 may be
            any finite number there: it is multiplied by differences that are 0.
        """
        raise InputError(f"The kernel {type(self).__name__} must define `radial`: see scorebo.gp.Kernel.")

    def correlation(self, squared_distance: Tensor) -> Tensor:
        """c(r²), element by element, twice differentiable."""
        return Radial.apply(self, squared_distance, 0)

    @property
    def compiled(self) -> int | None:
        """Code of the kernel in `_covariances`; None for all but the very classes that have one."""
        return _CODES.get(type(self))

    @cached_property
    def outside(self) -> OutsideFunction | None:
        """`radial` as compiled code calls it; None where the kernel has a code."""
        if self.compiled is not None:
            return None
        name = f"radial of the kernel {type(self).__name__}"
        function = OutsideFunction(self.finite_radial, name, PROBE)
        at_zero = float(self.finite_radial(torch.zeros(1, dtype=torch.float64))[0])
        if abs(at_zero - 1.0) > 1e-12:
            raise InputError(f"{name}: the correlation at distance 0 must be 1, got {at_zero:g}.")
        return function

    @property
    def code(self) -> int:
        """What compiled code takes for the kernel: its code, or the address of `outside`."""
        return _CODES[type(self)] if self.outside is None else self.outside.address

    def finite_radial(self, squared_distance: Tensor) -> Tensor:
        """`radial`, checked: `3 x …`."""
        rows = torch.stack(self.radial(squared_distance.detach().clamp_max(FARTHEST)))
        if not bool(rows.isfinite().all()) and not bool(squared_distance.isnan().any()):
            raise InputError(f"radial of the kernel {type(self).__name__} must be finite, also at distance 0.")
        return rows

    def check_samples(self, num_mcmc_samples: int, dim: int) -> None:
        """Refuse numbers of sets and inputs that do not fit what the kernel has of its own for each."""

    def of_set(self, m: int) -> Kernel:
        """The kernel of set m alone."""
        return self

    def structure(self) -> dict[str, Any]:
        """What the kernel has of its own for each set, `M x D` each, as records keep it."""
        return {}

    def prior_variance(self, outputscale: Tensor) -> Tensor:
        """k(x, x) of every set, `M`."""
        return outputscale

    def precisions(self, lengthscale: Tensor) -> Tensor:
        """Squared inverse lengthscales `M x D` by groups of inputs, `M x G x D`; a row of NaN is no group."""
        return lengthscale.pow(-2).unsqueeze(1)

    def wave_shares(self, count: int) -> Tensor:
        """Variances of `count` waves whose sum is a draw from the prior at outputscale 1: `M or 1 x count`."""
        return torch.full((1, count), 1.0 / count, dtype=torch.float64)

    def frequencies(self, uniform: Tensor) -> Tensor:
        """Angular frequencies from the spectral density at lengthscale 1: correlation(|x|²) = E cos(ω·x).

        Args:
            uniform: `... x D + 1`, independent or quasi-random numbers strictly between 0 and 1.

        Returns:
            `... x D`; divided by a lengthscale in each dimension they are those of the ARD kernel.
        """
        raise InputError(
            f"Paths cannot be drawn from the kernel {type(self).__name__}: it must define `frequencies`, see "
            "scorebo.gp.Kernel."
        )

    def radial_scale(self, uniform: Tensor) -> Tensor:
        """Random factors, one for each uniform number, that turn standard normal vectors into frequencies."""
        raise InputError(
            f"The kernel {type(self).__name__} defines no radial scale of its frequencies (`radial_scale`)."
        )

    def __call__(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        """Covariance of every pair of points under every set.

        Args:
            X1: `batch x n1 x D`.
            X2: `batch x n2 x D`, or `n2 x D`.
            lengthscale: `M x D`.
            outputscale: `M`.

        Returns:
            `batch x M x n1 x n2`.
        """
        by_hyperparameters = lengthscale.requires_grad or outputscale.requires_grad
        by_shared_points = X2.requires_grad and X2.shape[:-2] != X1.shape[:-2]
        if self.compiled is None or (torch.is_grad_enabled() and (by_hyperparameters or by_shared_points)):
            return self.by_autograd(X1, X2, lengthscale, outputscale)
        return Covariances.apply(self, X1, X2, lengthscale, outputscale)

    def by_autograd(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        """The same in plain PyTorch: differentiable by everything, as often as one likes, and slower."""
        return outputscale[:, None, None] * self.correlation(scaled_squared_distance(X1, X2, lengthscale))

    def combine(self, X: Tensor, centers: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor) -> Tensor:
        """Σ over sets m and centers j of weight_mj·k_m(x, center_j), differentiable by X.

        Args:
            X: `b x D`.
            centers: `n x D`.
            lengthscale: `M x D`.
            outputscale: `M`.
            weight: `M x n`.

        Returns:
            `b`.
        """
        return Combination.apply(self, X, centers, lengthscale, outputscale, weight)

    def combine_with_gradient(
        self, X: Tensor, centers: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor, *, wanted: bool
    ) -> tuple[Tensor, Tensor]:
        """The same and, if wanted, its derivatives by X, `b x D`; not differentiable, but cheaper than autograd."""
        if self.compiled is not None:
            arguments = Arguments.of(self.compiled, X.unsqueeze(0), centers, lengthscale, outputscale)
            return arguments.combine(weight, wanted)
        value = weighted_sum(self(X.detach(), centers, lengthscale, outputscale), weight)
        by_covariance = weight.unsqueeze(-2).expand(-1, len(X), -1)
        return value, self.pull(X, centers, lengthscale, outputscale, by_covariance) if wanted else X[:0]

    def paired(self, X: Tensor, Z: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        """Covariance under set m of points X `b x D` with points of its own, Z `N x M x D`: `N x M x b`."""
        squares = scaled_differences(X, Z, lengthscale).square().sum(dim=-1)
        return outputscale[:, None] * self.correlation(squares)

    def fill_upper_triangle(self, X: Array, lengthscale: Array, outputscale: float, result: Array) -> None:
        """The upper triangle of the covariance of X `q x D` under one set (`1 x D`, a number) into `result` `q x q`.

        Arrays, not tensors: at this size the calls that convert them would take a tenth of the time.
        """
        if self.compiled is None:
            points, scale = torch.from_numpy(X), torch.tensor([outputscale], dtype=torch.float64)
            result[:] = self(points, points, torch.from_numpy(lengthscale), scale)[0].numpy()
        else:
            _covariances.fill_upper_triangle(self.compiled, X, lengthscale**-2.0, outputscale, result)

    def pull(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor) -> Tensor:
        """Derivatives of Σ weight·covariance by X1, for a weight of the covariance's shape. `batch x n1 x D`."""
        if self.compiled is not None:
            return Arguments.of(self.compiled, X1, X2, lengthscale, outputscale).pull(weight)[0]
        with torch.enable_grad():
            points = X1.detach().requires_grad_()
            covariance = self(points, X2.detach(), lengthscale, outputscale)
        return torch.autograd.grad(covariance, points, weight)[0]


def scaled_differences(X: Tensor, Z: Tensor, lengthscale: Tensor) -> Tensor:
    """(x − z)/ℓ_m of points X `b x D`, or `M x b x D`, and points of each set's own, Z `N x M x D`: `N x M x b x D`."""
    return (X - Z.unsqueeze(-2)) / lengthscale[:, None]


def scaled_squared_distance(X1: Tensor, X2: Tensor, lengthscale: Tensor) -> Tensor:
    """Σ_d (x_d − x'_d)²/ℓ_md² from plain differences: no cancellation for close points. `batch x M x n1 x n2`."""
    precision = lengthscale.pow(-2)
    rows = max(1, MAX_PAIRWISE // max(1, X2.shape[-2] * X2.shape[-1] * X1.shape[:-2].numel()))
    if X1.shape[-2] > rows:
        return torch.cat([scaled_squared_distance(part, X2, lengthscale) for part in X1.split(rows, dim=-2)], dim=-2)
    # Dimension first, so that the product over D comes out with contiguous n1 x n2 matrices: factorizing or multiplying
    # strided ones costs several times as much.
    squares = (X1.mT.unsqueeze(-1) - X2.mT.unsqueeze(-2)).square()
    return (precision @ squares.flatten(-2)).unflatten(-1, squares.shape[-2:])


@dataclass(frozen=True)
class Matern52(Kernel):
    """Matérn with smoothness 5/2: (1 + √5 r + 5r²/3) exp(−√5 r)."""

    name: ClassVar[str] = "matern52"

    def correlation(self, squared_distance: Tensor) -> Tensor:
        # The derivative by r² is finite at 0, that of the root is not: below the clamp the slope is cut to the exact 0.
        scaled = math.sqrt(5.0) * squared_distance.clamp_min(1e-30).sqrt()
        return (1.0 + scaled + scaled.square() / 3.0) * (-scaled).exp()

    def frequencies(self, uniform: Tensor) -> Tensor:
        """Multivariate Student's t with 5 degrees of freedom: a normal divided by the root of an independent χ²/5."""
        normal = torch.special.ndtri(uniform)
        return normal[..., :-1] / _root_chi_square(normal[..., -1:])

    def radial_scale(self, uniform: Tensor) -> Tensor:
        return _root_chi_square(torch.special.ndtri(uniform)).reciprocal()


@dataclass(frozen=True)
class RBF(Kernel):
    """Squared exponential: exp(−r²/2)."""

    name: ClassVar[str] = "rbf"

    def correlation(self, squared_distance: Tensor) -> Tensor:
        return (-0.5 * squared_distance).exp()

    def frequencies(self, uniform: Tensor) -> Tensor:
        """Standard normal; the last uniform is not used."""
        return torch.special.ndtri(uniform[..., :-1])

    def radial_scale(self, uniform: Tensor) -> Tensor:
        return torch.ones_like(uniform)


_CODES: dict[type[Kernel], int] = {Matern52: _covariances.MATERN52, RBF: _covariances.RBF}


def _root_chi_square(normal: Tensor) -> Tensor:
    """Root of χ²/5 with 5 degrees of freedom at the quantiles of these standard normal numbers."""
    # Half a χ² with 5 degrees of freedom is a Γ(5/2, 1).
    return (torch.from_numpy(np.exp(_log_gamma_quantile()(normal.numpy()))) / 2.5).sqrt()


@lru_cache
def _log_gamma_quantile() -> Chebyshev:
    """Logarithm of the quantile of Γ(5/2, 1) as a function of the standard normal's, to 2e-9 where `strictly_inside`.

    A seventh of the time of the exact one.
    """
    return Chebyshev.interpolate(lambda z: np.log(gammaincinv(2.5, ndtr(z))), deg=24, domain=[-6.3, 6.3])


def strictly_inside(uniform: Tensor) -> Tensor:
    """Keep off 0 and 1, where quantiles are infinite; Sobol points, multiples of 2⁻³⁰, can be 0."""
    return uniform.detach().to(torch.float64).clamp(2.0**-31, 1.0 - 2.0**-31)


def as_kernel(kernel: Kernel | type[Kernel] | str) -> Kernel:
    """A kernel object from itself, its class or its short name."""
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        kernel = kernel()
    if isinstance(kernel, Kernel):
        return kernel
    short_forms: dict[str, Kernel] = {cls.name: cls() for cls in (Matern52, RBF)}
    return short_forms[check_choice("kernel", kernel, short_forms)]
