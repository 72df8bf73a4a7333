"""A truncated normal plus independent noise: what y is, given the optimum. Density and quantile function.

    y = m + d·w + ε        w ~ N(0, 1) given w ≥ −α        ε ~ N(0, R)

is an extended skew normal (Azzalini. A class of distributions which includes the normal ones. 1985). With V = d² + R,

    p(y) = N(y; m, V)·Φ(g)/Φ(α)        g = (αV + d(y − m))/√(RV).

The CDF is a bivariate normal probability, without a closed form; it is integrated from the density, once for all
levels, and its inverse interpolated. Its derivatives by the parameters do have closed forms, which give the quantiles
exact gradients by implicit differentiation: with w̄ = E[w|y] and x = (y − m + dα)/√R

    ∂y/∂m = 1    ∂y/∂d = w̄    ∂y/∂R = −½ p'(y)/p(y)    ∂y/∂α = φ(α)/Φ(α)·(u − Φ(x))/p(y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from scorebo._numba._vectorized import HALF_LOG_2PI
from scorebo.acquisition._interpolate import hermite
from scorebo.acquisition.mixture import normal_cdf
from scorebo.acquisition.truncation import log_cdf, log_cdf_with_slope, truncate, truncated_quantile

# Scores of the knots between which the quantile function is interpolated. The levels of `sobol_levels` lie within ±6.3.
LIMIT, SPACING = 7.5, 0.25
# Gauss–Legendre nodes in each interval: the mass of an interval is exact to about 1e-10 of it.
NODES, WEIGHTS = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(5))
# Noise variances below this fraction of V are raised to it: without any noise the density is not continuous.
LEAST_NOISE = 1e-12


@dataclass(frozen=True)
class SkewNormals:
    """C distributions at each of b points; m, d, R and α in this order, each `b x C`."""

    mean: Tensor
    shift: Tensor
    noise: Tensor
    threshold: Tensor

    @property
    def parameters(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """m, d, R and α."""
        return self.mean, self.shift, self.noise, self.threshold

    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and variance of each, `b x C` (or the common shape of the parameters)."""
        ratio, factor = truncate(self.threshold)
        return self.mean + self.shift * ratio, self.noise + self.shift.square() * factor

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each at y `b x (C or 1) x L`. `b x C x L`."""
        parts = self._at(y)
        constant = -0.5 * parts.variance.log() - HALF_LOG_2PI - log_cdf(self.threshold).unsqueeze(-1)
        return constant - 0.5 * parts.deviation.square() / parts.variance + log_cdf(parts.score)

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each at the levels u `L`, with Φ(−6.3) ≤ u ≤ Φ(6.3). `b x C x L`."""
        return _Quantile.apply(*self.parameters, u)

    def _at(self, y: Tensor) -> _Parts:
        mean, shift, noise, threshold = (parameter.unsqueeze(-1) for parameter in self.parameters)
        square = shift.square()
        noise = torch.maximum(noise, LEAST_NOISE * (square + noise))
        variance, deviation = square + noise, y - mean
        inverse_scale = (noise * variance).rsqrt()
        # g, as α√(V/R) plus a multiple of the deviation: one pass over the large tensor.
        score = threshold * variance * inverse_scale + (shift * inverse_scale) * deviation
        return _Parts(shift, noise, variance, deviation, score)

    def local(self, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log density, its slope p'(y)/p(y) and E[w|y] at y `b x C x L`, without gradients; each `b x C x L`."""
        parts = self._at(y)
        log_score, ratio = log_cdf_with_slope(parts.score)
        proportion = parts.deviation / parts.variance
        constant = -0.5 * parts.variance.log() - HALF_LOG_2PI - log_cdf(self.threshold).unsqueeze(-1)
        return (
            constant - 0.5 * parts.deviation * proportion + log_score,
            parts.shift * (parts.noise * parts.variance).rsqrt() * ratio - proportion,
            parts.shift * proportion + (parts.noise / parts.variance).sqrt() * ratio,
        )

    @torch.no_grad()
    def solve(self, u: Tensor) -> Tensor:
        """The quantiles by interpolation. `b x C x L`."""
        y, lower, upper = self._cdf_table()
        # Of the smaller tail, so that levels near 1 are as accurate as those near 0.
        score = torch.special.ndtri(torch.minimum(lower, upper)) * torch.where(lower < upper, 1.0, -1.0)
        # Derivatives of the quantile as a function of the score: y' = φ(z)/p and y'' = −y'(z + y'·p'/p).
        log_density, log_slope, _ = self.local(y)
        slope = (-0.5 * score.square() - HALF_LOG_2PI - log_density).exp()
        curvature = -slope * (score + slope * log_slope)
        return _interpolate(score, y, slope, curvature, torch.special.ndtri(u))

    def _cdf_table(self) -> tuple[Tensor, Tensor, Tensor]:
        """Knots, and the probabilities below and above each. Each `b x C x K`.

        The knots are the quantiles that the sum would have if both its terms were at the same level. Its spread is at
        most √2 times too wide, and it is narrow where the density has the sharp edge of a truncation with little noise.
        """
        mean, shift, noise, threshold = (parameter.unsqueeze(-1) for parameter in self.parameters)
        noise = torch.maximum(noise, LEAST_NOISE * (shift.square() + noise))
        score = torch.linspace(-LIMIT, LIMIT, round(2.0 * LIMIT / SPACING) + 1, dtype=torch.float64)
        sign = torch.where(shift < 0, -1.0, 1.0)
        y = mean + shift * truncated_quantile(sign * score, threshold) + noise.sqrt() * score
        half = 0.5 * y.diff(dim=-1).unsqueeze(-1)
        nodes = y[..., :-1, None] + half * (1.0 + NODES)
        density = self.log_prob(nodes.flatten(start_dim=-2)).exp().unflatten(-1, nodes.shape[-2:])
        mass = (half * density * WEIGHTS).sum(dim=-1)
        # Beyond the ends the density falls exponentially, to first order.
        ends = y[..., [0, -1]]
        log_density, log_slope, _ = self.local(ends)
        tails = log_density.exp() / log_slope.abs()
        lower = torch.cat([tails[..., :1], mass], dim=-1).cumsum(dim=-1)
        upper = torch.cat([mass, tails[..., 1:]], dim=-1).flip(-1).cumsum(dim=-1).flip(-1)
        total = lower[..., -1:] + tails[..., 1:]
        return y, lower / total, upper / total


class _Parts(NamedTuple):
    shift: Tensor
    noise: Tensor
    variance: Tensor
    deviation: Tensor
    score: Tensor


class _Quantile(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, shift: Tensor, noise: Tensor, threshold: Tensor, u: Tensor) -> Tensor:
        parts = SkewNormals(mean, shift, noise, threshold)
        y = parts.solve(u)
        if any(ctx.needs_input_grad):
            log_density, slope, expectation = parts.local(y)
            at = parts._at(y)
            edge = (at.deviation + at.shift * threshold.unsqueeze(-1)) * at.noise.rsqrt()
            # u − Φ(x), of the smaller tails.
            missing = torch.where(u < 0.5, u - normal_cdf(edge), normal_cdf(-edge) - (1.0 - u))
            density = log_density.exp()
            ratio, _ = truncate(threshold)
            by_threshold = ratio.unsqueeze(-1) * missing / torch.where(density > 0, density, torch.inf)
            ctx.save_for_backward(expectation, -0.5 * slope, by_threshold)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rest = ((gradient * coefficient).sum(dim=-1) for coefficient in ctx.saved_tensors)
        return (gradient.sum(dim=-1), *rest, None)


def _interpolate(score: Tensor, y: Tensor, slope: Tensor, curvature: Tensor, at: Tensor) -> Tensor:
    """Quintic Hermite interpolation of y over the knots `score` (each `b x C x K`) at the scores `at` `L`."""
    rows = (values.flatten(end_dim=-2).contiguous().numpy() for values in (score, y, slope, curvature))
    result = hermite(*rows, at.numpy(), at.argsort().numpy())
    return torch.from_numpy(result).unflatten(0, score.shape[:-1])


__all__ = ["SkewNormals"]
