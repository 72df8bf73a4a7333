"""Where to begin a search of the unit box: raw points that cover it, and the choice of those from which to climb."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.search._starts import fill_up, hilltops
from scorebo.search.box import perturbations

# Raw points are stretched about the center and clipped: optima often have coordinates on a bound, Sobol points never.
STRETCH = 1.25
# Only the best raw points are candidates; the rest need not be compared.
MAX_CANDIDATES = 512
# In units of the spacing of the raw points: a point this far from any better one is on a hill of its own ...
HILL_DISTANCE = 2.0
# ... and starts closer than this are not worth having both.
LEAST_DISTANCE = 0.25


def covering_points(dim: int, count: int, seed: int) -> Tensor:
    """Points that cover the unit box: an even grid in one dimension, otherwise scrambled Sobol. `count x dim`."""
    if dim == 1 and count > 1:
        return torch.linspace(0.0, 1.0, count, dtype=torch.float64).unsqueeze(-1)
    points = SobolEngine(dim, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    return (0.5 + STRETCH * (points - 0.5)).clamp(0.0, 1.0)


def points_around(center: Tensor, count: int, std: float, seed: int) -> Tensor:
    """Normal perturbations of the center, `D`, clipped to the unit box. `count x D`."""
    noise = perturbations((count, len(center)), std, torch.Generator().manual_seed(seed))
    return (center + noise).clamp(0.0, 1.0)


def nudged(points: Tensor, seed: int) -> Tensor:
    """Points `n x D` of the unit box moved a thousandth of the way to random ones.

    Exactly at its own observations a noiseless joint posterior, as noisy expected improvement needs it, is singular.
    """
    generator = torch.Generator().manual_seed(seed)
    return points + 1e-3 * (torch.rand(points.shape, dtype=torch.float64, generator=generator) - points)


def crossed(points: Tensor, values: Tensor, parents: int, count: int, seed: int) -> Tensor:
    """Points that take each coordinate from one or the other of two of the best of `N x D`. `count x D`.

    Where some coordinates make a point high whatever the others are, what is high in different ones meets.
    """
    generator = torch.Generator().manual_seed(seed)
    best = points[values.nan_to_num(nan=-torch.inf).argsort(descending=True, stable=True)[:parents]]
    first, second = best[torch.randint(len(best), (2, count), generator=generator)]
    from_first = torch.rand(count, points.shape[1], generator=generator) < 0.5
    return torch.where(from_first, first, second)


def choose_starts(points: Tensor, values: Tensor, count: int, spacing: float) -> Tensor:
    """Choose up to `count` starts, the best point first.

    A point is taken to top a hill of its own if every better point is far; the hilltops come before the best of the
    rest, which must keep a distance from the starts chosen before them.

    Args:
        points: `N x D`.
        values: `N`; points whose value is not finite are not chosen.
        count: most starts to choose.
        spacing: typical distance between neighboring points.

    Returns:
        `S x D` with S ≤ count.
    """
    finite = values.isfinite()
    order = values[finite].argsort(descending=True, stable=True)[:MAX_CANDIDATES]
    candidates = points[finite][order]
    array = candidates.numpy()
    chosen = hilltops(array, HILL_DISTANCE * spacing)[:count]
    if array.shape[-1] > 1:  # Between the points of a grid nothing is hidden.
        chosen = fill_up(array, chosen, count, LEAST_DISTANCE * spacing)
    return candidates[chosen]
