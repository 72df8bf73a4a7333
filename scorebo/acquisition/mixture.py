"""Normals, and the mixture of them that is the marginal p(y): density, CDF and quantile function."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from scorebo.acquisition.distances import moment_match

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
EPSILON = torch.finfo(torch.float64).eps
MAX_STEPS = 200


@dataclass(frozen=True)
class Normals:
    """C normals at each of b points, the mean and variance of each `b x C`."""

    mean: Tensor
    variance: Tensor

    def standardise(self, y: Tensor) -> Tensor:
        """(y − μ)/σ of y `b x (C or 1) x L`. `b x C x L`."""
        return (y - self.mean.unsqueeze(-1)) * self.variance.rsqrt().unsqueeze(-1)

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each normal at y `b x (C or 1) x L`. `b x C x L`."""
        return -0.5 * self.standardise(y).square() - (0.5 * self.variance.log() + HALF_LOG_2PI).unsqueeze(-1)

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
        return self.components.log_prob(y.unsqueeze(-2)).logsumexp(dim=-2) - math.log(self.size)

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each mixture at the levels u `L`; gradients by implicit differentiation. `b x L`."""
        y = self._solve(u)
        if not torch.is_grad_enabled():
            return y
        # One Newton step at the root, of which only the derivative is kept (dy = −dF(y)/p(y)): its value is rounding.
        cdf = normal_cdf(self.components.standardise(y.unsqueeze(-2))).mean(dim=-2)
        density = self.log_prob(y).exp().detach()
        # Where components are so far apart that no density is left between them, the quantile does not move.
        step = -cdf / torch.where(density > 0, density, torch.inf)
        return y + (step - step.detach())

    @torch.no_grad()
    def _solve(self, u: Tensor) -> Tensor:
        """Newton's method on Φ⁻¹(F(y)) = Φ⁻¹(u), kept within a bracket. `b x L`.

        On this scale F is a straight line for a normal and nearly one for a mixture of similar normals. The quantile
        lies between the least and the greatest of the components', where min(F, 1−F) ≥ min(u, 1−u)/M: no underflow.
        """
        part = self.components
        score = torch.special.ndtri(u)
        # The smaller tail is computed, so that levels near 1 are as accurate as those near 0.
        sign = torch.where(score > 0, -1.0, 1.0)
        quantiles = part.quantile(u)
        low, high = quantiles.amin(dim=-2), quantiles.amax(dim=-2)
        y = Normals(*moment_match(part.mean, part.variance)).quantile(u).squeeze(-2).clamp(low, high)
        result, rows = y.clone(), torch.arange(len(y))
        for _ in range(MAX_STEPS):
            z = part.standardise(y.unsqueeze(-2))
            reached = sign * torch.special.ndtri(normal_cdf(sign * z).mean(dim=-2))
            excess = reached - score
            high, low = torch.where(excess > 0, y, high), torch.where(excess > 0, low, y)
            slope = (normal_density(z) * part.variance.rsqrt().unsqueeze(-1)).mean(dim=-2) / normal_density(reached)
            newton = y - excess / slope
            inside = (newton > low) & (newton < high)
            # Convergence is quadratic: the step from an excess this small is the last one.
            done = (excess.abs() <= 1e-9) | (high - low <= 2.0 * EPSILON * torch.maximum(low.abs(), high.abs()))
            y = torch.where(inside, newton, torch.where(done, y, 0.5 * (low + high)))
            result[rows] = y
            left = ~done.all(dim=-1)
            if not bool(left.any()):
                break
            if not bool(left.all()):
                rows, y, low, high = rows[left], y[left], low[left], high[left]
                part = Normals(part.mean[left], part.variance[left])
        return result


def normal_cdf(z: Tensor) -> Tensor:
    """Φ(z), accurate to relative rounding in the lower tail."""
    return 0.5 * torch.erfc(-math.sqrt(0.5) * z)


def normal_density(z: Tensor) -> Tensor:
    """φ(z)."""
    return (-0.5 * z.square() - HALF_LOG_2PI).exp()
