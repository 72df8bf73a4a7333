"""Statistical distances between predictive distributions of y: closed forms, integrals over the mixture, estimators.

Hvarfner, Hellsten, Hutter, Nardi. Self-Correcting Bayesian Optimization through Bayesian Active Learning. NeurIPS
2023, appendices "Statistical distances" (its KL has typing errors; the formula here is the standard one) and "MC
approximation of SAL and SCoreBO", with the 1/L its sums lack and with the mixture's own quantile function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition import exact
from scorebo.acquisition.mixture import Mixture, Normals, affinity_deficit
from scorebo.acquisition.skew_normal import SkewNormals
from scorebo.errors import InputError, load_class


class Conditionals(Protocol):
    """C distributions of y at each of b points: components of the mixture themselves (SAL) or others (SCoreBO)."""

    def log_prob(self, y: Tensor) -> Tensor:
        """Log density of each at y `b x (C or 1) x L`. `b x C x L`."""

    def quantile(self, u: Tensor) -> Tensor:
        """Quantiles of each at the levels u `L`, differentiable. `b x C x L`."""


class Distance(ABC):
    """A distance between a conditional q(y) and the marginal p(y): in closed form, estimated, and exact if it can be.

    `acquisition.distance` names it: one of `DISTANCES`, or by its import path a class of your own, which is made
    without arguments.
    """

    # Whether the levels of `estimate` are those of draws from each component of the mixture.
    of_components: ClassVar[bool] = False

    @abstractmethod
    def closed_form(self, mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
        """Distances between normals, first the conditional, then the marginal, in the shape they broadcast to.

        Those below are accurate from nearly equal to wildly different normals. Equal normals are at distance exactly
        0, where the gradient of a distance with a kink (Hellinger, Wasserstein) is defined as 0.
        """

    @abstractmethod
    def estimate(self, conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
        """Quasi-Monte Carlo estimates of the distances between the conditionals and the mixture itself. `b x C`.

        Args:
            conditionals: C distributions at each of b points.
            mixture: of M normals, the marginal, at each of b points.
            u: levels in (0, 1), `L`, or `M x L` with `of_components`. They are fixed, so that an estimate is a smooth
                deterministic function of the moments, and its gradient that of the estimate itself.
        """

    def exact(self, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
        """The distances between the conditionals and the mixture itself by deterministic quadrature. `b x C`.

        Optional: a distance without it is refused with the estimator "exact". `scorebo.acquisition.exact` has the
        integrals of those below, of which others may be made.
        """
        raise InputError(f"The distance {type(self).__name__} has no method exact.")


def root(squared: Tensor) -> Tensor:
    """√max(x, 0) with gradient 0, not infinity, where x ≤ 0."""
    positive = squared > 0
    return torch.where(positive, torch.where(positive, squared, 1.0).sqrt(), 0.0)


class Hellinger(Distance):
    """Hellinger distance H (not H²): H² = 1 − √(2σ1σ2/(σ1²+σ2²)) exp(−¼(μ1−μ2)²/(σ1²+σ2²))."""

    of_components = True

    def closed_form(self, mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
        std1, std2 = variance1.sqrt(), variance2.sqrt()
        # (σ1²+σ2²)/(2σ1σ2) = 1 + (σ1−σ2)²/(2σ1σ2): nothing cancels when the normals are nearly equal.
        excess = _std_difference(std1, variance1, std2, variance2).square() / (2.0 * std1 * std2)
        log_affinity = -0.5 * excess.log1p() - 0.25 * (mean1 - mean2).square() / (variance1 + variance2)
        return root(-log_affinity.expm1())

    def estimate(self, conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
        """√(1 − mean_ℓ √(q(y_ℓ)/p(y_ℓ))), y_ℓ from p: every component's quantiles at its own levels u `M x L`."""
        y = mixture.components.quantile(u).flatten(start_dim=-2)
        log_mixture = mixture.log_prob(y)
        if isinstance(conditionals, Normals) and mixture.size > 1:  # A single component's own density is torch's.
            return root(affinity_deficit(conditionals, y, log_mixture))
        log_ratio = conditionals.log_prob(y.unsqueeze(-2)) - log_mixture.unsqueeze(-2)
        return root(-(0.5 * log_ratio).expm1().mean(dim=-1))

    def exact(self, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
        return root(exact.affinity_deficit(conditionals, mixture))


class Wasserstein(Distance):
    """Wasserstein-2 distance: √((μ1−μ2)² + (σ1−σ2)²)."""

    def closed_form(self, mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
        std_difference = _std_difference(variance1.sqrt(), variance1, variance2.sqrt(), variance2)
        return root((mean1 - mean2).square() + std_difference.square())

    def estimate(self, conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
        """√(mean_ℓ |Q⁻¹(u_ℓ) − P⁻¹(u_ℓ)|²)."""
        difference = conditionals.quantile(u) - mixture.quantile(u).unsqueeze(-2)
        return root(difference.square().mean(dim=-1))

    def exact(self, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
        return root(exact.squared_wasserstein(conditionals, mixture))


class KL(Distance):
    """KL(z1 ‖ z2), conditional first: log(σ2/σ1) + (σ1² + (μ1−μ2)²)/(2σ2²) − ½."""

    def closed_form(self, mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
        ratio = variance1 / variance2
        t = (variance1 - variance2) / variance2
        near = t.abs() < 0.1
        # With r = σ1²/σ2² = 1 + t the variances contribute ½(t − log r), which cancels to t²/4 when t is small, while
        # log1p(t) loses the digits of a small r: each branch is used where it is accurate.
        near_part = _t_minus_log1p(torch.where(near, t, 0.0))
        far_part = t - torch.where(near, 1.0, ratio).log()
        return 0.5 * (torch.where(near, near_part, far_part) + (mean1 - mean2).square() / variance2)

    def estimate(self, conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
        """mean_ℓ log q(y_ℓ)/p(y_ℓ), y_ℓ from the conditional q."""
        y = conditionals.quantile(u)
        log_mixture = mixture.log_prob(y.flatten(start_dim=-2)).reshape(y.shape)
        return (conditionals.log_prob(y) - log_mixture).mean(dim=-1)

    def exact(self, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
        return exact.kl(conditionals, mixture)


class ReverseKL(KL):
    """KL(z2 ‖ z1), marginal first."""

    of_components = True

    def closed_form(self, mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
        return super().closed_form(mean2, variance2, mean1, variance1)

    def estimate(self, conditionals: Conditionals, mixture: Mixture, u: Tensor) -> Tensor:
        """mean_ℓ log p(y_ℓ)/q(y_ℓ), y_ℓ from p: every component's quantiles at its own levels u `M x L`."""
        y = mixture.components.quantile(u).flatten(start_dim=-2)
        return (mixture.log_prob(y).unsqueeze(-2) - conditionals.log_prob(y.unsqueeze(-2))).mean(dim=-1)

    def exact(self, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
        return exact.reverse_kl(conditionals, mixture)


DISTANCES: dict[str, type[Distance]] = {
    "hellinger": Hellinger,
    "wasserstein": Wasserstein,
    "kl": KL,
    "reverse_kl": ReverseKL,
}


def load_distance(distance: str | type[Distance]) -> Distance:
    """The distance of this name or import path, or of this class."""
    return load_class("distance", distance, DISTANCES, Distance)()


def distance_to_mixture(
    distance: Distance, conditionals: Normals | SkewNormals, mixture: Mixture, levels: Tensor | None
) -> Tensor:
    """The distances by Monte Carlo with the levels, or without any the exact ones. `b x C`."""
    if levels is not None:
        return distance.estimate(conditionals, mixture, levels)
    if mixture.size == 1 and isinstance(conditionals, Normals):
        one = mixture.components
        return distance.closed_form(conditionals.mean, conditionals.variance, one.mean, one.variance)
    return distance.exact(conditionals, mixture)


def sobol_levels(num_samples: int, num_components: int | None, seed: int) -> Tensor:
    """Scrambled Sobol points u strictly inside (0, 1) for an estimator: `num_samples` levels, `L`.

    For draws from a mixture of M components (None otherwise) the samples are shared out: the same number (rounded up)
    in each, `M x L`, each component with levels of its own, because errors of shared levels would add up.
    """
    rows = num_components or 1
    u = SobolEngine(rows, scramble=True, seed=seed).draw(-(-num_samples // rows), dtype=torch.float64).mT
    # The engine has 30 bits: half of the last one keeps the levels off 0 and off the multiples of 1/M.
    return (u if num_components else u[0]) + 2.0**-31


def screening_levels(u: Tensor | None) -> Tensor | None:
    """The first eighth of the levels `... x L`, or 32 if that is more: Sobol points are balanced from the start."""
    return None if u is None else u[..., : max(32, u.shape[-1] // 8)]


def moment_match(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the equally weighted mixture of normals.

    Args:
        mean: `batch x M`.
        variance: `batch x M`.

    Returns:
        Two tensors `batch x 1`, equal to the component's own to the last bit when all components are equal.
    """
    mixture_mean = _mean(mean)
    return mixture_mean, _mean(variance) + (mean - mixture_mean).square().mean(dim=-1, keepdim=True)


def mean_moments(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of the means and of the variances, each `batch x M`: `moment_match` without the spread of the means."""
    return _mean(mean), _mean(variance)


def _mean(values: Tensor) -> Tensor:
    # Taken about the first value: a plain sum of equal values rounds when their number is not a power of two.
    first = values[..., :1]
    return first + (values - first).mean(dim=-1, keepdim=True)


def _std_difference(std1: Tensor, variance1: Tensor, std2: Tensor, variance2: Tensor) -> Tensor:
    # The difference of nearly equal variances is exact, that of their rounded roots is not.
    return (variance1 - variance2) / (std1 + std2)


def _t_minus_log1p(t: Tensor) -> Tensor:
    """Return t − log(1+t) for |t| ≤ 0.1 to full relative accuracy.

    With s = t/(2+t), log(1+t) = 2 artanh(s) = 2s + 2s(s²/3 + s⁴/5 + …) and t − 2s = st.
    """
    s = t / (2.0 + t)
    z = s.square()
    series = torch.zeros_like(z)
    for odd in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        series = z * (2.0 / odd + series)
    return s * (t - series)
