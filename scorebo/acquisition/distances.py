"""Closed-form distances between normals, given as means and variances, accurate from nearly equal to wildly different.

Hvarfner, Hellsten, Hutter, Nardi. Self-Correcting Bayesian Optimization through Bayesian Active Learning. NeurIPS
2023, appendix "Statistical distances" (its KL has typing errors; the formula here is the standard one).

Every function takes means and (positive) variances that broadcast against each other, first those of the conditional,
then those of the marginal, and returns the distances in the broadcast shape. Equal normals are at distance exactly 0,
where the gradient of a distance with a kink (Hellinger, Wasserstein) is defined as 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Distance = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def root(squared: Tensor) -> Tensor:
    """√max(x, 0) with gradient 0, not infinity, where x ≤ 0."""
    positive = squared > 0
    return torch.where(positive, torch.where(positive, squared, 1.0).sqrt(), 0.0)


def hellinger(mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
    """Hellinger distance H (not H²): H² = 1 − √(2σ1σ2/(σ1²+σ2²)) exp(−¼(μ1−μ2)²/(σ1²+σ2²))."""
    std1, std2 = variance1.sqrt(), variance2.sqrt()
    # (σ1²+σ2²)/(2σ1σ2) = 1 + (σ1−σ2)²/(2σ1σ2): nothing cancels when the normals are nearly equal.
    excess = _std_difference(std1, variance1, std2, variance2).square() / (2.0 * std1 * std2)
    log_affinity = -0.5 * excess.log1p() - 0.25 * (mean1 - mean2).square() / (variance1 + variance2)
    return root(-log_affinity.expm1())


def wasserstein(mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
    """Wasserstein-2 distance: √((μ1−μ2)² + (σ1−σ2)²)."""
    std_difference = _std_difference(variance1.sqrt(), variance1, variance2.sqrt(), variance2)
    return root((mean1 - mean2).square() + std_difference.square())


def kl(mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
    """KL(z1 ‖ z2), conditional first: log(σ2/σ1) + (σ1² + (μ1−μ2)²)/(2σ2²) − ½."""
    ratio = variance1 / variance2
    t = (variance1 - variance2) / variance2
    near = t.abs() < 0.1
    # With r = σ1²/σ2² = 1 + t the variances contribute ½(t − log r), which cancels to t²/4 when t is small, while
    # log1p(t) loses the digits of a small r: each branch is used where it is accurate.
    near_part = _t_minus_log1p(torch.where(near, t, 0.0))
    far_part = t - torch.where(near, 1.0, ratio).log()
    return 0.5 * (torch.where(near, near_part, far_part) + (mean1 - mean2).square() / variance2)


def squared_mean_difference(mean1: Tensor, variance1: Tensor, mean2: Tensor, variance2: Tensor) -> Tensor:
    """(μ1−μ2)²: the distance with which SAL is BQBC."""
    return (mean1 - mean2).square() + 0.0 * (variance1 + variance2)


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


DISTANCES: dict[str, Distance] = {"hellinger": hellinger, "wasserstein": wasserstein, "kl": kl}
