"""Maximization of an acquisition function over a box.

Raw points cover the hills, and the best of them are crossed with each other. Climbs from the most promising ones lead
to tops, and a scan of every coordinate through the highest top to further hills.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from torch import Tensor

from scorebo.errors import InputError, check_integer, check_number
from scorebo.search.ascent import Array, ascend
from scorebo.search.box import Bounds, check_bounds
from scorebo.search.scan import crests, lines
from scorebo.search.starts import choose_starts, covering_points, crossed, nudged, points_around

# Raw points evaluated at once: larger batches fall out of the cache.
SLICE = 128
# The sparser the raw points, the less they tell which hills are high: D/2 starts for each restart asked for, at least
# one and at most this many. In a batch most of them cost little, and are soon dropped.
MOST_STARTS_PER_RESTART = 5.0
# In so many dimensions the raw points are dense enough to show every hill.
DENSE = 2
# In more they are crossed so many times; parents and crossed points are a fraction of their number.
GENERATIONS = 2
PARENTS = 1 / 16
CROSSED = 1 / 4
# Climbs end where steps rise by this fraction of the value; only the best is then climbed to its top.
TOLERANCE = 1e-5
# Length of the first step, in spacings of the raw points, and next to a top.
STEP = 0.3
LAST_STEP = 0.01


def maximize(
    acqf: AcquisitionFunction,
    bounds: Bounds,
    raw_samples: int = 1024,
    num_restarts: int = 20,
    maxiter: int = 100,
    seed: int = 0,
    around: Tensor | None = None,
    sample_around_best_sigma: float = 0.1,
) -> tuple[Tensor, Tensor]:
    """Maximize an acquisition function of one point over a box.

    Args:
        acqf: any differentiable BoTorch acquisition function, `b x 1 x D` -> `b`; a point where it is not finite is
            never chosen. If it has a method `screen`, `b x D` -> rough values `b`, raw points are ranked by that; if
            it has `with_gradient`, `b x D` -> values `b` and gradients `b x D`, autograd is not used.
        bounds: a `2 x D` tensor, lower and upper corner; or `scorebo.Box`, or D pairs (lower, upper).
        raw_samples: points that cover the box, at which the search begins.
        num_restarts: climbs at the least, from the most promising raw points; more in many dimensions.
        maxiter: most steps of a climb.
        seed: the result is a function of it; the global random state is neither used nor changed.
        around: `D` or `1 x D`, a point near which there are more raw points.
        sample_around_best_sigma: their standard deviation, as a fraction of the box.

    Returns:
        The best point found, `1 x D`, and its value, a scalar; never below the best raw point, or the raw point that
        `screen` ranks highest.
    """
    if not isinstance(acqf, AcquisitionFunction):
        raise InputError(f"acqf must be an acquisition function of a model, e.g. SAL(model), got {acqf!r}.")
    box = check_bounds(bounds, getattr(getattr(acqf, "model", None), "dim", None))
    for name, number in (("raw_samples", raw_samples), ("num_restarts", num_restarts), ("maxiter", maxiter)):
        check_integer(name, number, 1)
    check_integer("seed", seed, 0)
    check_number("sample_around_best_sigma", sample_around_best_sigma, 0.0)
    dim = box.shape[1]
    center = None if around is None else _to_unit(_check_around(around, box), box)
    # Each kind of raw points has its own share of the starts, so that none crowds out another.
    num_starts = round(num_restarts * min(max(dim / 2.0, 1.0), MOST_STARTS_PER_RESTART))
    groups = [(covering_points(dim, raw_samples, seed), num_starts)]
    if center is not None and dim > 1:  # In one dimension the grid is dense enough everywhere.
        groups.append(
            (points_around(center, -(-raw_samples // 16), sample_around_best_sigma, seed), -(-num_restarts // 8))
        )
    groups.append((nudged(_to_unit(_observed(acqf, box), box), seed), -(-num_restarts // 4)))

    with torch.no_grad():
        hills = _Hills(acqf, box, raw_samples ** (-1.0 / dim), maxiter)
        starts = hills.starts(groups, raw_samples, seed)
        if dim <= DENSE:
            tops, _ = hills.climb(starts, -np.inf, 0.0)
        else:
            best = hills.scan(*hills.climb(starts, -np.inf, TOLERANCE), num_restarts // 2)
            tops, _ = hills.climb(best, -np.inf, 0.0, LAST_STEP)
        x = hills.in_box(tops[:1])
        return x, acqf(x.unsqueeze(0)).squeeze(0)


@dataclass(frozen=True)
class _Hills:
    """An acquisition function over the unit box, into which its own box is mapped.

    Args:
        acqf: as in `maximize`.
        box: `2 x D`.
        spacing: typical distance between neighboring raw points.
        maxiter: most steps of a climb.
    """

    acqf: AcquisitionFunction
    box: Tensor
    spacing: float
    maxiter: int

    def in_box(self, x: Tensor) -> Tensor:
        """Points of the unit box in the box of the acquisition function."""
        return (self.box[0] + (self.box[1] - self.box[0]) * x).clamp(self.box[0], self.box[1])

    def evaluate(self, points: Tensor) -> Tensor:
        """Values `b` at points `b x D` of the box, in double precision."""
        value = self.acqf(points.unsqueeze(-2)).to(torch.float64)
        if value.shape != points.shape[:1]:
            raise InputError(
                f"{type(self.acqf).__name__} must return one value per point: for {len(points)} points of shape 1 x "
                f"{points.shape[1]} it returned shape {tuple(value.shape)}."
            )
        return value

    def screen(self, x: Tensor) -> Tensor:
        """Rough values of raw points `N x D`."""
        screen = getattr(self.acqf, "screen", self.evaluate)
        return torch.cat([screen(self.in_box(part)) for part in x.split(SLICE)])

    def with_gradient(self, x: Array) -> tuple[Array, Array]:
        """Values and gradients by x `b x D`."""
        points = self.in_box(torch.from_numpy(x))
        if hasattr(self.acqf, "with_gradient"):
            value, gradient = self.acqf.with_gradient(points)
        else:
            with torch.enable_grad():
                value = self.evaluate(points.requires_grad_())
                if not value.requires_grad:
                    raise InputError(f"{type(self.acqf).__name__} is not differentiable: its value has no gradient.")
                (gradient,) = torch.autograd.grad(value.sum(), points)
        return value.detach().numpy(), (gradient * (self.box[1] - self.box[0])).numpy()

    def starts(self, groups: list[tuple[Tensor, int]], raw_samples: int, seed: int) -> Tensor:
        """The most promising raw points: of every group as many as asked for, and of crossed ones half of the first."""
        raw = torch.cat([points for points, _ in groups])
        values = self.screen(raw)
        if not bool(values.isfinite().any()):
            raise InputError(f"{type(self.acqf).__name__} is finite at none of {len(raw)} points of the box.")
        before = len(raw)
        for generation in range(GENERATIONS if raw.shape[1] > DENSE else 0):
            parents, count = math.ceil(PARENTS * raw_samples), math.ceil(CROSSED * raw_samples)
            new = crossed(raw, values, parents, count, seed + generation)
            raw, values = torch.cat([raw, new]), torch.cat([values, self.screen(new)])
        groups = [*groups, (raw[before:], groups[0][1] // 2)]
        parts = zip(groups, values.split([len(points) for points, _ in groups]), strict=True)
        return torch.cat([choose_starts(points, part, count, self.spacing) for (points, count), part in parts])

    def climb(self, starts: Tensor, best: float, tolerance: float, step: float = STEP) -> tuple[Tensor, Tensor]:
        """Where the starts lead, the highest first: points `b x D` and values `b`."""
        first_step = step * self.spacing
        reached, height = ascend(self.with_gradient, starts.numpy(), self.maxiter, first_step, best, tolerance)
        height[~np.isfinite(height)] = -np.inf
        order = np.argsort(-height, kind="stable")
        return torch.from_numpy(reached[order]), torch.from_numpy(height[order])

    def scan(self, tops: Tensor, height: Tensor, count: int) -> Tensor:
        """The highest of tops `b x D`, which comes first, or what is higher and in line with it. `1 x D`."""
        points = lines(tops[:1])
        reached, found = self.climb(crests(points, self.screen(points), count), float(height[0]), TOLERANCE)
        return reached[:1] if len(found) > 0 and found[0] > height[0] else tops[:1]


def _to_unit(points: Tensor, box: Tensor) -> Tensor:
    return (points - box[0]) / (box[1] - box[0])


def _observed(acqf: AcquisitionFunction, bounds: Tensor) -> Tensor:
    """The model's own inputs inside the box, `n x D`.

    Next to them the sets agree on f and differ in their noise alone: peaks too narrow for the raw points to find.
    """
    inputs = getattr(getattr(acqf, "model", None), "train_inputs", None)
    if not inputs or inputs[0].shape[-1] != bounds.shape[1]:
        return bounds[:0]
    points = inputs[0].detach().to(bounds).reshape(-1, *inputs[0].shape[-2:])[0]
    return points[((points >= bounds[0]) & (points <= bounds[1])).all(dim=-1)].unique(dim=0)


def _check_around(around: Tensor, bounds: Tensor) -> Tensor:
    around = torch.as_tensor(around, dtype=torch.float64)
    if around.numel() != bounds.shape[1] or not bool(around.isfinite().all()):
        raise InputError(f"around must be one finite point of {bounds.shape[1]} coordinates, got {around.tolist()}.")
    return around.reshape(-1).clamp(bounds[0], bounds[1])
