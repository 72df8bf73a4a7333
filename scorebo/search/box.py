"""The box a search is confined to: checked, and perturbed within, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import SHOWN, InputError, check_tensor

# In many dimensions only about this many coordinates are perturbed: moving all of them leaves the neighborhood.
MAX_PERTURBED = 20


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box to search, which leaves no doubt about which numbers are lower bounds.

    Args:
        lower: `D`, the lower bound of every input.
        upper: `D`, the upper bound of every input.
    """

    lower: Sequence[float]
    upper: Sequence[float]

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            values = check_tensor(name, getattr(self, name)).reshape(-1)
            object.__setattr__(self, name, tuple(values.tolist()))
        if len(self.lower) != len(self.upper):
            raise InputError(
                f"lower holds {len(self.lower)} numbers, upper {len(self.upper)}: both need one for every input."
            )
        check_bounds(self)


# A box, D pairs (lower, upper) as in SciPy, or the two corners `2 x D` as in BoTorch; arrays and tensors included.
Bounds = Box | Tensor | np.ndarray | Sequence[Sequence[float]]
FORMS = "scorebo.Box(lower=…, upper=…), D pairs (lower, upper), or 2 x D: lower and upper corner"


def check_bounds(bounds: Bounds | None, dim: int | None = None) -> Tensor:
    """The box as a `2 x D` float64 tensor: finite, every lower below its upper, and of `dim` dimensions if given.

    Args:
        bounds: a `Box`, D pairs (lower, upper), or two corners of D numbers each. A `2 x D` tensor always holds the
            corners, as in BoTorch. Other 2 x 2 numbers are refused if they describe two boxes.
        dim: the number D of inputs, where it is known.
    """
    table = check_tensor("bounds", [bounds.lower, bounds.upper] if isinstance(bounds, Box) else bounds, FORMS)
    readings = [box for box in _readings(table, bounds) if dim is None or box.shape[1] == dim]
    got = f"got {table.tolist()}" if table.numel() <= SHOWN else f"got shape {tuple(table.shape)}"
    if not readings:
        raise InputError(f"bounds must be {FORMS}{f' with D = {dim}' if dim else ''}, {got}.")
    boxes = [box for box in readings if bool(box.isfinite().all()) and bool((box[0] < box[1]).all())]
    if not boxes:
        only_corners = " as corners" if readings[-1] is table else ""
        raise InputError(f"bounds must be finite with every lower below its upper, {got}{only_corners}.")
    if not torch.equal(boxes[0], boxes[-1]):
        corners, pairs = (f"scorebo.Box(lower={box[0].tolist()}, upper={box[1].tolist()})" for box in boxes)
        raise InputError(
            f"bounds can be read as two pairs (lower, upper) or as two corners, {got}. "
            f"Use {pairs} for pairs or {corners} for corners."
        )
    return boxes[0]


def _readings(table: Tensor, bounds: Bounds | None) -> list[Tensor]:
    """The boxes `2 x D` that the table may describe, corners first."""
    if table.ndim != 2 or table.numel() == 0:
        return []
    as_corners = len(table) == 2
    as_pairs = table.shape[1] == 2 and not (as_corners and isinstance(bounds, Box | Tensor))
    return [table] * as_corners + [table.mT.contiguous()] * as_pairs


def unit_box(dim: int) -> Tensor:
    """`2 x dim`, from 0 to 1."""
    return torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, dim)


def perturbations(shape: Sequence[int], std: float, generator: torch.Generator) -> Tensor:
    """Normal numbers of this shape, `... x D`, most of them 0 where D is large."""
    noise = std * torch.randn(*shape, dtype=torch.float64, generator=generator)
    if shape[-1] > MAX_PERTURBED:
        noise *= torch.rand(*shape, dtype=torch.float64, generator=generator) < MAX_PERTURBED / shape[-1]
    return noise
