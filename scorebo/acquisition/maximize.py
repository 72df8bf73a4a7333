"""Maximization of an acquisition function over a box.

Raw points cover the hills, and the best of them are crossed with each other. Climbs from the most promising ones lead
to tops; a scan of every coordinate through the highest, and tops crossed with each other, lead to further hills.
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
# In so many dimensions the raw points are dense enough to show every hill.
DENSE = 2
# In more only a part of them covers the box; then the best are crossed so many times. Parents and crossed points are
# fractions of the number of raw points.
COVERING = 1 / 2
GENERATIONS = 2
PARENTS = 1 / 16
CROSSED = 3 / 8
# The sparser the raw points, the less they tell which hills are high: D/3 starts for each restart asked for, at least
# one and at most this many; above two dimensions as many again from crossed points.
MOST_STARTS_PER_RESTART = 3.0
# Climbs below the best end where steps rise by this fraction of the value.
TOLERANCE = 1e-5
# Length of the first step, in spacings of the raw points.
STEP = 0.3
# Scans: how many at most, so many of the highest points reached are crossed, and the points that are evaluated for
# this, as a fraction of the raw points.
MOST_SCANS = 3
PARENT_TOPS = 12
CROSSED_TOPS = 1 / 8
# Those of the restarts that may still be climbing when a scan adds starts, and that it may add of either kind.
FEW = 1 / 2
ADDED = 1 / 4


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
        raw_samples: points that cover the box, at which the search begins; above two dimensions half of them, and
            three quarters as many crossed from the best.
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
    num_starts = round(num_restarts * min(max(dim / 3.0, 1.0), MOST_STARTS_PER_RESTART))
    covering = raw_samples if dim <= DENSE else math.ceil(COVERING * raw_samples)
    groups = [(covering_points(dim, covering, seed), num_starts)]
    if center is not None and dim > 1:  # In one dimension the grid is dense enough everywhere.
        groups.append(
            (points_around(center, -(-raw_samples // 16), sample_around_best_sigma, seed), -(-num_restarts // 8))
        )
    groups.append((nudged(_to_unit(_observed(acqf, box), box), seed), -(-num_restarts // 4)))

    with torch.no_grad():
        hills = _Hills(acqf, box, raw_samples, num_restarts, maxiter, seed)
        x = hills.in_box(hills.climb(hills.starts(groups)))
        return x, acqf(x.unsqueeze(0)).squeeze(0)


@dataclass(frozen=True)
class _Hills:
    """An acquisition function over the unit box, into which its own box is mapped.

    Args:
        acqf: as in `maximize`.
        box: `2 x D`.
        raw_samples, num_restarts, maxiter, seed: as in `maximize`.
    """

    acqf: AcquisitionFunction
    box: Tensor
    raw_samples: int
    num_restarts: int
    maxiter: int
    seed: int

    @property
    def spacing(self) -> float:
        """Typical distance between neighboring raw points."""
        return float(self.raw_samples ** (-1.0 / self.box.shape[1]))

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

    def starts(self, groups: list[tuple[Tensor, int]]) -> Tensor:
        """The most promising raw points: of every group as many as asked for, and of crossed ones as of the first."""
        raw = torch.cat([points for points, _ in groups])
        values = self.screen(raw)
        if not bool(values.isfinite().any()):
            raise InputError(f"{type(self.acqf).__name__} is finite at none of {len(raw)} points of the box.")
        before = len(raw)
        for generation in range(GENERATIONS if raw.shape[1] > DENSE else 0):
            parents, count = math.ceil(PARENTS * self.raw_samples), math.ceil(CROSSED * self.raw_samples)
            new = crossed(raw, values, parents, count, self.seed + generation)
            raw, values = torch.cat([raw, new]), torch.cat([values, self.screen(new)])
        groups = [*groups, (raw[before:], groups[0][1])]
        parts = zip(groups, values.split([len(points) for points, _ in groups]), strict=True)
        return torch.cat([choose_starts(points, part, count, self.spacing) for (points, count), part in parts])

    def climb(self, starts: Tensor) -> Tensor:
        """The highest top to which the starts and the scans lead, `1 x D`."""
        scans = _Scans(self) if starts.shape[1] > DENSE else None
        tolerance = 0.0 if scans is None else TOLERANCE
        few, first_step = int(FEW * self.num_restarts), STEP * self.spacing
        x, value = ascend(self.with_gradient, starts.numpy(), self.maxiter, first_step, tolerance, scans, few)
        best = int(np.where(np.isfinite(value), value, -np.inf).argmax())
        return torch.from_numpy(x[best : best + 1])


@dataclass
class _Scans:
    """Starts on further hills, found from the tops reached: once, and again whenever one of these becomes the highest.

    Attributes:
        hills: what is climbed.
        known: number of starts before the last scan.
        left: number of scans that may follow.
    """

    hills: _Hills
    known: int = 0
    left: int = MOST_SCANS

    def __call__(self, x: Array, value: Array) -> Array:
        """Starts that are in line with the highest of the points reached, `x` and `value`, or crossed from these."""
        value = np.where(np.isfinite(value), value, -np.inf)
        best = int(value.argmax())
        if self.left == 0 or best < self.known:
            return x[:0]
        self.left, self.known = self.left - 1, len(x)
        hills, tops = self.hills, torch.from_numpy(x)
        count = math.ceil(ADDED * hills.num_restarts)
        line = lines(tops[best : best + 1])
        number = math.ceil(CROSSED_TOPS * hills.raw_samples)
        new = crossed(tops, torch.from_numpy(value), PARENT_TOPS, number, hills.seed + self.known)
        added = crests(line, hills.screen(line), count), choose_starts(new, hills.screen(new), count, hills.spacing)
        return torch.cat(added).numpy()


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
