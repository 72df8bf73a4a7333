"""What every task offers: a function on a box, its noise, and its initial design.

A new task is one class and one YAML file. The class states its box, its direction and its function:

    class Sphere(Benchmark):
        bounds = scorebo.Box(lower=(-1.0, -1.0), upper=(1.0, 1.0))  # or D pairs, or two corners
        optimal_value = 0.0                  # leave out where it is not known
        # maximize = True                    # leave out where the task minimizes

        def evaluate_true(self, X):          # n x D in the box, float64 -> n, float64, without noise
            return X.square().sum(-1)

and the file `configs/benchmark/sphere.yaml` (or one in a folder given with `--config-dir`) its numbers:

    # @package _global_
    benchmark:
      _target_: my_package.Sphere
      name: sphere
      noise_std: 0.1
      initial: 3
      total: 50

A subclass with options of its own takes them as further keywords and passes the rest to `super().__init__`; bounds that
depend on the options are set on `self` before that call. A task that is another function for every seed overrides
`for_seed`, which a run calls once, before anything else.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from scorebo.errors import InputError, check_integer, check_number, describe_point
from scorebo.search.box import check_bounds
from scorebo.seeds import derive, generator
from scorebo.store.schema import Task

# DataTransform from the unit box and back may pass a bound by a few roundings; such points are moved onto it.
ROUNDING = 1e-10


class Benchmark(ABC):
    """A task: the function f on a box, observed with independent normal noise.

    Design and noise are functions of (name, seed, index) only, so that every acquisition sees the same.

    Args:
        name: The task's name; it seeds design and noise and names the folder of the runs.
        noise_std: Standard deviation of the observation noise.
        initial: Number of points of the initial design, at least 2.
        total: Number of observations in all, the initial design included.

    Attributes:
        dim: D, the number of inputs.
        bounds: `2 x D` in the task's own units, float64: lower corner, upper corner.
        maximize: Whether larger values of f are better.
        optimal_value: The best value of f on the box in that direction, or None where it is not known.
        best_known: The best value that was found, where the optimal one is not known; None if there is none.
        best_known_how: How it was found, in words, or that none is known.
        quantity: What f is, with its unit, in words.
        expensive: Whether a value takes so long that models are not judged on test points.
    """

    bounds: Any  # a box as a class states it; the `2 x D` tensor on every instance
    dim: int
    maximize: bool = False
    optimal_value: float | None = None
    best_known: float | None = None
    best_known_how: str = "none is known"
    quantity: str = ""
    expensive: bool = False

    def __init__(self, *, name: str, initial: int, total: int, noise_std: float = 0.0) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise InputError(f"A task's name must consist of letters, digits, '_', '-' and '.', got {name!r}.")
        self.name = name
        self.noise_std = check_number(f"noise_std of task '{name}'", noise_std, 0.0)
        self.initial = check_integer(f"initial of task '{name}'", initial, 2)
        self.total = check_integer(f"total of task '{name}'", total, 2)
        if self.total < self.initial:
            raise InputError(f"total of task '{name}' must be at least initial ({initial}), got {total}.")
        self.bounds = _check_bounds(name, getattr(self, "bounds", None), getattr(self, "dim", None))
        self.dim = self.bounds.shape[-1]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Whatever calls `evaluate_true`, it is checked, and the author of a task need not know of the checks.
        super().__init_subclass__(**kwargs)
        if "evaluate_true" in cls.__dict__:
            cls.evaluate_true = _checked(cls.__dict__["evaluate_true"])  # type: ignore[assignment,method-assign]

    @abstractmethod
    def evaluate_true(self, X: Tensor) -> Tensor:
        """Noiseless f at each row of X (`n x D`, own units): `n`, in the task's own units and sign."""

    def for_seed(self, seed: int) -> Benchmark:
        """The task that the run of this seed works on: itself, unless the function is another one for every seed.

        Such a task returns a copy of itself with the seed's function and its `optimal_value`, all else the same.
        """
        return self

    def describe(self) -> Task:
        """What the first record of a run says of its task."""
        return {"dim": self.dim, "maximize": self.maximize, "optimal_value": self.optimal_value}

    def initial_design(self, seed: int) -> Tensor:
        """Scrambled Sobol points of this seed in the task's own units, `initial x D`."""
        return self._sobol_points(seed, self.initial)

    def design_point(self, seed: int, place: int) -> Tensor:
        """The point at `place` (counted from 0) of the same Sobol sequence, `D`, also beyond the initial design."""
        return self._sobol_points(seed, place + 1)[place]

    def _sobol_points(self, seed: int, count: int) -> Tensor:
        lower, upper = self.bounds
        sobol = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=derive(self.name, _seed(seed), "design"))
        unit = sobol.draw(count, dtype=torch.float64)
        return torch.clamp(lower + (upper - lower) * unit, lower, upper)

    def noise(self, seed: int, index: int) -> float:
        """The noise of observation `index` (counted from 1) of this seed."""
        index = check_integer("index of the observation", index, 1)
        return self.noise_std * float(generator(self.name, _seed(seed), "noise", index).standard_normal())

    def observe(self, x: Tensor, seed: int, index: int) -> tuple[float, float]:
        """The noisy and the noiseless value at `x` (`D`, own units), as observation `index` of this seed."""
        point = torch.as_tensor(x)
        if point.shape != (self.dim,):
            raise InputError(f"Task '{self.name}' observes one point of shape ({self.dim},), got {tuple(point.shape)}.")
        true = float(self.evaluate_true(point.unsqueeze(0)))
        return true + self.noise(seed, index), true


