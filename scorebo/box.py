"""The box a search is confined to: checked, and perturbed within, in one place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scorebo.errors import InputError

# In many dimensions only about this many coordinates are perturbed: moving all of them leaves the neighbourhood.
MAX_PERTURBED = 20


def check_bounds(bounds: Tensor | Sequence[Sequence[float]], dim: int | None = None) -> Tensor:
    """The box as a `2 x D` float64 tensor: finite, every lower below its upper, and of `dim` dimensions if given."""
    box = torch.as_tensor(bounds, dtype=torch.float64).detach()
    if box.ndim != 2 or len(box) != 2 or box.shape[1] == 0 or (dim is not None and box.shape[1] != dim):
        raise InputError(f"bounds must be 2 x {dim or 'D'}, lower and upper, got shape {tuple(box.shape)}.")
    if not bool(box.isfinite().all()) or not bool((box[0] < box[1]).all()):
        raise InputError(f"bounds must be finite with every lower below its upper, got {box.tolist()}.")
    return box


def unit_box(dim: int) -> Tensor:
    """`2 x dim`, from 0 to 1."""
    return torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, dim)


def perturbations(shape: Sequence[int], std: float, generator: torch.Generator) -> Tensor:
    """Normal numbers of this shape, `... x D`, most of them 0 where D is large."""
    noise = std * torch.randn(*shape, dtype=torch.float64, generator=generator)
    if shape[-1] > MAX_PERTURBED:
        noise *= torch.rand(*shape, dtype=torch.float64, generator=generator) < MAX_PERTURBED / shape[-1]
    return noise
