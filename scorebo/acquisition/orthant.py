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

# Over all sites; about 7 are enough, and hardly ever 15 are needed.
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
def fit_sites(mean: Tensor, covariance: Tensor, tolerance: float = 1e-4) -> Sites:
    """Sites for z ~ N(mean, covariance) given z ≥ 0, updated one after the other.

    Args:
        mean: `B x n`.
        covariance: `B x n x n`, positive semi-definite with a positive diagonal.
        tolerance: largest change of a mean, in standard deviations, and largest relative change of a variance in the
            last sweep.
    """
    precision, shift = torch.zeros_like(mean), torch.zeros_like(mean)
    converged = torch.zeros(len(mean), dtype=torch.bool)
    moments = (part.numpy().copy() for part in (mean, covariance))
    fit_in_turn(*moments, tolerance, MAX_SWEEPS, precision.numpy(), shift.numpy(), converged.numpy())
    precision[~converged], shift[~converged] = 0.0, 0.0
    return Sites(precision, shift, converged)


def site_weights(covariance: Tensor, tau: Tensor) -> Tensor:
    """W = √T(I + √T·S·√T)⁻¹√T: the sites lower the covariance S by S·W·S. `B x n x n`."""
    scale = tau.sqrt()
    system = scale.unsqueeze(-1) * covariance * scale.unsqueeze(-2)
    system.diagonal(dim1=-2, dim2=-1).add_(1.0)
    factor, _ = torch.linalg.cholesky_ex(system)
    return scale.unsqueeze(-1) * torch.cholesky_inverse(factor) * scale.unsqueeze(-2)
