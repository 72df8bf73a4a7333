"""The standard normal truncated from above, accurate however far the truncation reaches into the tail.

For w ~ N(0, 1) and a threshold γ, w given w ≤ γ has mean −r and variance F, where

    r(γ) = φ(γ)/Φ(γ)        F(γ) = 1 − γr − r² = 1 − r·q        q(γ) = γ + r,

with derivatives r' = −r·q, q' = F and F' = r(q² − F). Towards −∞ these differences cancel: F ≈ 1/γ², while its terms
grow like γ². There Laplace's continued fraction for r, with t = −γ and K_n = n/(t + K_{n+1}), gives

    q = K₁        F = q(t + 2K₂ − K₃) / ((t + K₂)(t + K₃))        F' = 2rq(t + 3K₃ − 2K₄) / ((t + K₂)(t + K₃)²(t + K₄)),

in which all terms are positive but for the last of each bracket, which is small. Elsewhere φ/Φ is formed from erfc,
whose relative accuracy is that of erfcx in this range, at a fifth of its cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from scorebo.acquisition.mixture import HALF_LOG_2PI, normal_cdf, normal_density

# Below this threshold the continued fraction is used: the plain formula has lost two digits here, and nine at −40.
TAIL = -5.0
# Below this erfc nears the least double; down to it log Φ has no differences to lose digits in.
LOG_TAIL = -30.0
# Levels of the continued fraction: rounding accuracy at `TAIL`, where it converges slowest.
DEPTH = 30


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
        value, ratio = log_cdf_with_slope(z, wanted=ctx.needs_input_grad[0])
        ctx.save_for_backward(ratio)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * ctx.saved_tensors[0]


def log_cdf_with_slope(z: Tensor, wanted: bool = True) -> tuple[Tensor, Tensor]:
    """The logarithm of Φ(z) and its slope r(z) (left at 0 unless `wanted`) at z of any shape, without gradients."""
    cdf = normal_cdf(z)
    value = cdf.log()
    ratio = normal_density(z) / cdf if wanted else torch.zeros(1, dtype=z.dtype).expand(z.shape)
    far = z < LOG_TAIL
    if bool(far.any()):
        at = z[far]
        slope = _far(at).ratio
        value[far] = -0.5 * at.square() - HALF_LOG_2PI - slope.log()
        if wanted:
            ratio[far] = slope
    return value, ratio


def terms(threshold: Tensor) -> Terms:
    """All four at thresholds of any shape, without gradients."""
    ratio = normal_density(threshold) / normal_cdf(threshold)
    excess = threshold + ratio
    factor = 1.0 - ratio * excess
    found = Terms(ratio, excess, factor, ratio * (excess.square() - factor))
    tail = threshold < TAIL
    if bool(tail.any()):
        for near, far in zip(found, _far(threshold[tail]), strict=True):
            near[tail] = far
    return found


def _far(threshold: Tensor) -> Terms:
    """The terms by the continued fraction, for γ ≤ `TAIL`."""
    t = -threshold
    below = torch.zeros_like(t)
    for n in range(DEPTH, 4, -1):
        below = n / (t + below)
    k4 = 4.0 / (t + below)
    k3 = 3.0 / (t + k4)
    k2 = 2.0 / (t + k3)
    excess = 1.0 / (t + k2)
    ratio = t + excess
    factor = excess * (t + 2.0 * k2 - k3) / ((t + k2) * (t + k3))
    slope = 2.0 * ratio * excess * (t + 3.0 * k3 - 2.0 * k4) / ((t + k2) * (t + k3).square() * (t + k4))
    return Terms(ratio, excess, factor, slope)


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
        root = root - (log_cdf(root) - target) / _far(root).ratio
    v[deep] = root
    return -v


__all__ = ["Terms", "log_cdf", "log_cdf_with_slope", "terms", "truncate", "truncated_quantile"]
