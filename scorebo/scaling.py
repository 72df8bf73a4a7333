"""Between a task's own units and what the model sees: inputs in the unit box, outputs standardised and maximised."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from scorebo.errors import InputError


@dataclass(frozen=True)
class Scaling:
    """Affine maps of inputs and outputs, fixed by the task's box and the training outputs.

    Args:
        bounds: `2 x D` in the task's units.
        sign: +1 for a task that is maximised, −1 otherwise: the model sees sign · y.
        output_mean: mean of the training outputs, in the task's units and sign; 0 where they are not standardised.
        output_std: their (n − 1) standard deviation; 1 where they are not standardised.
    """

    bounds: Tensor
    sign: float
    output_mean: float
    output_std: float

    @classmethod
    def of(cls, bounds: Tensor, y: Tensor, *, maximize: bool, standardize: bool) -> Scaling:
        """The scaling for training outputs y (`n`, the task's units and sign)."""
        sign = 1.0 if maximize else -1.0
        if not standardize:
            return cls(bounds, sign, 0.0, 1.0)
        if bool((y == y[0]).all()):
            raise InputError(
                f"All {len(y)} observations equal {y[0].item():g}: constant outputs cannot be standardised. "
                "A larger initial design (benchmark.initial) may help."
            )
        spread = float(y.std())
        if not 0.0 < spread < math.inf:
            raise InputError(f"The observations' standard deviation is {spread:g}: they cannot be standardised.")
        return cls(bounds, sign, float(y.mean()), spread)

    def to_unit(self, X: Tensor) -> Tensor:
        """Inputs in the unit box. `batch x D`."""
        return (X - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    def from_unit(self, X: Tensor) -> Tensor:
        """Inputs in the task's units, never outside its box by rounding. `batch x D`."""
        points = self.bounds[0] + X * (self.bounds[1] - self.bounds[0])
        return torch.minimum(torch.maximum(points, self.bounds[0]), self.bounds[1])

    def to_model(self, y: Tensor) -> Tensor:
        """Outputs as the model sees them."""
        return self.sign * (y - self.output_mean) / self.output_std

    def from_model(self, y: Tensor) -> Tensor:
        """Outputs in the task's units and sign."""
        return self.output_mean + self.sign * self.output_std * y
