"""Sums of functions of two inputs each, every one a draw from a Gaussian process; every seed is another function.

Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch

from scorebo.benchmarks.gp_samples import GPSample
from scorebo.benchmarks.optima import Optimum, maximize
from scorebo.errors import check_integer, check_number
from scorebo.seeds import generator


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

    def for_seed(self, seed: int) -> AdditiveGPSample:
        """The task with the function of this seed, itself a function of (name, seed) and the hyperparameters."""
        task = copy.copy(self)
        task.__dict__.pop("optimum", None)
        task.function_seed = check_integer("seed", seed, 0)
        draw = generator(self.name, seed, "function")
        shape = (self.num_groups, self.num_features)
        task.frequencies = torch.zeros(self.dim, self.num_groups * self.num_features, dtype=torch.float64)
        normal = torch.from_numpy(draw.standard_normal((self.num_groups, 2, self.num_features)) / self.lengthscale[0])
        for k, pair in enumerate(self.pairs):
            task.frequencies[list(pair), k * self.num_features : (k + 1) * self.num_features] = normal[k]
        task.phases = torch.from_numpy(draw.uniform(0.0, 2.0 * math.pi, shape)).flatten()
        amplitude = math.sqrt(2.0 * self.outputscale / self.num_features)
        task.weights = torch.from_numpy(amplitude * draw.standard_normal(shape)).flatten()
        return task

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
