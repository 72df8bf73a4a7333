"""Maximization of an acquisition function over a box: cover the hills with raw points, then climb the best of them."""

from __future__ import annotations

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from torch import Tensor

from scorebo.errors import InputError, check_integer, check_number
from scorebo.search.ascent import Array, ascend
from scorebo.search.box import Bounds, check_bounds
from scorebo.search.starts import choose_starts, covering_points, nudged, points_around

# Raw points evaluated at once: larger batches fall out of the cache.
SLICE = 128
# The sparser the raw points, the less they tell which hills are high: above two dimensions D starts for each restart
# asked for, and at most this many. In a batch most of them cost little, and are soon dropped.
MOST_STARTS_PER_RESTART = 10


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
    lower, width, dim = box[0], box[1] - box[0], box.shape[1]

    def in_box(x: Tensor) -> Tensor:
        return (lower + width * x).clamp(box[0], box[1])

    def evaluate(points: Tensor) -> Tensor:
        value = acqf(points.unsqueeze(-2)).to(torch.float64)
        if value.shape != points.shape[:1]:
            raise InputError(
                f"{type(acqf).__name__} must return one value per point: for {len(points)} points of shape 1 x {dim} "
                f"it returned shape {tuple(value.shape)}."
            )
        return value

    def evaluate_with_gradient(x: Array) -> tuple[Array, Array]:
        points = in_box(torch.from_numpy(x))
        if hasattr(acqf, "with_gradient"):
            value, gradient = acqf.with_gradient(points)
        else:
            with torch.enable_grad():
                value = evaluate(points.requires_grad_())
                if not value.requires_grad:
                    raise InputError(f"{type(acqf).__name__} is not differentiable: its value has no gradient.")
                (gradient,) = torch.autograd.grad(value.sum(), points)
        return value.detach().numpy(), (gradient * width).numpy()

    # Each kind of raw points has its own share of the starts, so that none crowds out another.
    num_starts = num_restarts * (1 if dim <= 2 else min(dim, MOST_STARTS_PER_RESTART))
    groups = [(covering_points(dim, raw_samples, seed), num_starts)]
    center = None if around is None else (_check_around(around, box) - lower) / width
    if center is not None and dim > 1:  # In one dimension the grid is dense enough everywhere.
        groups.append(
            (points_around(center, -(-raw_samples // 16), sample_around_best_sigma, seed), -(-num_restarts // 8))
        )
    groups.append((nudged((_observed(acqf, box) - lower) / width, seed), -(-num_restarts // 4)))

    with torch.no_grad():
        spacing = raw_samples ** (-1.0 / dim)
        raw = torch.cat([points for points, _ in groups])
        screen = getattr(acqf, "screen", None)
        values = torch.cat([(evaluate if screen is None else screen)(in_box(part)) for part in raw.split(SLICE)])
        if not bool(values.isfinite().any()):
            raise InputError(f"{type(acqf).__name__} is finite at none of {len(raw)} points of the box.")
        parts = zip(groups, values.split([len(points) for points, _ in groups]), strict=True)
        starts = torch.cat([choose_starts(points, part, count, spacing) for (points, count), part in parts])
        reached, height = ascend(evaluate_with_gradient, starts.numpy(), maxiter, first_step=0.3 * spacing)
        height[~np.isfinite(height)] = -np.inf
        best = int(height.argmax())
        x = in_box(torch.from_numpy(reached[best])).unsqueeze(0)
        return x, acqf(x.unsqueeze(0)).squeeze(0)


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