def _seed(seed: int) -> int:
    return check_integer("seed", seed, 0)


def _checked(function: Callable[[Any, Tensor], Tensor]) -> Callable[[Any, Tensor], Tensor]:
    """`evaluate_true` of a subclass between a check of what goes in and a check of what comes out."""

    @functools.wraps(function)
    def evaluate_true(self: Benchmark, X: Tensor) -> Tensor:
        inside = _check_inputs(self.name, X, *self.bounds)
        try:
            values = function(self, inside.clone())
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"Task '{self.name}' raised {type(error).__name__}: {error}.") from error
        return _check_outputs(self.name, inside, values)

    return evaluate_true


def _check_bounds(name: str, bounds: Any, dim: Any) -> Tensor:
    """The task's box as a `2 x D` float64 tensor."""
    try:
        box = check_bounds(bounds).clone()
    except InputError as error:
        raise InputError(f"Task '{name}': {error}") from error
    if dim is not None and dim != box.shape[1]:
        raise InputError(f"Task '{name}' has dim {dim!r}, but its bounds have {box.shape[1]} coordinates.")
    return box


def _check_inputs(name: str, X: Any, lower: Tensor, upper: Tensor) -> Tensor:
    """X as an `n x D` float64 tensor whose rows all lie in the box."""
    try:
        points = torch.as_tensor(X).to(torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"Task '{name}' takes an n x {len(lower)} tensor, got {type(X).__name__}.") from error
    if points.ndim != 2 or points.shape[1] != len(lower):
        raise InputError(f"Task '{name}' takes X of shape n x {len(lower)}, got {tuple(points.shape)}.")
    slack = ROUNDING * (upper - lower)
    outside = ~((points >= lower - slack) & (points <= upper + slack))  # a NaN is outside
    if outside.any():
        row, column = (int(i) for i in outside.nonzero()[0])
        raise InputError(
            f"X outside the box of task '{name}': coordinate {column + 1} of point {row + 1} is "
            f"{points[row, column].item():.10g}, its bounds are [{lower[column].item():.10g}, "
            f"{upper[column].item():.10g}]."
        )
    return torch.clamp(points, lower, upper)


def _check_outputs(name: str, X: Tensor, values: Any) -> Tensor:
    """`values` if they are what a task returns for X: `n` finite float64 numbers."""
    expected = f"a float64 tensor of shape ({len(X)},)"
    if not isinstance(values, Tensor):
        raise InputError(f"Task '{name}' must return {expected}, it returned {type(values).__name__}.")
    if values.shape != (len(X),):
        raise InputError(f"Task '{name}' must return {expected}, it returned shape {tuple(values.shape)}.")
    if values.dtype != torch.float64:
        raise InputError(f"Task '{name}' must return {expected}, it returned {values.dtype}.")
    if not values.isfinite().all():
        row = int((~values.isfinite()).nonzero()[0, 0])
        raise InputError(f"Task '{name}' returned {values[row].item()} at x = {describe_point(X[row].tolist())}.")
    return values
