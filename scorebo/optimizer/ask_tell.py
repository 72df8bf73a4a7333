"""Optimization of the user's own function: an optimizer that is asked for points and told values, and its loop."""

from __future__ import annotations

import inspect
import json
import logging
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition import Context, MixtureMean, build_strategy, maximize
from scorebo.config import as_dict, compose, load_model, sampler_settings
from scorebo.config.schema import ON_FAILURE
from scorebo.errors import InputError, check_choice, check_integer, check_tensor, reason_of
from scorebo.gp import FullyBayesianGP
from scorebo.inference import Carry
from scorebo.inference.fit import build_sampler
from scorebo.run.avoidance import MOST_FAILURES, fit_tried, propose, tried_points
from scorebo.search.box import Bounds, check_bounds, unit_box
from scorebo.seeds import derive
from scorebo.store import IDENTITY_NODES, write_atomically
from scorebo.transforms.standardize import DataTransform

logger = logging.getLogger(__name__)

FORMAT = 1
NODES = tuple(node for node in IDENTITY_NODES if node not in ("benchmark", "seed"))


@dataclass(frozen=True)
class Result:
    """What an optimization has found so far, in the function's own units.

    Args:
        X: `n x D`, the points observed.
        y: `n`, their values.
        best_x: `D`, the point with the best value observed.
        best_y: that value.
        recommended_x: `D`, where the model's mean is best; the safer choice when observations are noisy.
        failures: `x` and `reason` of every evaluation that failed.
    """

    X: Tensor
    y: Tensor
    best_x: Tensor
    best_y: float
    recommended_x: Tensor
    failures: list[dict[str, Any]] = field(default_factory=list)


