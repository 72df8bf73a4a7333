"""Inputs warped by Kumaraswamy's distribution function, w(x) = 1 − (1 − x^c₁)^c₀, each set in its own way.

Snoek, Swersky, Zemel, Adams. Input warping for Bayesian optimization of non-stationary functions. ICML 2014.
Cowen-Rivers et al. HEBO: pushing the limits of sample-efficient hyperparameter optimization. JAIR 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp.kernels import Array, Kernel

# Inputs are first moved this much into the box, as BoTorch does: at 0 and 1 itself a warping may be infinitely steep.
MARGIN = 1e-7
# By how much rounding may put an input outside of the box.
OUTSIDE = 1e-9


def inside(X: np.ndarray) -> np.ndarray:
    """Inputs of the unit box moved into it by the margin; others are refused."""
    if X.size and not (X.min() >= -OUTSIDE and X.max() <= 1.0 + OUTSIDE):
        raise InputError(f"Warped inputs lie in the unit box, got values from {X.min():g} to {X.max():g}.")
    return MARGIN + (1.0 - 2.0 * MARGIN) * np.clip(X, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Warped(Kernel):
    """The base's covariance of warped points: k_m(x, x') = base(w_m(x), w_m(x')).

    Args:
        base: a stationary kernel.
        concentration0: c₀, `M x D`.
        concentration1: c₁, `M x D`.
    """

    base: Kernel
    concentration0: Tensor
    concentration1: Tensor

    def __post_init__(self) -> None:
        for name in ("concentration0", "concentration1"):
            values = getattr(self, name)
            if values.ndim != 2 or not bool(((values > 0) & values.isfinite()).all()):
                raise InputError(f"{name} must be M x D and positive, got {values!r}.")
        if self.concentration0.shape != self.concentration1.shape:
            raise InputError("concentration0 and concentration1 must have one value each for every set and input.")

    def check_samples(self, num_mcmc_samples: int, dim: int) -> None:
        if self.concentration0.shape != (num_mcmc_samples, dim):
            raise InputError(
                f"Concentrations of {tuple(self.concentration0.shape)} do not fit {num_mcmc_samples} sets of {dim} "
                "lengthscales."
            )

    def of_set(self, m: int) -> Warped:
        return Warped(self.base, self.concentration0[m : m + 1], self.concentration1[m : m + 1])

    def structure(self) -> dict[str, list[list[float]]]:
        return {name: getattr(self, name).tolist() for name in ("concentration0", "concentration1")}

    def warp(self, X: Tensor) -> Tensor:
        """Points `batch x n x D` as each set sees them, `batch x M x n x D`; differentiable."""
        return self.warp_own(X.unsqueeze(-3))

    def warp_own(self, X: Tensor) -> Tensor:
        """Points of each set's own, `... x M x n x D`, warped."""
        first, second = self.concentration0.unsqueeze(-2), self.concentration1.unsqueeze(-2)
        return -torch.expm1(first * torch.log1p(-(second * _moved(X).log()).exp()))

    def unwarp(self, U: Tensor) -> Tensor:
        """Inverse of `warp_own`; what is outside of its range goes to the nearer end."""
        first, second = self.concentration0.unsqueeze(-2), self.concentration1.unsqueeze(-2)
        power = -torch.expm1(torch.log1p(-U.clamp(0.0, 1.0)) / first)
        moved = (power.log() / second).exp()
        return ((moved - MARGIN) / (1.0 - 2.0 * MARGIN)).clamp(0.0, 1.0)

    def _slope(self, X: Tensor, warped: Tensor) -> Tensor:
        """dw/dx at points `batch x n x D` warped to `batch x M x n x D`."""
        first, second = self.concentration0.unsqueeze(-2), self.concentration1.unsqueeze(-2)
        log_rest = torch.log1p(-warped) * ((first - 1.0) / first)  # of (1 − x^c₁)^(c₀ − 1)
        slope = first * second * ((second - 1.0) * _moved(X).unsqueeze(-3).log() + log_rest).exp()
        return (1.0 - 2.0 * MARGIN) * slope * ((X >= 0.0) & (X <= 1.0)).unsqueeze(-3)

    def _of_base(self, warped: Tensor, X2: Tensor, lengthscale: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What the base is asked for X1, already warped, and X2: points, lengthscale and outputscale.

        In lengthscales every set is a batch of one set of the base with lengthscale and outputscale 1.
        """
        self.check_samples(*lengthscale.shape)
        Z1, Z2 = warped / lengthscale.unsqueeze(-2), self.warp(X2) / lengthscale.unsqueeze(-2)
        one = torch.ones(1, dtype=torch.float64)
        # What is shared by all batches is not by all sets, which are batches here.
        return Z1, Z2.expand(*Z1.shape[:-2], *Z2.shape[-2:]), one.expand(1, X2.shape[-1]), one

    def __call__(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        correlation = self.base(*self._of_base(self.warp(X1), X2, lengthscale)).squeeze(-3)
        return outputscale[:, None, None] * correlation

    def paired(self, X: Tensor, Z: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        own = self.warp_own(Z.unsqueeze(-2))  # N x M x 1 x D
        return self.base.paired(self.warp(X), own.squeeze(-2), lengthscale, outputscale)

    def fill_upper_triangle(self, X: Array, lengthscale: Array, outputscale: float, result: Array) -> None:
        warped = self.warp(torch.from_numpy(X))[0]
        self.base.fill_upper_triangle(warped.numpy(), lengthscale, outputscale, result)

    def pull(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor) -> Tensor:
        warped = self.warp(X1)
        own = (outputscale[:, None, None] * weight).unsqueeze(-3)
        by_Z1 = self.base.pull(*self._of_base(warped, X2, lengthscale), own)
        return (by_Z1 / lengthscale.unsqueeze(-2) * self._slope(X1, warped)).sum(dim=-3)


def _moved(X: Tensor) -> Tensor:
    """As `inside`, differentiable, and without refusing anything."""
    # Not `clamp`: from torch 2.15 on its derivative at the ends of the box, which are inputs like all others, is 0.
    inside = torch.where(X < 0.0, torch.zeros_like(X), torch.where(X > 1.0, torch.ones_like(X), X))
    return MARGIN + (1.0 - 2.0 * MARGIN) * inside
