"""Yeo and Johnson's power transform of outputs: monotone, of numbers of either sign, and normal-making where it can be.

Yeo, Johnson. A new family of power transformations to improve normality or symmetry. Biometrika 2000.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError

# Least standard deviation of transformed outputs, relative to the largest of them: below it is rounding.
RESOLUTION = 1e-12
# Outputs in a narrow band far from 0 may have a most likely power that leaves less. The likelihood has one peak: of the
# powers that leave more the nearest is the most likely. It is sought towards 1, which changes nothing.
FINE_RESOLUTION, SHARES = 1e-8, 0.9 ** np.arange(1, 31)


def most_likely_power(y: Tensor) -> float:
    """λ under which the transformed outputs `n` are most likely to be normal, of those that rounding allows.

    Raises:
        InputError: outputs that such powers make infinite, or all the same.
    """
    from scipy.stats import yeojohnson_normmax  # half a second, which runs of other models need not spend

    with np.errstate(all="ignore"):  # what overflows on the way is judged by what comes out
        try:
            power = float(yeojohnson_normmax(y.numpy()))
        except (ValueError, RuntimeError, FloatingPointError):
            power = math.nan
    if _keeps_apart(y, power, RESOLUTION):
        return power
    for nearer in (1.0 + (power - 1.0) * SHARES).tolist():
        if _keeps_apart(y, nearer, FINE_RESOLUTION):
            return nearer
    raise InputError(
        f"{len(y)} outputs from {float(y.min()):g} to {float(y.max()):g} cannot be transformed by Yeo and "
        f"Johnson's power transform: the most likely power is {power:g}. Choose model.yeo_johnson=false."
    )


def _keeps_apart(y: Tensor, power: float, resolution: float) -> bool:
    seen = transform(y, power)
    return bool(seen.isfinite().all()) and math.inf > float(seen.std()) > resolution * float(seen.abs().max())


def transform(y: Tensor, power: float) -> Tensor:
    """((y + 1)^λ − 1)/λ for y ≥ 0 and −((1 − y)^(2−λ) − 1)/(2 − λ) for y < 0; logarithms for exponents of 0."""
    return torch.where(y >= 0, _box_cox(y.clamp_min(0.0), power), -_box_cox((-y).clamp_min(0.0), 2.0 - power))


def log_derivative(y: Tensor, power: float) -> Tensor:
    """Logarithm of the derivative of `transform`, which is (1 + |y|)^(λ−1) for y ≥ 0 and (1 + |y|)^(1−λ) for y < 0."""
    return (power - 1.0) * y.sign() * y.abs().log1p()


def untransform(z: Tensor, power: float) -> Tensor:
    """Inverse of `transform`; a value that it never takes becomes the largest (or least) finite number."""
    return torch.where(z >= 0, _from_box_cox(z.clamp_min(0.0), power), -_from_box_cox((-z).clamp_min(0.0), 2.0 - power))


def _box_cox(y: Tensor, power: float) -> Tensor:
    return y.log1p() if power == 0.0 else (power * y.log1p()).expm1() / power


def _from_box_cox(z: Tensor, power: float) -> Tensor:
    logarithm = z if power == 0.0 else (power * z).clamp_min(-1.0).log1p() / power
    return logarithm.expm1().clamp_max(torch.finfo(torch.float64).max)
