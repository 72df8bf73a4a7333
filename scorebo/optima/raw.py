"""The raw points at which the search for a path's maximum begins, in tiles that are cheap to screen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.box import perturbations
from scorebo.gp import FullyBayesianGP
from scorebo.seeds import derive

# Points of a tile: all sums of this many left and right points. Larger tiles are cheaper and cover less evenly.
LEFT, RIGHT = 8, 32
# A path has about one hill in each piece of the box of this many lengthscales a side.
HILL = 1.7
# Least effort for each dimension (in many dimensions smooth paths too have hills, in the corners), and most.
EFFORT_PER_DIMENSION = 0.2
MOST_EFFORT = 9.0
# Raw points grow with the effort by this fraction of what they are for a set of effort one.
POINTS_PER_EFFORT = 0.75
# Points are stretched about the centre and clipped: a third of the optimal coordinates lie on a bound, the more the
# longer the lengthscale. Stretch for a lengthscale of zero, and of the box or more.
LEAST_STRETCH, MOST_STRETCH = 1.1, 1.7
# Above this dimension corners hold climbs fast, each is long, and few from around the centre find more.
MANY_DIMENSIONS = 100
MANY_STRETCH = 0.5
# Spread of the points around promising ones, as a fraction of the box.
AROUND = 0.1


@dataclass(frozen=True)
class RawPoints:
    """Points left_i + right_j of tiles, of which some sets take more than others, and further points.

    Every coordinate of a tile is zero in all of its left or in all of its right points, so that a sum is exactly one
    of the two and within the box.

    Args:
        left: `T x u x D` for each of the M sets, T its own.
        right: `T x v x D` for each.
        further: `E x D`, the same for all sets.
    """

    left: list[Tensor]
    right: list[Tensor]
    further: Tensor

    def of_set(self, m: int) -> Tensor:
        """All points of set m, tiles first: `R x D`."""
        tiles = self.left[m][:, :, None] + self.right[m][:, None]
        return torch.cat([tiles.flatten(0, 2), self.further])


def effort(lengthscale: Tensor, width: Tensor) -> Tensor:
    """How much harder than one with a single hill the paths of each set are to search, `M`.

    The root of the number of hills to expect: raw points and starts grow with it.
    """
    hills = (1.0 + (width / (HILL * lengthscale)).square()).sqrt().prod(dim=-1)
    least = EFFORT_PER_DIMENSION * len(width) if len(width) <= MANY_DIMENSIONS else 1.0
    return hills.sqrt().clamp_min(least).clamp(1.0, MOST_EFFORT)


def raw_points(model: FullyBayesianGP, bounds: Tensor, count: int, seed: int) -> RawPoints:
    """Points at which the search begins, all inside the box.

    A tile around the best observed, and one around the observed point with the highest posterior mean under each set;
    at least `count` quasi-random ones over the box, more where a set's `effort` is large; and the observed points.
    """
    lower, width, dim = bounds[0], bounds[1] - bounds[0], bounds.shape[1]
    u = LEFT if dim > 1 else 1
    v = min(RIGHT, -(-count // u))
    harder = 1.0 + POINTS_PER_EFFORT * (effort(model.lengthscale, width) - 1.0)
    tiles = (count * harder / (u * v)).ceil().int().tolist()
    generator = torch.Generator().manual_seed(derive("optima", seed, "raw"))

    stretch = LEAST_STRETCH + (MOST_STRETCH - LEAST_STRETCH) * (model.lengthscale / width).clamp_max(1.0)
    if dim > MANY_DIMENSIONS:
        stretch = torch.full_like(stretch, MANY_STRETCH)
    observed = ((model.train_X - lower) / width).clamp(0.0, 1.0)
    with torch.no_grad():
        mean, _ = model.marginals(model.train_X)  # n x M
    best = observed[model.train_Y[:, 0].argmax()].expand(model.num_sets, -1)
    centres = torch.stack([best, observed[mean.argmax(dim=0)]], dim=1)  # M x 2 x D

    def side(size: int, name: str) -> Tensor:
        """Points of one side of the tiles with all their coordinates: `M x (2 + T) x size x D`, T the most."""
        engine = SobolEngine(dim, scramble=True, seed=derive("optima", seed, name) % 2**31)
        cover = engine.draw(max(tiles) * size, dtype=torch.float64).reshape(-1, size, dim)
        spread = perturbations((2, size, dim), AROUND, generator)
        both = torch.cat([centres[:, :, None] + spread, 0.5 + stretch[:, None, None] * (cover - 0.5)], dim=1)
        return _inside(lower + width * both, bounds)

    of_left = _split(model.lengthscale / width, 2 + max(tiles), generator).unsqueeze(-2)
    left = torch.where(of_left, side(u, "left"), 0.0)
    right = torch.where(of_left, 0.0, side(v, "right"))
    return RawPoints(
        [points[: 2 + own] for points, own in zip(left, tiles, strict=True)],
        [points[: 2 + own] for points, own in zip(right, tiles, strict=True)],
        _inside(model.train_X, bounds),
    )


def _inside(X: Tensor, bounds: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(X, bounds[0]), bounds[1])


def _split(lengthscale: Tensor, tiles: int, generator: torch.Generator) -> Tensor:
    """Which coordinates vary on the left of each tile: `M x T x D`; one of each two with neighbouring lengthscales.

    So both sides share the coordinates along which the paths change fast. A single coordinate varies on the right.
    """
    num_sets, dim = lengthscale.shape
    rank = lengthscale.argsort(dim=-1).argsort(dim=-1)  # M x D
    first = torch.rand(num_sets, tiles, (dim + 1) // 2, generator=generator) < 0.5
    pair = (rank // 2).unsqueeze(1).expand(-1, tiles, -1)
    of_left = first.gather(-1, pair) ^ (rank % 2 == 1).unsqueeze(1)
    return of_left if dim > 1 else torch.zeros_like(of_left)
