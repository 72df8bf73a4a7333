"""Tasks that misbehave, each in one way."""

from __future__ import annotations

import torch

from benchmarks.base import Benchmark


class _OneDimensional(Benchmark):
    bounds = ((0.0,), (1.0,))


class ReturnsNaN(_OneDimensional):
    def evaluate_true(self, X):
        return X[:, 0] * float("nan")


class ReturnsWrongShape(_OneDimensional):
    def evaluate_true(self, X):
        return X


class Constant(_OneDimensional):
    def __init__(self, **settings):
        super().__init__(**(settings | {"noise_std": 0.0}))

    def evaluate_true(self, X):
        return torch.zeros(len(X), dtype=torch.float64)


class FailsLate(_OneDimensional):
    """Fine on single points, not on the two thousand of the metrics."""

    def evaluate_true(self, X):
        return X[:, 0] if len(X) == 1 else X[:, 0] * float("nan")
