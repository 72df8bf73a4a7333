"""The raw points at which the search for a path's maximum begins, in tiles that are cheap to screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.gp import FullyBayesianGP
from scorebo.optima._screen import screen
from scorebo.search.box import perturbations
from scorebo.seeds import derive

# Points of a tile: all sums of this many left and right points, and where it is mirrored as many differences. Larger
# tiles are cheaper and cover less evenly.
LEFT, RIGHT, RIGHT_MIRRORED = 8, 32, 16
# A path has about one hill in each piece of the box of this many lengthscales a side.
HILL = 1.7
# Least effort for each dimension (in many dimensions smooth paths too have hills, in the corners), and most.
EFFORT_PER_DIMENSION = 0.35
MOST_EFFORT = 8.0
# Points are stretched about the center and clipped: a third of the optimal coordinates lie on a bound, the more the
# longer the lengthscale. Stretch for a lengthscale of zero, and of the box or more.
LEAST_STRETCH, MOST_STRETCH = 1.1, 1.7
# Above this dimension corners hold climbs fast, each is long, and few from around the center find more.
MANY_DIMENSIONS = 100
MANY_STRETCH = 0.5
# Spread of the points around promising ones, as a fraction of the box.
AROUND = 0.1


@dataclass(frozen=True)
class Tiles:
    """Points left_i + right_j and, where mirrored, left_i − right_j.

    In a coordinate in which right points differ from zero, the left points of the tile are all the same.

    Args:
        left: `T x u x D`.
        right: `T x v x D`.
        mirrored: whether the differences belong to it.
    """

    left: Tensor
    right: Tensor
    mirrored: bool = False

    @property
    def points(self) -> Tensor:
        """`Tuv x D`, or `Tu2v x D` where mirrored: of each left point all sums, then all differences."""
        right = torch.cat([self.right, -self.right], dim=1) if self.mirrored else self.right
        return (self.left[:, :, None] + right[:, None]).flatten(0, 2)

    def screened(self, paths: tuple) -> np.ndarray:
        """Paths of a set, as `screen` wants them, at the points: `N x Tuv`."""
        return screen(self.left.numpy(), self.right.numpy(), self.mirrored, paths)


@dataclass(frozen=True)
class RawPoints:
    """Points of tiles, of which some sets have more than others.

    Args:
        tiles: for each of the M sets those around promising points, those that cover the box, and the observed.
        bounds: `2 x D`, of the box that holds them.
    """

    tiles: list[tuple[Tiles, Tiles, Tiles]]
    bounds: Tensor

    def of_set(self, m: int) -> Tensor:
        """All points of set m in the order of its tiles, the observed last: `R x D`."""
        return _inside(torch.cat([tiles.points for tiles in self.tiles[m]]), self.bounds)

    def screened(self, m: int, paths: tuple) -> np.ndarray:
        """Paths of set m, as `screen` wants them, at its points: `N x R`."""
        return np.concatenate([tiles.screened(paths) for tiles in self.tiles[m]], axis=1)


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
    `count` quasi-random ones over the box, times a set's `effort`; and the observed points.
    """
    width, dim = bounds[1] - bounds[0], bounds.shape[1]
    center = 0.5 * (bounds[0] + bounds[1])
    u = LEFT if dim > 1 else 1
    v = min(RIGHT_MIRRORED, -(-count // (2 * u)))
    own = (count * effort(model.lengthscale, width) / (2 * u * v)).ceil().int().tolist()
    generator = torch.Generator().manual_seed(derive("optima", seed, "raw"))

    stretch = LEAST_STRETCH + (MOST_STRETCH - LEAST_STRETCH) * (model.lengthscale / width).clamp_max(1.0)
    if dim > MANY_DIMENSIONS:
        stretch = torch.full_like(stretch, MANY_STRETCH)
    observed = _inside(model.train_X, bounds)
    with torch.no_grad():
        mean, _ = model.marginals(model.train_X)  # n x M
    best = observed[model.train_Y[:, 0].argmax()].expand(model.num_mcmc_samples, -1)
    promising = torch.stack([best, observed[mean.argmax(dim=0)]], dim=1)  # M x 2 x D

    def around(size: int) -> Tensor:
        """Points around the promising: `M x 2 x size x D`."""
        return _inside(promising[:, :, None] + width * perturbations((2, size, dim), AROUND, generator), bounds)

    def over(size: int, name: str) -> Tensor:
        """Points that cover the box, as differences from its center: `M x T x size x D`, T the most."""
        engine = SobolEngine(dim, scramble=True, seed=derive("optima", seed, name) % 2**31)
        cover = engine.draw(max(own) * size, dtype=torch.float64).reshape(-1, size, dim)
        return width * (stretch[:, None, None] * (cover - 0.5)).clamp(-0.5, 0.5)

    of_left = _split(model.lengthscale / width, 2 + max(own), generator).unsqueeze(-2)
    near_left, over_left = of_left[:, :2], of_left[:, 2:]
    near = torch.where(near_left, around(u), 0.0), torch.where(near_left, 0.0, around(min(RIGHT, 2 * v)))
    cover = center + torch.where(over_left, over(u, "left"), 0.0), torch.where(over_left, 0.0, over(v, "right"))
    known = Tiles(torch.zeros(1, 1, dim, dtype=torch.float64), observed[None])
    tiles = [
        (Tiles(near[0][m], near[1][m]), Tiles(cover[0][m, :size], cover[1][m, :size], mirrored=True), known)
        for m, size in enumerate(own)
    ]
    return RawPoints(tiles, bounds)


def _inside(X: Tensor, bounds: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(X, bounds[0]), bounds[1])


def _split(lengthscale: Tensor, tiles: int, generator: torch.Generator) -> Tensor:
    """Which coordinates vary on the left of each tile: `M x T x D`; one of each two with neighboring lengthscales.

    So both sides share the coordinates along which the paths change fast. A single coordinate varies on the right.
    """
    num_mcmc_samples, dim = lengthscale.shape
    rank = lengthscale.argsort(dim=-1).argsort(dim=-1)  # M x D
    first = torch.rand(num_mcmc_samples, tiles, (dim + 1) // 2, generator=generator) < 0.5
    pair = (rank // 2).unsqueeze(1).expand(-1, tiles, -1)
    of_left = first.gather(-1, pair) ^ (rank % 2 == 1).unsqueeze(1)
    return of_left if dim > 1 else torch.zeros_like(of_left)
