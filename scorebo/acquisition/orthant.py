"""Expectation propagation for a normal vector known to be positive in every coordinate.

Minka. Expectation propagation for approximate Bayesian inference. UAI 2001.
Cunningham, Hennig, Lacoste-Julien. Gaussian probabilities and expectation propagation. 2011.

Each constraint z_i ≥ 0 is replaced by a normal site exp(ν_i z_i − ½τ_i z_i²) whose first two moments, together with all
other sites, are those of the constraint itself. The constraints are log-concave: every τ_i is positive, and the
covariance never has to be inverted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scorebo.acquisition._orthant import fit_in_turn
from scorebo.acquisition.truncation import terms

DAMPING = 0.8
# Of updates one after the other, which take about 7 and hardly ever 15.
MAX_SWEEPS = 100


@dataclass(frozen=True)
class Sites:
    """The sites of B problems in n coordinates.

    Attributes:
        precision: τ, `B x n`.
        shift: ν, `B x n`.
        converged: whether the moments settled, `B`; where they did not the sites are 0, as if nothing were known.
    """

    precision: Tensor
    shift: Tensor
    converged: Tensor


@torch.no_grad()
def fit_sites(mean: Tensor, covariance: Tensor, tolerance: float = 1e-4, max_iterations: int = 100) -> Sites:
    """Sites for z ~ N(mean, covariance) given z ≥ 0, all updated together, with damping; where this fails, in turn.

    Args:
        mean: `B x n`.
        covariance: `B x n x n`, positive semi-definite with a positive diagonal.
        tolerance: largest change of a mean, in standard deviations, and largest relative change of a variance in the
            last iteration.
        max_iterations: after which the sites of a problem are updated one after the other.
    """
    precision, shift = torch.zeros_like(mean), torch.zeros_like(mean)
    converged = torch.zeros(len(mean), dtype=torch.bool)
    left = torch.arange(len(mean))
    tau, nu, located, spread = precision, shift, mean, covariance.diagonal(dim1=-2, dim2=-1)
    for _ in range(max_iterations):
        new_tau, new_nu = _match(located, spread, tau, nu)
        tau, nu = tau + DAMPING * (new_tau - tau), nu + DAMPING * (new_nu - nu)
        before, width = located, spread
        located, spread = _marginals(mean[left], covariance[left], tau, nu)
        usable = located.isfinite().all(-1) & (spread > 0).all(-1) & tau.isfinite().all(-1)
        moved = torch.maximum((located - before).abs() / spread.sqrt(), (spread - width).abs() / spread).amax(-1)
        done = usable & (moved <= tolerance)
        precision[left[done]], shift[left[done]], converged[left[done]] = tau[done], nu[done], True
        stay = usable & ~done
        left, tau, nu, located, spread = (part[stay] for part in (left, tau, nu, located, spread))
        if len(left) == 0:
            break
    failed = (~converged).nonzero().squeeze(-1)
    precision[failed], shift[failed], converged[failed] = _fit_in_turn(mean[failed], covariance[failed], tolerance)
    return Sites(precision, shift, converged)


def _fit_in_turn(mean: Tensor, covariance: Tensor, tolerance: float) -> tuple[Tensor, Tensor, Tensor]:
    """The three parts of `Sites`, by updates one after the other."""
    precision, shift = torch.zeros_like(mean), torch.zeros_like(mean)
    converged = torch.zeros(len(mean), dtype=torch.bool)
    moments = (part.numpy().copy() for part in (mean, covariance))
    fit_in_turn(*moments, tolerance, MAX_SWEEPS, precision.numpy(), shift.numpy(), converged.numpy())
    precision[~converged], shift[~converged] = 0.0, 0.0
    return precision, shift, converged


def _match(mean: Tensor, variance: Tensor, tau: Tensor, nu: Tensor) -> tuple[Tensor, Tensor]:
    """The sites that give each coordinate the moments of its constraint under the cavity, which leaves the site out."""
    cavity_variance = 1.0 / (1.0 / variance - tau)
    cavity_std = cavity_variance.sqrt()
    threshold = cavity_variance * (mean / variance - nu) / cavity_std
    ratio, excess, factor, _ = terms(threshold)
    # Of the truncated moments μ + σr and σ²F, without their differences: 1 − F = rq and 1 + γq = F + q².
    scaled = ratio / factor
    return scaled * excess / cavity_variance, scaled * (factor + excess.square()) / cavity_std


def _marginals(mean: Tensor, covariance: Tensor, tau: Tensor, nu: Tensor) -> tuple[Tensor, Tensor]:
    """Means and variances of z under the sites. `B x n` each."""
    root = whitened_sites(covariance, tau)
    reduced = root @ covariance
    variance = covariance.diagonal(dim1=-2, dim2=-1) - reduced.square().sum(dim=-2)
    force = (nu - tau * mean).unsqueeze(-1)
    # Σ·force with Σ = S − S·W·S.
    moved = covariance @ force - reduced.mT @ (reduced @ force)
    return mean + moved.squeeze(-1), variance


def whitened_sites(covariance: Tensor, tau: Tensor) -> Tensor:
    """U with UᵀU = W = √T(I + √T·S·√T)⁻¹√T: the sites lower the covariance S by S·W·S. `B x n x n`."""
    scale = tau.sqrt()
    system = scale.unsqueeze(-1) * covariance * scale.unsqueeze(-2)
    system.diagonal(dim1=-2, dim2=-1).add_(1.0)
    factor, _ = torch.linalg.cholesky_ex(system)
    return torch.linalg.solve_triangular(factor, torch.diag_embed(scale), upper=False)
