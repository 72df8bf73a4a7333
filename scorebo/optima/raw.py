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
# From this dimension on there are twice as many points over the box: cheaper for the hills found than more starts.
DOUBLED_DIM = 4
# Points are stretched about the centre and clipped: a third of the optimal coordinates lie on a bound, the more the
# longer the lengthscale. Stretch for a lengthscale of zero, and of the box or more.
LEAST_STRETCH, MOST_STRETCH = 1.1, 1.7
# Spread of the points around promising ones, as a fraction of the box.
AROUND = 0.1


@dataclass(frozen=True)
class RawPoints:
    """Points left_i + right_j of T tiles for every set, and further points.

    Every coordinate of a tile is zero in all of its left or in all of its right points, so that a sum is exactly one
    of the two and within the box.

    Args:
        left: `M x T x u x D`.
        right: `M x T x v x D`.
        further: `E x D`, the same for all sets.
    """

    left: Tensor
    right: Tensor
    further: Tensor

    def of_set(self, m: int) -> Tensor:
        """All points of set m, tiles first: `R x D`."""
        tiles = self.left[m, :, :, None] + self.right[m, :, None]
        return torch.cat([tiles.flatten(0, 2), self.further])


def raw_points(model: FullyBayesianGP, bounds: Tensor, count: int, seed: int) -> RawPoints:
    """Points at which the search begins, all inside the box.

    At least `count` quasi-random ones over the box; a tile around the best observed, and one around the observed
    point with the highest posterior mean under each set; and the observed points themselves.
    """
    lower, width, dim = bounds[0], bounds[1] - bounds[0], bounds.shape[1]
    covering = 2 * count if dim >= DOUBLED_DIM else count
    u = LEFT if dim > 1 else 1
    v = min(RIGHT, -(-covering // u))
    tiles = -(-covering // (u * v))
    generator = torch.Generator().manual_seed(derive("optima", seed, "raw"))

    stretch = LEAST_STRETCH + (MOST_STRETCH - LEAST_STRETCH) * (model.lengthscale / width).clamp_max(1.0)
    observed = ((model.train_X - lower) / width).clamp(0.0, 1.0)
    with torch.no_grad():
        mean, _ = model.marginals(model.train_X)  # n x M
    best = observed[model.train_Y[:, 0].argmax()].expand(model.num_sets, -1)
    centres = torch.stack([best, observed[mean.argmax(dim=0)]], dim=1)  # M x 2 x D

    def side(size: int, name: str) -> Tensor:
        """Points of one side of the tiles with all their coordinates: `M x (T + 2) x size x D`."""
        engine = SobolEngine(dim, scramble=True, seed=derive("optima", seed, name) % 2**31)
        cover = engine.draw(tiles * size, dtype=torch.float64).reshape(tiles, size, dim)
        spread = perturbations((2, size, dim), AROUND, generator)
        both = torch.cat([0.5 + stretch[:, None, None] * (cover - 0.5), centres[:, :, None] + spread], dim=1)
        return _inside(lower + width * both, bounds)

    of_left = _split(model.lengthscale / width, tiles + 2, generator).unsqueeze(-2)
    return RawPoints(
        torch.where(of_left, side(u, "left"), 0.0),
        torch.where(of_left, 0.0, side(v, "right")),
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
