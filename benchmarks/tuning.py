"""Tuning of deep networks, by surrogates of real trainings; both suites are maximized on the unit box.

A point is scaled to hyperparameters as the config says (`scorebo.benchmarks.spaces`): a model sees the logarithm
of a learning rate, and every integer has the same share of the box; `configuration` returns their own units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from scorebo.benchmarks import spaces
from scorebo.benchmarks.outside.process import Solve
from scorebo.benchmarks.outside.task import OutsideTask
from scorebo.benchmarks.solvers import surrogates
from scorebo.data.sources import dataset, required
from scorebo.errors import check_choice, check_integer

SUFFIX = "-valid_error_rate.json"


class _Surrogate(OutsideTask):
    """A surrogate of trainings.

    Args:
        parameters: by name, with `lower`, `upper` and, where it is so, `log` and `integer`.
        epoch: after how many epochs the network is judged.
        options: those of every task that is evaluated in a child process.
    """

    maximize = True
    points_per_request = 4096

    def __init__(self, *, parameters: Mapping[str, Mapping[str, Any]], epoch: int, **options: Any) -> None:
        self.space = spaces.parameters(parameters)
        self.epoch = check_integer("epoch", epoch, 1)
        self.bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, len(self.space))
        super().__init__(**options)

    def configuration(self, x: Tensor) -> dict[str, float]:
        """The hyperparameters at a point of the unit box (`D`) by name, in their own units."""
        values = spaces.decode(self.space, torch.as_tensor(x, dtype=torch.float64).reshape(1, -1).numpy())[0]
        return {p.name: int(v) if p.integer else float(v) for p, v in zip(self.space, values, strict=True)}


class PD1(_Surrogate):
    """Validation accuracy of a network of PD1, by the surrogate of mf-prior-bench.

    Args:
        model: name of the surrogate's file without its ending.
        options: those of every surrogate.
    """

    quantity = "validation accuracy, a fraction"
    package = ("xgboost", "pd1")

    def __init__(self, *, model: str, **options: Any) -> None:
        self.model = model
        super().__init__(**options)

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        names = {Path(source.name).name.removesuffix(SUFFIX): source.name for source in dataset("pd1").files}
        (file,) = required("pd1", [names[check_choice("surrogate of PD1", self.model, names)]])
        return surrogates.pd1, {"file": str(file), "space": self.space, "epoch": self.epoch}


class LCBench(_Surrogate):
    """Validation accuracy of a network on one of LCBench's data sets, by the surrogate of YAHPO Gym.

    Args:
        task_id: OpenML's number of the task.
        options: those of every surrogate.
    """

    quantity = "validation accuracy, per cent"
    package = ("onnxruntime", "lcbench")

    def __init__(self, *, task_id: int, **options: Any) -> None:
        self.task_id = check_integer("task_id", task_id, 1)
        super().__init__(**options)

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        model, encoding = map(str, required("lcbench"))
        arguments = {"model": model, "encoding": encoding, "task_id": str(self.task_id)}
        return surrogates.lcbench, {**arguments, "space": self.space, "epoch": self.epoch}