class Optimizer:
    """Proposes points (`ask`) and learns from values (`tell`), with the paper's settings for synthetic functions.

    Every proposal is a function of the observations and the seed (with `mcmc=sequential` also of when points were asked
    for), so that an optimizer read back from its file goes on exactly as it would have.

    Args:
        bounds: `scorebo.Box(lower=…, upper=…)`, D pairs (lower, upper), or the two corners `2 x D`. A `2 x 2` tensor
            holds corners; other 2 x 2 numbers that could be either are refused.
        acquisition: name of an acquisition config.
        seed: of everything random.
        maximize: whether larger values are better.
        initial: points of the Sobol design before the model is used; D + 1 by default.
        file: where the observations are kept after every `tell`; read back if it is there.
        settings: further settings as on the command line, e.g. `["mcmc.warmup=64", "model=botorch"]`.
        on_failure: "avoid": after `fail(x, …)`, `ask` returns another point and avoids all that failed; "stop": `ask`
            returns the same point again, for failures that pass.
    """

    def __init__(
        self,
        bounds: Bounds | None = None,
        acquisition: str = "scorebo_hr",
        *,
        seed: int = 0,
        maximize: bool = True,
        initial: int | None = None,
        file: str | Path | None = None,
        settings: Sequence[str] = (),
        on_failure: str = "avoid",
    ) -> None:
        self.on_failure = check_choice("on_failure", on_failure, ON_FAILURE)
        self.bounds = check_bounds(bounds)
        if not isinstance(maximize, bool):
            raise InputError(f"maximize must be True or False, got {maximize!r}.")
        if isinstance(settings, str):
            raise InputError(f"settings must be a list, got {settings!r}: use settings=[{settings!r}].")
        for setting in settings:
            # All other nodes of a configuration are those of a run, and would be ignored here.
            check_choice("node of a setting", re.split(r"[./=]", setting.lstrip("+~"))[0], NODES)
        self.maximize = maximize
        self.seed = check_integer("seed", seed, 0)
        self.initial = check_integer("initial", self.dim + 1 if initial is None else initial, 2)
        # A synthetic task selects the paper's model and MCMC settings; of the task itself nothing is used.
        config = as_dict(compose(["benchmark=branin", f"acquisition={acquisition}", *settings]))
        self._nodes = {name: config[name] for name in NODES}
        self._surrogate = load_model(config["model"])
        self._surrogate.check_dim(self.dim)
        build_sampler(self._surrogate, **sampler_settings(config["mcmc"]))  # refused before anything is observed
        self._strategy = build_strategy(config["acquisition"], config["acquisition_optimizer"])
        self.file = None if file is None else Path(file)
        self.points: list[list[float]] = []
        self.values: list[float] = []
        self.failures: list[dict[str, Any]] = []
        # The sampler's state that fits to the present observations go on from, and the one such a fit left behind for
        # later ones: however often the present observations are fitted, all start from the same.
        self._carried: dict[str, Any] | None = None
        self._fitted: tuple[int, dict[str, Any] | None] = (0, None)
        if self.file is not None and self.file.exists():
            self._read(self.file)

    @property
    def dim(self) -> int:
        """Number of inputs D."""
        return self.bounds.shape[1]

    def ask(self, q: int = 1) -> Tensor:
        """The point to observe next, `D`; the same until a value or a failure is reported. Only q = 1 is supported."""
        if q != 1:
            raise InputError(
                f"ask proposes one point at a time, got q={q!r}: several points at once are not supported yet. "
                "Call ask(), evaluate the function there, call tell(x, y), and ask again."
            )
        number = len(self.values) + 1
        if number <= self.initial:
            place = len(self.values) + len(self._failed())
            engine = SobolEngine(self.dim, scramble=True, seed=derive("own function", self.seed, "design"))
            unit = engine.draw(place + 1, dtype=torch.float64)[place]
            return self.bounds[0] + unit * (self.bounds[1] - self.bounds[0])
        model, transform = self._fit()
        mcmc = self._nodes["mcmc"]
        context = Context(
            model=model,
            bounds=unit_box(self.dim),
            task="own function",
            seed=self.seed,
            iteration=number,
            num_optima=mcmc["num_optima"] or Context.num_optima,
            num_features=mcmc["num_features"] or Context.num_features,
        )
        failed = torch.tensor([failure["x"] for failure in self._failed()], dtype=torch.float64).reshape(-1, self.dim)
        return transform.from_unit(propose(self._strategy, context, transform.to_unit(failed)).x)

    def tell(self, x: Tensor | Sequence[float], y: float) -> None:
        """Add an observation; any point of the box will do, asked for or not."""
        point = self._point(x)
        value = _number(y)
        if not math.isfinite(value):
            self.fail(point, f"the value is {value}")
            raise InputError(
                f"The value at {point.tolist()} is {value}. It was noted as failed, not as an observation."
            )
        if self._fitted[0] == len(self.values):
            self._carried = self._fitted[1]
        self.points.append(point.tolist())
        self.values.append(value)
        self._write()

    def fail(self, x: Tensor | Sequence[float], reason: str) -> None:
        """Record a failed evaluation at x. `ask` avoids this point unless `tell` reports a value for it later."""
        self.failures.append({"x": self._point(x).tolist(), "reason": reason, "after": len(self.values)})
        self._write()

    def result(self) -> Result:
        """What has been found so far; at least two observations are needed."""
        model, transform = self._fit()
        X, y = self._data()
        best = int(transform.to_model(y).argmax())
        seed = derive("own function", self.seed, "recommendation", len(y))
        x, _ = maximize(MixtureMean(model), unit_box(self.dim), seed=seed, around=transform.to_unit(X[best]))
        failures = [{"x": failure["x"], "reason": failure["reason"]} for failure in self.failures]
        return Result(X, y, X[best], float(y[best]), transform.from_unit(x.squeeze(0)), failures)

    def _fit(self) -> tuple[FullyBayesianGP, DataTransform]:
        count = len(self.values)
        if count < 2:
            raise InputError(f"At least two observations are needed, there are {count}.")
        carry = Carry(self._carried)
        model, transform = fit_tried(
            *self._tried(),
            self.bounds,
            self._surrogate,
            self._nodes["mcmc"],
            maximize=self.maximize,
            seed=derive("own function", self.seed, "mcmc", count + 1),
            carry=carry,
        )
        self._fitted = (count, carry.state)
        return model, transform

    def _failed(self) -> list[dict[str, Any]]:
        """The failures to avoid: each point once, none that was observed later."""
        if self.on_failure == "stop":
            return []
        first: dict[tuple[float, ...], dict[str, Any]] = {}
        for failure in self.failures:
            first.setdefault(tuple(failure["x"]), failure)
        return [failure for failure in first.values() if failure["x"] not in self.points]

    def _tried(self) -> tuple[Tensor, Tensor]:
        """Points and values in the order they were tried: the sequential sampler finds its earlier data first."""
        attempts: list[tuple[list[float], float | None]] = []
        failed = self._failed()
        for number in range(len(self.values) + 1):
            attempts += [(failure["x"], None) for failure in failed if failure.get("after", 0) == number]
            attempts += zip(self.points[number : number + 1], self.values[number : number + 1], strict=True)
        return tried_points(attempts, self.dim)

    def _point(self, x: Tensor | Sequence[float]) -> Tensor:
        point = check_tensor("x", x).reshape(-1)
        inside = point.shape == (self.dim,) and bool(((point >= self.bounds[0]) & (point <= self.bounds[1])).all())
        if not inside:
            raise InputError(f"x must be a point of {self.dim} coordinates in the box, got {point.tolist()}.")
        return point

    def _data(self) -> tuple[Tensor, Tensor]:
        X = torch.tensor(self.points, dtype=torch.float64).reshape(-1, self.dim)
        return X, torch.tensor(self.values, dtype=torch.float64)

    def _identity(self) -> dict[str, Any]:
        box = {"bounds": self.bounds.tolist(), "maximize": self.maximize, "initial": self.initial, "seed": self.seed}
        return {"format": FORMAT, **box, **self._nodes}

    def _write(self) -> None:
        if self.file is not None:
            state = {"x": self.points, "y": self.values, "failures": self.failures, "carried": self._carried}
            write_atomically(self.file, json.dumps(self._identity() | state, indent=1))

    def _read(self, file: Path) -> None:
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            self.points, self.values, self.failures = stored.pop("x"), stored.pop("y"), stored.pop("failures")
            self._carried = stored.pop("carried", None)
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise InputError(f"{file} cannot be read back ({error}); choose another file.") from error
        changed = sorted(key for key, value in self._identity().items() if stored.get(key) != value)
        if changed:
            raise InputError(f"{file} belongs to an optimization with other settings ({', '.join(changed)}).")


