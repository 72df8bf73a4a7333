"""Exact distances to the mixture: one-dimensional integrals by deterministic quadrature, with their gradients.

An integral is a sum over the nodes of a grid that is made for each point, of functions of the log density of a
conditional and of the mixture; nodes do not depend on what is differentiated. Errors of the distances are below 1e-4
(`scripts/validation/exact_distances.py` measures them), in what is met in runs below 1e-6.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scorebo.acquisition import _grid, _integrals, _transport
from scorebo.acquisition.mixture import Mixture, Normals, _arrays, _check_order
from scorebo.acquisition.skew_normal import SkewNormals

# Of the mixture's log density between the nodes of its panels.
TOLERANCE = 1e-3
_WASSERSTEIN = -1  # beside the kinds of `_integrals`


def affinity_deficit(conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
    """1 − ∫ √(q p) for each of the conditionals q. `b x C`."""
    return _integral(_integrals.AFFINITY, conditionals, mixture)


def kl(conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
    """∫ q log(q/p) for each of the conditionals q. `b x C`."""
    return _integral(_integrals.KL, conditionals, mixture)


def reverse_kl(conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
    """∫ p log(p/q) for each of the conditionals q. `b x C`."""
    return _integral(_integrals.REVERSE_KL, conditionals, mixture)


def squared_wasserstein(conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
    """∫ (Q⁻¹(u) − P⁻¹(u))² du for each of the conditionals q. `b x C`."""
    return _integral(_WASSERSTEIN, conditionals, mixture)


def _integral(kind: int, conditionals: Normals | SkewNormals, mixture: Mixture) -> Tensor:
    components = mixture.components
    return _Integral.apply(_parameters(conditionals), components.mean, components.variance, kind)


def _parameters(conditionals: Normals | SkewNormals) -> Tensor:
    """m, d, R and α, `4 x b x C`; of normals d is 0."""
    if isinstance(conditionals, SkewNormals):
        return torch.stack(conditionals.parameters)
    zero = torch.zeros_like(conditionals.mean)
    return torch.stack([conditionals.mean, zero, conditionals.variance, zero])


class _Integral(torch.autograd.Function):
    """`_integrals.integrals` of conditionals `4 x b x C` and a mixture's means and variances `b x M`. `b x C`."""

    @staticmethod
    def forward(context: Any, parameters: Tensor, mean: Tensor, variance: Tensor, kind: int) -> Tensor:
        wanted, *moments = _arrays(parameters, mean, 1.0 / variance)
        first, left, width, y, log_density, powers = _grid.panels(*moments, *_integrals.supports(wanted), TOLERANCE)
        gradient = any(context.needs_input_grad)
        mass = 0.5 if kind == _integrals.AFFINITY else 0.0
        if kind == _WASSERSTEIN:
            score = _transport.scores(*moments, first, y)
            found = _transport.transports(wanted, first, width, y, log_density, score, gradient)
        else:
            found = _integrals.integrals(kind, wanted, first, left, width, y, log_density, powers, gradient)
        value, by_parameters, by_nodes = found
        if mass:
            value += mass * _grid.masses(first, width, log_density)[:, None]
        context.arrays = (*moments, first, width, y, log_density, by_nodes)
        context.options = mass, kind == _WASSERSTEIN
        context.by_parameters = by_parameters
        return torch.from_numpy(value)

    @staticmethod
    def backward(context: Any, *weight: Tensor) -> tuple[Tensor | None, ...]:
        _check_order()
        (weights,) = _arrays(*weight)
        by_mean, by_variance = _grid.gradient(*context.arrays, weights, *context.options)
        by_parameters = torch.from_numpy(context.by_parameters) * weight[0]
        return by_parameters, torch.from_numpy(by_mean), torch.from_numpy(by_variance), None
