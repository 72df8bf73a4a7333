"""Draws from Gaussian processes with known hyperparameters, and sums of them, as tasks: every seed is another function.

Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.benchmarks.base import Benchmark
from scorebo.benchmarks.optima import Optimum, maximize, stored_optimum
from scorebo.errors import InputError, check_integer, check_number
from scorebo.seeds import generator

# Points evaluated at once: larger batches fall out of the cache.
SLICE = 256


class GPSample(Benchmark):
    """A draw of a zero-mean Matérn-5/2 GP on the unit box by random Fourier features; maximized.

    f(x) = √(2s/F) Σ_i w_i cos(ω_iᵀx + b_i), with ω_i from the kernel's spectral density (a t distribution with five
    degrees of freedom, divided by the lengthscales), b_i uniform in [0, 2π] and w_i standard normal.

    `for_seed` gives the function of a seed; before that there is none to evaluate.

    Args:
        lengthscale: one per dimension; their number is D.
        outputscale: s, the variance of f.
        num_features: F.
        options: those of every task.
    """

    maximize = True
    # Those of a seed's function:
    frequencies: Tensor  # D x F
    phases: Tensor  # F
    weights: Tensor  # F

    def __init__(
        self, *, lengthscale: Sequence[float], outputscale: float = 1.0, num_features: int = 2048, **options: Any
    ) -> None:
        if not isinstance(lengthscale, Sequence) or isinstance(lengthscale, str) or not lengthscale:
            raise InputError(f"lengthscale must list one number for each dimension, got {lengthscale!r}.")
        self.lengthscale = [check_number("lengthscale", value, 0.0, exclusive=True) for value in lengthscale]
        self.outputscale = check_number("outputscale", outputscale, 0.0, exclusive=True)
        self.num_features = check_integer("num_features", num_features, 1)
        self.function_seed: int | None = None
        self.bounds = ((0.0,) * len(lengthscale), (1.0,) * len(lengthscale))
        super().__init__(**options)

    def for_seed(self, seed: int) -> GPSample:
        """The task with the function of this seed, itself a function of (name, seed) and the hyperparameters."""
        task = copy.copy(self)
        task.__dict__.pop("optimum", None)
        task.function_seed = check_integer("seed", seed, 0)
        # Drawn here, not by the package's own path sampler: a task must stay the same when that is improved.
        draw = generator(self.name, seed, "function")
        task.frequencies = self._frequencies(draw)
        count = task.frequencies.shape[1]
        task.phases = torch.from_numpy(draw.uniform(0.0, 2.0 * math.pi, count))
        amplitude = math.sqrt(2.0 * self.outputscale / self.num_features)
        task.weights = torch.from_numpy(amplitude * draw.standard_normal(count))
        return task

    def _frequencies(self, draw: np.random.Generator) -> Tensor:
        normal = draw.standard_normal((self.num_features, self.dim))
        scale = (5.0 / draw.chisquare(5.0, (self.num_features, 1))) ** 0.5
        return torch.from_numpy((normal * scale / self.lengthscale).T.copy())

    def evaluate_true(self, X: Tensor) -> Tensor:
        self._require_function()
        return torch.cat([self._evaluate(part) for part in X.split(SLICE)]) if len(X) else X.new_empty(0)

    def _evaluate(self, X: Tensor) -> Tensor:
        # One dimension after the other, not a matrix product, whose roundings depend on the number of rows.
        phase = self.phases.expand(len(X), -1).clone()
        for column, frequency in zip(X.unbind(-1), self.frequencies, strict=True):
            phase.addcmul_(column.unsqueeze(-1), frequency)
        return phase.cos_().mul_(self.weights).sum(-1)

    @property
    def optimal_value(self) -> float | None:  # type: ignore[override]
        """The maximum of this seed's function; None before `for_seed`."""
        return None if self.function_seed is None else self.optimum.value

    @functools.cached_property
    def optimum(self) -> Optimum:
        """Where the maximum is and how high: from the package's table, the cache, or a search of a few seconds."""
        self._require_function()
        return stored_optimum(self.definition, self.evaluate_true, self.search)

    def search(self, seed: int = 0) -> Optimum:
        """Maximize this seed's function; the raw points of the search are those of another seed."""
        return maximize(self.frequencies, self.phases, self.weights, seed=seed)

    @property
    def definition(self) -> dict[str, Any]:
        """All that determines the function."""
        names = ("name", "lengthscale", "outputscale", "num_features")
        return {"seed": self.function_seed, **{name: getattr(self, name) for name in names}}

    def _require_function(self) -> None:
        if self.function_seed is None:
            raise InputError(f"Task '{self.name}' is another function for every seed: take one with for_seed(seed).")


class AdditiveGPSample(GPSample):
    """A sum over pairs of inputs of independent draws of a zero-mean squared-exponential GP on [0, 1]²; maximized.

    Each pair's function is √(2s/F) Σ_i w_i cos(ω_iᵀx + b_i), with ω_i normal, divided by the lengthscale, b_i uniform
    in [0, 2π] and w_i standard normal. Of the sum's features each pair has F, with frequencies of 0 for other inputs.

    Args:
        num_groups: pairs of inputs; D is twice that.
        lengthscale: of every input.
        outputscale: s, the variance of each pair's function.
        num_features: F, those of each pair's function.
        options: those of every task.

    Attributes:
        pairs: the inputs that act together, counted from 0.
    """

    def __init__(
        self, *, num_groups: int, lengthscale: float, outputscale: float = 1.0, num_features: int = 1024, **options: Any
    ) -> None:
        self.num_groups = check_integer("num_groups", num_groups, 1)
        own = check_number("lengthscale", lengthscale, 0.0, exclusive=True)
        self.pairs = [(2 * k, 2 * k + 1) for k in range(num_groups)]
        super().__init__(
            lengthscale=[own] * (2 * num_groups), outputscale=outputscale, num_features=num_features, **options
        )

    def _frequencies(self, draw: np.random.Generator) -> Tensor:
        found = torch.zeros(self.dim, self.num_groups * self.num_features, dtype=torch.float64)
        normal = torch.from_numpy(draw.standard_normal((self.num_groups, 2, self.num_features)) / self.lengthscale[0])
        for k, pair in enumerate(self.pairs):
            found[list(pair), k * self.num_features : (k + 1) * self.num_features] = normal[k]
        return found

    def search(self, seed: int = 0) -> Optimum:
        """Maximize every pair's function by itself; the values add up."""
        x, value = [], 0.0
        for k, pair in enumerate(self.pairs):
            own = slice(k * self.num_features, (k + 1) * self.num_features)
            found = maximize(self.frequencies[list(pair), own], self.phases[own], self.weights[own], seed=seed)
            x += found.x
            value += found.value
        return Optimum(x, value)

    @property
    def definition(self) -> dict[str, Any]:
        """All that determines the function."""
        return {**super().definition, "num_groups": self.num_groups}