def optimize(
    function: Callable[[Tensor], float],
    bounds: Bounds | None = None,
    acquisition: str = "scorebo_hr",
    budget: int = 50,
    seed: int = 0,
    callback: Callable[[Tensor, float, int], None] | None = None,
    on_failure: str = "stop",
    **options: Any,
) -> Result:
    """Optimize a function over a box.

    Args:
        function: a point `D` (float64 tensor) -> a number; it may be noisy.
        bounds: `scorebo.Box(lower=…, upper=…)`, or another form that `Optimizer` takes.
        acquisition: name of an acquisition config.
        budget: number of evaluations in all, those of a file that is read back included.
        seed: of everything random.
        callback: called after each evaluation with the point, its value, and how many there are.
        on_failure: when the function raises or returns no finite number. "stop": raise; with a `file` the same call
            tries the same point again. "avoid": note it in the result's `failures` and go on with another point.
        options: those of `Optimizer`: maximize (True), initial, file, settings.

    Raises:
        InputError: the function raised, or returned no finite number; with "avoid", at too many points in a row.
    """
    check_integer("budget", budget, 2)
    allowed = inspect.signature(Optimizer).parameters.keys() - inspect.signature(optimize).parameters.keys()
    for name in options:
        check_choice("option of optimize", name, allowed)
    optimizer = Optimizer(bounds, acquisition, seed=seed, on_failure=on_failure, **options)
    failures = 0  # in a row
    while len(optimizer.values) < budget:
        x = optimizer.ask()
        try:
            y = _number(function(x.clone()))
            if not math.isfinite(y):
                raise InputError(f"the value is {y}")
        except Exception as error:
            reason, failures = reason_of(error).rstrip("."), failures + 1
            optimizer.fail(x, reason)
            message = f"The function failed at {x.tolist()}: {reason}."
            if on_failure == "avoid" and failures < MOST_FAILURES:
                logger.warning("%s Another point is tried.", message)
                continue
            kept = "" if optimizer.file is None else f" {len(optimizer.values)} observations are in {optimizer.file}."
            stop = ' With on_failure="avoid" the optimization goes on with another point.'
            many = f" It failed at all of the last {failures} points."
            raise InputError(f"{message}{kept}{stop if on_failure == 'stop' else many}") from error
        failures = 0
        optimizer.tell(x, y)
        if callback is not None:
            callback(x, y, len(optimizer.values))
    return optimizer.result()


def _number(y: Any) -> float:
    value = check_tensor("The value", y, "one number")
    if value.numel() != 1:
        raise InputError(f"The value must be one number, got shape {tuple(value.shape)}.")
    return value.item()
