"""Quasi-Monte Carlo distances between conditionals q and the true mixture p.

Hvarfner et al., NeurIPS 2023, appendix "MC approximation of SAL and SCoreBO", with the 1/L its sums lack and with the
mixture's own quantile function. The conditionals may be the mixture's components themselves (SAL) or others (SCoreBO):
all that is asked of them is a log density and a quantile function. The levels u are fixed, so that an estimate is a
smooth deterministic function of the moments, and its gradient that of the estimate itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition.distances import root
from scorebo.acquisition.mixture import Mixture, Normals, affinity_deficit


class Conditionals(Protocol):
    """C distributions of y at each of b points."""

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each at y `b x (C or 1) x L`. `b x C x L`."""

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each at the levels u `L`, differentiable. `b x C x L`."""


def hellinger(conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
    """√(1 − mean_ℓ √(q(y_ℓ)/p(y_ℓ))), y_ℓ from p: every component's quantiles at its own levels u `M x L`. `b x C`."""
    y = mixture.components.quantile(u).flatten(start_dim=-2)
    log_mixture = mixture.log_prob(y)
    if isinstance(conditionals, Normals) and mixture.size > 1:  # A single component's own density is torch's.
        return root(affinity_deficit(conditionals, y, log_mixture))
    log_ratio = conditionals.log_prob(y.unsqueeze(-2)) - log_mixture.unsqueeze(-2)
    return root(-(0.5 * log_ratio).expm1().mean(dim=-1))


def wasserstein(conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
    """√(mean_ℓ |Q⁻¹(u_ℓ) − P⁻¹(u_ℓ)|²). `b x C`."""
    difference = conditionals.quantile(u) - mixture.quantile(u).unsqueeze(-2)
    return root(difference.square().mean(dim=-1))


def kl(conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
    """KL(q ‖ p) as mean_ℓ log q(y_ℓ)/p(y_ℓ), y_ℓ from the conditional q. `b x C`."""
    y = conditionals.quantile(u)
    log_mixture = mixture.log_prob(y.flatten(start_dim=-2)).reshape(y.shape)
    return (conditionals.log_prob(y) - log_mixture).mean(dim=-1)


ESTIMATORS: dict[str, Callable[[Conditionals, Mixture, Tensor], Tensor]] = {
    "hellinger": hellinger,
    "wasserstein": wasserstein,
    "kl": kl,
}


def sobol_levels(distance: str, num_samples: int, num_components: int, seed: int) -> Tensor:
    """The scrambled Sobol points u, strictly inside (0, 1), that an estimator of `distance` needs.

    For Hellinger `num_samples` counts draws from the mixture: the same number L (rounded up) in each of M components,
    `M x L`, each component with levels of its own, because errors of shared levels would add up. For the others it
    counts the levels, `L`.
    """
    if distance == "hellinger":
        count = -(-num_samples // num_components)
        u = SobolEngine(num_components, scramble=True, seed=seed).draw(count, dtype=torch.float64).mT
    else:
        u = SobolEngine(1, scramble=True, seed=seed).draw(num_samples, dtype=torch.float64)[:, 0]
    # The engine has 30 bits: half of the last one keeps the levels off 0 and off the multiples of 1/M.
    return u + 2.0**-31


def screening_levels(u: Tensor) -> Tensor:
    """The first eighth of the levels `... x L`, or 32 if that is more: Sobol points are balanced from the start."""
    return u[..., : max(32, u.shape[-1] // 8)]
