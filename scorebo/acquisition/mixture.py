"""Normals, and the mixture of them that is the marginal p(y): density, CDF and quantile function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scorebo._numba._vectorized import HALF_LOG_2PI, ROOT_HALF
from scorebo.acquisition import _mixture, _quantiles
from scorebo.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Normals:
    """C normals at each of b points, the mean and variance of each `b x C`."""

    mean: Tensor
    variance: Tensor

    def standardize(self, y: Tensor) -> Tensor:
        """(y − μ)/σ of y `b x (C or 1) x L`. `b x C x L`."""
        return (y - self.mean.unsqueeze(-1)) * self.variance.rsqrt().unsqueeze(-1)

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each normal at y `b x (C or 1) x L`. `b x C x L`."""
        return -0.5 * self.standardize(y).square() - (0.5 * self.variance.log() + HALF_LOG_2PI).unsqueeze(-1)

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each normal at the levels u `L`. `b x C x L`."""
        return self.mean.unsqueeze(-1) + self.variance.sqrt().unsqueeze(-1) * torch.special.ndtri(u)


@dataclass(frozen=True)
class Mixture:
    """At each of b points the equally weighted mixture of M normals."""

    components: Normals

    @property
    def size(self) -> int:
        """Number of components M."""
        return self.components.mean.shape[-1]

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each mixture at its own points y `b x L`. `b x L`."""
        if self.size == 1:  # To the last bit that of its component: the two are at distance 0.
            return self.components.log_prob(y.unsqueeze(-2)).squeeze(-2)
        return _LogProb.apply(self.components.mean, self.components.variance, y)

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each mixture at the levels u `L`; gradients by implicit differentiation. `b x L`."""
        if self.size == 1:
            return self.components.quantile(u).squeeze(-2)
        return _Quantile.apply(self.components.mean, self.components.variance, u)


def affinity_deficit(normals: Normals, y: Tensor, log_density: Tensor) -> Tensor:
    """mean_ℓ (1 − √(q(y_ℓ)/p(y_ℓ))) of C normals q, from the log density of p at its own points y `b x L`. `b x C`."""
    return _AffinityDeficit.apply(normals.mean, normals.variance, y, log_density)


class _LogProb(torch.autograd.Function):
    """`_mixture.log_prob` of means and variances `b x M` at y `b x L`."""

    @staticmethod
    def forward(context: Any, mean: Tensor, variance: Tensor, y: Tensor) -> Tensor:
        arrays = _arrays(mean, 1.0 / variance, y)
        log_density = _mixture.log_prob(*arrays)
        context.arrays = (*arrays, log_density)
        return torch.from_numpy(log_density)

    @staticmethod
    def backward(context: Any, *weight: Tensor) -> tuple[Tensor, ...]:
        _check_order()
        return _tensors(_mixture.log_prob_gradient(*context.arrays, *_arrays(*weight)))


class _AffinityDeficit(torch.autograd.Function):
    """`_mixture.affinity_deficits` of means and variances `b x C` at y and log densities `b x L`."""

    @staticmethod
    def forward(context: Any, mean: Tensor, variance: Tensor, y: Tensor, log_density: Tensor) -> Tensor:
        context.arrays = _arrays(mean, 1.0 / variance, y, log_density)
        return torch.from_numpy(_mixture.affinity_deficits(*context.arrays))

    @staticmethod
    def backward(context: Any, *weight: Tensor) -> tuple[Tensor, ...]:
        _check_order()
        return _tensors(_mixture.affinity_deficits_gradient(*context.arrays, *_arrays(*weight)))


class _Quantile(torch.autograd.Function):
    """`_quantiles.quantiles` of means and variances `b x M` at the levels u `L`."""

    @staticmethod
    def forward(context: Any, mean: Tensor, variance: Tensor, u: Tensor) -> Tensor:
        score, order = torch.special.ndtri(u).sort()
        moments = _arrays(mean, 1.0 / variance)
        y = torch.from_numpy(_quantiles.quantiles(*moments, *_arrays(score)))[:, order.argsort()]
        context.arrays = (*moments, *_arrays(y))
        return y

    @staticmethod
    def backward(context: Any, *weight: Tensor) -> tuple[Tensor | None, ...]:
        _check_order()
        log_density = _mixture.log_prob(*context.arrays)
        gradients = _quantiles.quantiles_gradient(*context.arrays, log_density, *_arrays(*weight))
        return *_tensors(gradients), None


def _check_order() -> None:
    """Refuse a derivative of a derivative, which would silently lack its compiled parts."""
    if torch.is_grad_enabled():
        raise InputError("Distances to the mixture have first derivatives only.")


def _arrays(*tensors: Tensor) -> tuple[Array, ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _tensors(arrays: tuple[Array, ...]) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(array) for array in arrays)


def normal_cdf(z: Tensor) -> Tensor:
    """Φ(z), accurate to relative rounding in the lower tail."""
    return 0.5 * torch.erfc(-ROOT_HALF * z)
