"""Between a task's own units and what the model sees: inputs in the unit box, outputs standardized and maximized."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from scorebo.errors import InputError
from scorebo.transforms.yeo_johnson import log_derivative, most_likely_power, transform, untransform


@dataclass(frozen=True)
class DataTransform:
    """Maps of inputs and outputs, fixed by the task's box and the training outputs; affine but for a power transform.

    Args:
        bounds: `2 x D` in the task's units.
        sign: +1 for a task that is maximized, −1 otherwise: the model sees sign · y.
        output_mean: mean of the training outputs, in the task's units and sign; 0 where they are not standardized. Of
            the transformed ones where there is a power.
        output_std: their (n − 1) standard deviation; 1 where they are not standardized.
        yeo_johnson_lambda: λ of Yeo and Johnson's transform of the outputs; None where they are not transformed.
    """

    bounds: Tensor
    sign: float
    output_mean: float
    output_std: float
    yeo_johnson_lambda: float | None = None

    @classmethod
    def of(
        cls, bounds: Tensor, y: Tensor, *, maximize: bool, standardize: bool, yeo_johnson: bool = False
    ) -> DataTransform:
        """The scaling for training outputs y (`n`, the task's units and sign).

        With `yeo_johnson` they are transformed by the power under which they are most likely to be normal, and then
        standardized.
        """
        sign = 1.0 if maximize else -1.0
        if not standardize:
            return cls(bounds, sign, 0.0, 1.0)
        if bool((y == y[0]).all()):
            raise InputError(
                f"All {len(y)} observations equal {y[0].item():g}: constant outputs cannot be standardized. "
                "A larger initial design (benchmark.initial) may help."
            )
        power = most_likely_power(y) if yeo_johnson else None
        seen = y if power is None else transform(y, power)
        spread = float(seen.std())
        if not 0.0 < spread < math.inf:
            raise InputError(f"The observations' standard deviation is {spread:g}: they cannot be standardized.")
        return cls(bounds, sign, float(seen.mean()), spread, power)

    def to_unit(self, X: Tensor) -> Tensor:
        """Inputs in the unit box. `batch x D`."""
        return (X - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    def from_unit(self, X: Tensor) -> Tensor:
        """Inputs in the task's units, never outside its box by rounding. `batch x D`."""
        points = self.bounds[0] + X * (self.bounds[1] - self.bounds[0])
        return torch.minimum(torch.maximum(points, self.bounds[0]), self.bounds[1])

    def to_model(self, y: Tensor) -> Tensor:
        """Outputs as the model sees them."""
        seen = y if self.yeo_johnson_lambda is None else transform(y, self.yeo_johnson_lambda)
        return self.sign * (seen - self.output_mean) / self.output_std

    def mean_log_derivative(self, y: Tensor) -> float:
        """Mean of log |d to_model(y)/dy|: what a log density on the model's scale lacks to one in the task's units."""
        of_power = 0.0 if self.yeo_johnson_lambda is None else float(log_derivative(y, self.yeo_johnson_lambda).mean())
        return of_power - math.log(self.output_std)

    def from_model(self, y: Tensor) -> Tensor:
        """Outputs in the task's units and sign; a prediction beyond what a power can reach is taken to be there."""
        seen = self.output_mean + self.sign * self.output_std * y
        return seen if self.yeo_johnson_lambda is None else untransform(seen, self.yeo_johnson_lambda)
