"""The standard normal truncated from above, accurate however far the truncation reaches into the tail.

For w ~ N(0, 1) and a threshold γ, w given w ≤ γ has mean −r and variance F, where

    r(γ) = φ(γ)/Φ(γ)        F(γ) = 1 − γr − r² = 1 − r·q        q(γ) = γ + r,

with derivatives r' = −r·q, q' = F and F' = r(q² − F). Towards −∞ these differences cancel: F ≈ 1/γ², while its terms
grow like γ². There Laplace's continued fraction for r, with t = −γ and K_n = n/(t + K_{n+1}), gives

    q = K₁        F = q(t + 2K₂ − K₃) / ((t + K₂)(t + K₃))        F' = 2rq(t + 3K₃ − 2K₄) / ((t + K₂)(t + K₃)²(t + K₄)),

in which all terms are positive but for the last of each bracket, which is small. Elsewhere φ/Φ is formed from erfcx.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from scorebo.acquisition import _truncation


class Terms(NamedTuple):
    """r, q, F and F' at each threshold."""

    ratio: Tensor
    excess: Tensor
    factor: Tensor
    slope: Tensor


def truncate(threshold: Tensor) -> tuple[Tensor, Tensor]:
    """r(γ) and F(γ), differentiable, of any shape: w ≤ γ has mean −r and variance F; so w ≥ −γ has mean r."""
    return _Truncate.apply(threshold)


def log_cdf(z: Tensor) -> Tensor:
    """The logarithm of Φ(z), differentiable (its slope is r), of any shape."""
    return _LogCDF.apply(z)


class _Truncate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, threshold: Tensor) -> tuple[Tensor, Tensor]:
        found = terms(threshold)
        ctx.save_for_backward(*found)
        return found.ratio, found.factor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, ratio_gradient: Tensor, factor_gradient: Tensor) -> Tensor:
        ratio, excess, _, slope = ctx.saved_tensors
        return factor_gradient * slope - ratio_gradient * ratio * excess


class _LogCDF(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        value, ratio = log_cdf_with_slope(z)
        ctx.save_for_backward(ratio)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * ctx.saved_tensors[0]


def log_cdf_with_slope(z: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm of Φ(z) and its slope r(z) at z of any shape, without gradients."""
    flat = z.detach().reshape(-1).contiguous().numpy()
    value, ratio = np.empty_like(flat), np.empty_like(flat)
    _truncation.log_cdf(flat, value, ratio)
    return torch.from_numpy(value).reshape(z.shape), torch.from_numpy(ratio).reshape(z.shape)


def terms(threshold: Tensor) -> Terms:
    """All four at thresholds of any shape, without gradients."""
    flat = threshold.detach().reshape(-1).contiguous().numpy()
    found = np.empty((4, len(flat)))
    _truncation.terms(flat, *found)
    return Terms(*torch.from_numpy(found).reshape(4, *threshold.shape))


def truncated_quantile(score: Tensor, threshold: Tensor) -> Tensor:
    """The score of w ≥ −α, not differentiable: Φ⁻¹(1 − Φ(α)(1 − u)) for u = Φ(score), accurate at both ends.

    Args:
        score: broadcast against `threshold`.
        threshold: α.
    """
    # w = −v with v ≤ α, and v is the point of the lower tail where Φ(v) = Φ(α)·Φ(−score).
    log_level = log_cdf(threshold) + log_cdf(-score)
    v = torch.special.ndtri(log_level.exp())
    deep = log_level < -600.0
    if not bool(deep.any()):
        return -v
    # Below the least double Newton's method on log Φ, which is nearly a parabola there, needs no more than a few steps.
    target = log_level[deep]
    root = -(-2.0 * target).sqrt()
    for _ in range(8):
        root = root - (log_cdf(root) - target) / terms(root).ratio
    v[deep] = root
    return -v


__all__ = ["Terms", "log_cdf", "log_cdf_with_slope", "terms", "truncate", "truncated_quantile"]
