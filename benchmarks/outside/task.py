"""A task whose function is outside code: what crashes, hangs or swallows memory there is a failed evaluation.

The solver is a function that `make` returns, given `arguments`; both run in a child process, which stays for the next
evaluation. Modules with solvers import neither torch nor this one, so that a child is up in the time of their imports.
"""

from __future__ import annotations

import importlib.util
import json
import logging
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from scorebo.benchmarks.base import Benchmark
from scorebo.benchmarks.outside.process import Solve, Solver, SolverError
from scorebo.errors import InputError, check_number

logger = logging.getLogger(__name__)

# Written by `scripts/maintenance/best_known.py`, for the tasks as configured.
BEST_KNOWN = Path(__file__).parents[1] / "data" / "best_known.json"


class Best(NamedTuple):
    """A value, the point it was found at (`D`, the task's own units; it can be seen to be reached), and how."""

    value: float
    x: tuple[float, ...]
    how: str


@lru_cache
def _best_known() -> dict[str, Best]:
    entries = json.loads(BEST_KNOWN.read_text(encoding="utf-8"))
    return {name: Best(entry["value"], tuple(entry["x"]), entry["how"]) for name, entry in entries.items()}


def best_known(name: str) -> Best | None:
    """The best value known of a task whose optimum is not; None where there is none."""
    return _best_known().get(name)


class OutsideTask(Benchmark):
    """A task evaluated in a child process.

    Args:
        time_limit: seconds for one evaluation.
        memory_limit_mb: of the child, in MiB of address space.
        options: those of every task.

    Attributes:
        failure_value: what an evaluation scores that the solver failed at; None: it is a failed evaluation.
        package: what has to be installed for it besides scorebo itself: name of the module, and the extra of scorebo.
        points_per_request: how many points the solver is asked for at once.
    """

    failure_value: ClassVar[float | None] = None
    package: ClassVar[tuple[str, str] | None] = None
    points_per_request: ClassVar[int] = 1

    def __init__(self, *, time_limit: float, memory_limit_mb: float, **options: Any) -> None:
        super().__init__(**options)
        check_number(f"time_limit of task '{self.name}'", time_limit, 0.0, exclusive=True)
        check_number(f"memory_limit_mb of task '{self.name}'", memory_limit_mb, 0.0, exclusive=True)
        if self.package is not None and importlib.util.find_spec(self.package[0]) is None:
            module, extra = self.package
            raise InputError(f"Task '{self.name}' needs the package {module}: pip install 'scorebo[{extra}]'.")
        make, arguments = self.solver()
        best = best_known(self.name)
        if best is not None and len(best.x) == self.dim:
            self.best_known, self.best_known_how = best.value, best.how
        self._solve = Solver(make, arguments, time_limit=time_limit, memory_limit_mb=memory_limit_mb)

    @abstractmethod
    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        """The function that makes the solver, and its arguments; its data are seen to be there."""

    def evaluate_true(self, X: Tensor) -> Tensor:
        parts = [self._values(part) for part in X.split(self.points_per_request)] if len(X) else [X.new_empty(0)]
        return torch.cat(parts)

    def _values(self, X: Tensor) -> Tensor:
        try:
            values = torch.from_numpy(self._solve(X.numpy()))
        except SolverError as error:
            if self.failure_value is None:
                raise
            logger.warning("Task '%s' scores %g at %s: %s", self.name, self.failure_value, X.tolist(), error)
            return torch.full((len(X),), self.failure_value, dtype=torch.float64)
        if self.failure_value is None:
            return values
        return torch.where(values.isfinite(), values, self.failure_value)
