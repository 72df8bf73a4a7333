"""Tasks that misbehave, each in one way."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import torch

from scorebo.benchmarks.active_learning import Gramacy1
from scorebo.benchmarks.base import Benchmark
from scorebo.errors import check_integer


class _OneDimensional(Benchmark):
    bounds = ((0.0,), (1.0,))


class ReturnsNaN(_OneDimensional):
    def evaluate_true(self, X):
        return X[:, 0] * float("nan")


class ReturnsWrongShape(_OneDimensional):
    def evaluate_true(self, X):
        return X


class Raises(_OneDimensional):
    def evaluate_true(self, X):
        raise RuntimeError("the machine is on fire")


class CallsUs(_OneDimensional):
    """Raises an error of ours, from a function of ours that it calls."""

    def evaluate_true(self, X):
        check_integer("budget", -1, 0)


class Constant(_OneDimensional):
    def __init__(self, **settings):
        super().__init__(**(settings | {"noise_std": 0.0}))

    def evaluate_true(self, X):
        return torch.zeros(len(X), dtype=torch.float64)


class FailsLate(_OneDimensional):
    """Fine on single points, not on the two thousand of the metrics."""

    def evaluate_true(self, X):
        return X[:, 0] if len(X) == 1 else X[:, 0] * float("nan")


class Fragile(_OneDimensional):
    """Observation 4 goes wrong in the way `fault` says: "raise", or the value it becomes."""

    fault: str | float | None = None
    observing = 0

    def observe(self, x, seed, index):
        self.observing = index
        try:
            return super().observe(x, seed, index)
        finally:
            self.observing = 0

    def evaluate_true(self, X):
        value = torch.sin(5.0 * X[:, 0])
        if self.observing != 4 or self.fault is None:
            return value
        if self.fault == "raise":
            raise RuntimeError("the machine is on fire")
        return torch.full_like(value, self.fault)


class NotANumberObserved(_OneDimensional):
    """Its own `observe`, which nobody checks but the run."""

    def observe(self, x, seed, index):
        return float("nan"), 0.0

    def evaluate_true(self, X):
        return X[:, 0]


class RaisesLate(_OneDimensional):
    """Fine on single points, not on the two thousand of the metrics."""

    def evaluate_true(self, X):
        if len(X) > 1:
            raise MemoryError("too many points")
        return X[:, 0]


class Mortal(Gramacy1):
    """Gramacy (1D) whose process is killed, once, at the iteration that is the seed (the closing one included)."""

    def __init__(self, grave, **settings):
        super().__init__(**settings)
        self.grave = Path(grave)
        self.seed = self.observed = 0

    def observe(self, x, seed, index):
        self.seed, self.observed = seed, index
        if index == seed:
            self.die()
        return super().observe(x, seed, index)

    @property
    def maximize(self):
        """Asked in every iteration with a model, also in the closing one, which observes nothing."""
        if self.observed == self.total == self.seed - 1:
            self.die()
        return False

    def die(self):
        try:
            (self.grave / str(self.seed)).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


class Sleepy(Gramacy1):
    """Gramacy (1D) that does not come back from observation `at` as long as the file `bed` is there."""

    def __init__(self, bed, at=4, **settings):
        super().__init__(**settings)
        self.bed = Path(bed)
        self.at = at

    def observe(self, x, seed, index):
        while index == self.at and self.bed.exists():
            time.sleep(0.05)
        return super().observe(x, seed, index)


class Breakable(Gramacy1):
    """Gramacy (1D) that raises at observation 4 as long as the file `fault` is there."""

    def __init__(self, fault, **settings):
        super().__init__(**settings)
        self.fault = Path(fault)

    def observe(self, x, seed, index):
        if index == 4 and self.fault.exists():
            raise RuntimeError("the machine is on fire")
        return super().observe(x, seed, index)


class Greedy(Gramacy1):
    """Gramacy (1D) that takes two gigabytes at observation 4 as long as the file `purse` is there."""

    def __init__(self, purse, **settings):
        super().__init__(**settings)
        self.purse = Path(purse)

    def observe(self, x, seed, index):
        if index == 4 and self.purse.exists():
            taken = b"x" * 2**31
            time.sleep(30)
            del taken
        return super().observe(x, seed, index)


class Forbidden(Gramacy1):
    """Gramacy (1D) that always raises where the input, scaled to [0, 1], is between `start` and `end`."""

    def __init__(self, start=0.1, end=0.7, **settings):
        super().__init__(**settings)
        self.start, self.end = start, end

    def evaluate_true(self, X):
        lower, upper = self.bounds
        place = (X[:, 0] - lower[0]) / (upper[0] - lower[0])
        if bool(((place >= self.start) & (place <= self.end)).any()):
            raise RuntimeError("the mixture explodes")
        return super().evaluate_true(X)
