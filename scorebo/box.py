"""The box a search is confined to, checked in one place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scorebo.errors import InputError


def check_bounds(bounds: Tensor | Sequence[Sequence[float]], dim: int | None = None) -> Tensor:
    """The box as a `2 x D` float64 tensor: finite, every lower below its upper, and of `dim` dimensions if given."""
    box = torch.as_tensor(bounds, dtype=torch.float64).detach()
    if box.ndim != 2 or len(box) != 2 or box.shape[1] == 0 or (dim is not None and box.shape[1] != dim):
        raise InputError(f"bounds must be 2 x {dim or 'D'}, lower and upper, got shape {tuple(box.shape)}.")
    if not bool(box.isfinite().all()) or not bool((box[0] < box[1]).all()):
        raise InputError(f"bounds must be finite with every lower below its upper, got {box.tolist()}.")
    return box
