"""Hyperparameters of mixed scales on a unit box: what a model should see, and what a user reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebo.errors import InputError, check_choice

Array = np.ndarray


@dataclass(frozen=True)
class Parameter:
    """One hyperparameter: a unit interval is stretched to [lower, upper], evenly in its own value or in its logarithm.

    Whole numbers get equal shares of the interval: it is stretched by half a unit at both ends, then rounded.
    """

    name: str
    lower: float
    upper: float
    log: bool = False
    integer: bool = False

    def __post_init__(self) -> None:
        numbers = all(isinstance(end, int | float) for end in (self.lower, self.upper))
        if not numbers or not -np.inf < self.lower < self.upper < np.inf or (self.log and self.lower <= 0.0):
            positive = ", both above 0" if self.log else ""
            raise InputError(
                f"Parameter '{self.name}' must have a finite lower below its upper{positive}, "
                f"got {self.lower!r} and {self.upper!r}."
            )

    def decode(self, unit: Array) -> Array:
        """Values of the parameter for numbers in [0, 1]."""
        half = 0.5 if self.integer else 0.0
        lower, upper = self.lower - half, self.upper + half
        value = lower * (upper / lower) ** unit if self.log else lower + unit * (upper - lower)
        return np.clip(np.rint(value) if self.integer else value, self.lower, self.upper)


def parameters(settings: Mapping[str, Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """The parameters that a config lists by name, with `lower`, `upper` and, where it is so, `log` and `integer`."""
    for name, given in settings.items():
        for setting in given:
            check_choice(f"setting of parameter '{name}'", setting, ("lower", "upper", "log", "integer"))
    return tuple(Parameter(name, **given) for name, given in settings.items())


def decode(space: tuple[Parameter, ...], X: Array) -> Array:
    """Values of all parameters, `n x D`, for points of the unit box, `n x D`."""
    return np.column_stack([parameter.decode(X[:, i]) for i, parameter in enumerate(space)])
