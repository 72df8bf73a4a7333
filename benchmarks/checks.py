"""What may go into a task and what may come out of it; every message names the task."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import scorebo.search.box
from scorebo.errors import InputError, describe_point

# DataTransform from the unit box and back may pass a bound by a few roundings; such points are moved onto it.
ROUNDING = 1e-10


def check_bounds(name: str, bounds: Any, dim: Any) -> Tensor:
    """The task's box as a `2 x D` float64 tensor."""
    try:
        box = scorebo.search.box.check_bounds(bounds).clone()
    except InputError as error:
        raise InputError(f"Task '{name}': {error}") from error
    if dim is not None and dim != box.shape[1]:
        raise InputError(f"Task '{name}' has dim {dim!r}, but its bounds have {box.shape[1]} coordinates.")
    return box


def check_inputs(name: str, X: Any, lower: Tensor, upper: Tensor) -> Tensor:
    """X as an `n x D` float64 tensor whose rows all lie in the box."""
    try:
        points = torch.as_tensor(X).to(torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"Task '{name}' takes an n x {len(lower)} tensor, got {type(X).__name__}.") from error
    if points.ndim != 2 or points.shape[1] != len(lower):
        raise InputError(f"Task '{name}' takes X of shape n x {len(lower)}, got {tuple(points.shape)}.")
    slack = ROUNDING * (upper - lower)
    outside = ~((points >= lower - slack) & (points <= upper + slack))  # a NaN is outside
    if outside.any():
        row, column = (int(i) for i in outside.nonzero()[0])
        raise InputError(
            f"X outside the box of task '{name}': coordinate {column + 1} of point {row + 1} is "
            f"{points[row, column].item():.10g}, its bounds are [{lower[column].item():.10g}, "
            f"{upper[column].item():.10g}]."
        )
    return torch.clamp(points, lower, upper)


def check_outputs(name: str, X: Tensor, values: Any) -> Tensor:
    """`values` if they are what a task returns for X: `n` finite float64 numbers."""
    expected = f"a float64 tensor of shape ({len(X)},)"
    if not isinstance(values, Tensor):
        raise InputError(f"Task '{name}' must return {expected}, it returned {type(values).__name__}.")
    if values.shape != (len(X),):
        raise InputError(f"Task '{name}' must return {expected}, it returned shape {tuple(values.shape)}.")
    if values.dtype != torch.float64:
        raise InputError(f"Task '{name}' must return {expected}, it returned {values.dtype}.")
    if not values.isfinite().all():
        row = int((~values.isfinite()).nonzero()[0, 0])
        raise InputError(f"Task '{name}' returned {values[row].item()} at x = {describe_point(X[row].tolist())}.")
    return values
