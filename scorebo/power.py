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


def most_likely_power(y: Tensor) -> float:
    """λ under which the transformed outputs `n` are most likely to be normal.

    Raises:
        InputError: outputs that this power makes infinite, or all the same.
    """
    from scipy.stats import yeojohnson_normmax  # half a second, which runs of other models need not spend

    with np.errstate(all="ignore"):  # what overflows on the way is judged by what comes out
        try:
            power = float(yeojohnson_normmax(y.numpy()))
        except (ValueError, RuntimeError, FloatingPointError):
            power = math.nan
    seen = transform(y, power)
    if not (bool(seen.isfinite().all()) and float(seen.std()) > RESOLUTION * float(seen.abs().max())):
        raise InputError(
            f"{len(y)} outputs from {float(y.min()):g} to {float(y.max()):g} cannot be transformed by Yeo and "
            f"Johnson's power transform: the most likely power is {power:g}. Choose model.yeo_johnson=false."
        )
    return power


def transform(y: Tensor, power: float) -> Tensor:
    """((y + 1)^λ − 1)/λ for y ≥ 0 and −((1 − y)^(2−λ) − 1)/(2 − λ) for y < 0; logarithms for exponents of 0."""
    return torch.where(y >= 0, _box_cox(y.clamp_min(0.0), power), -_box_cox((-y).clamp_min(0.0), 2.0 - power))


def untransform(z: Tensor, power: float) -> Tensor:
    """Inverse of `transform`; a value that it never takes becomes the largest (or least) finite number."""
    return torch.where(z >= 0, _from_box_cox(z.clamp_min(0.0), power), -_from_box_cox((-z).clamp_min(0.0), 2.0 - power))


def _box_cox(y: Tensor, power: float) -> Tensor:
    return y.log1p() if power == 0.0 else (power * y.log1p()).expm1() / power


def _from_box_cox(z: Tensor, power: float) -> Tensor:
    logarithm = z if power == 0.0 else (power * z).clamp_min(-1.0).log1p() / power
    return logarithm.expm1().clamp_max(torch.finfo(torch.float64).max)
