"""Optimisation of the user's own function: an optimiser that is asked for points and told values, and its loop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition import Context, MixtureMean, build_strategy, maximize
from scorebo.box import Bounds, check_bounds, unit_box
from scorebo.config import as_dict, compose, load_model, sampler_settings
from scorebo.errors import InputError, check_choice, check_integer, check_tensor, reason_of
from scorebo.gp import FullyBayesianGP
from scorebo.inference import Carry, fit_gp
from scorebo.scaling import Scaling
from scorebo.seeds import derive
from scorebo.store import write_atomically

FORMAT = 1
OPTIONS = ("file", "initial", "maximize", "settings")


@dataclass(frozen=True)
class Result:
    """What an optimisation has found so far, in the function's own units.

    Args:
        X: `n x D`, the points observed.
        y: `n`, their values.
        best_x: `D`, the point with the best value observed.
        best_y: that value.
        recommended_x: `D`, where the model's mean is best; the safer choice when observations are noisy.
    """

    X: Tensor
    y: Tensor
    best_x: Tensor
    best_y: float
    recommended_x: Tensor


class Optimizer:
    """Proposes points (`ask`) and learns from values (`tell`), with the paper's settings for synthetic functions.

    Every proposal is a function of the observations and the seed (with `mcmc=sequential` also of when points were asked
    for), so that an optimiser read back from its file goes on exactly as it would have.

    Args:
        bounds: `scorebo.Box(lower=…, upper=…)`, D pairs (lower, upper), or the two corners `2 x D`. A `2 x 2` tensor
            holds corners; other 2 x 2 numbers that could be either are refused.
        acquisition: name of an acquisition config.
        seed: of everything random.
        maximize: whether larger values are better.
        initial: points of the Sobol design before the model is used; D + 1 by default.
        file: where the observations are kept after every `tell`; read back if it is there.
        settings: further settings as on the command line, e.g. `["mcmc.warmup=64", "model=botorch"]`.
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
    ) -> None:
        self.bounds = check_bounds(bounds)
        if not isinstance(maximize, bool):
            raise InputError(f"maximize must be True or False, got {maximize!r}.")
        if isinstance(settings, str):
            raise InputError(f"settings must be a list, got {settings!r}: use settings=[{settings!r}].")
        self.maximize = maximize
        self.seed = check_integer("seed", seed, 0)
        self.initial = check_integer("initial", self.dim + 1 if initial is None else initial, 2)
        # A synthetic task selects the paper's model and MCMC settings; of the task itself nothing is used.
        config = as_dict(compose(["benchmark=branin", f"acquisition={acquisition}", *settings]))
        self._nodes = {name: config[name] for name in ("model", "mcmc", "acquisition", "optimizer")}
        self._surrogate = load_model(config["model"])
        self._surrogate.check_dim(self.dim)
        self._strategy = build_strategy(config["acquisition"], config["optimizer"])
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
        """The point to observe next, `D`; the same until a value is told. Only q = 1, one point, is supported."""
        if q != 1:
            raise InputError(
                f"ask proposes one point at a time, got q={q!r}: several points at once are not supported yet. "
                "Call ask(), evaluate the function there, call tell(x, y), and ask again."
            )
        number = len(self.values) + 1
        if number <= self.initial:
            engine = SobolEngine(self.dim, scramble=True, seed=derive("own function", self.seed, "design"))
            unit = engine.draw(self.initial, dtype=torch.float64)[number - 1]
            return self.bounds[0] + unit * (self.bounds[1] - self.bounds[0])
        model, scaling = self._fit()
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
        return scaling.from_unit(self._strategy.propose(context).x)

    def tell(self, x: Tensor | Sequence[float], y: float) -> None:
        """Add an observation; any point of the box will do, asked for or not."""
        point = check_tensor("x", x).reshape(-1)
        inside = point.shape == (self.dim,) and bool(((point >= self.bounds[0]) & (point <= self.bounds[1])).all())
        if not inside:
            raise InputError(f"x must be a point of {self.dim} coordinates in the box, got {point.tolist()}.")
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

    def fail(self, x: Tensor, reason: str) -> None:
        """Note that the evaluation at x failed; it is no observation."""
        self.failures.append({"x": x.tolist(), "reason": reason})
        self._write()

    def result(self) -> Result:
        """What has been found so far; at least two observations are needed."""
        model, scaling = self._fit()
        X, y = self._data()
        best = int(scaling.to_model(y).argmax())
        seed = derive("own function", self.seed, "recommendation", len(y))
        x, _ = maximize(MixtureMean(model), unit_box(self.dim), seed=seed, around=model.train_X[best])
        return Result(X, y, X[best], float(y[best]), scaling.from_unit(x.squeeze(0)))

    def _fit(self) -> tuple[FullyBayesianGP, Scaling]:
        X, y = self._data()
        if len(y) < 2:
            raise InputError(f"At least two observations are needed, there are {len(y)}.")
        scaling = Scaling.of(
            self.bounds,
            y,
            maximize=self.maximize,
            standardize=self._surrogate.standardize,
            yeo_johnson=self._surrogate.yeo_johnson,
        )
        carry = Carry(self._carried)
        model = fit_gp(
            scaling.to_unit(X),
            scaling.to_model(y),
            self._surrogate,
            seed=derive("own function", self.seed, "mcmc", len(y) + 1),
            carry=carry,
            **sampler_settings(self._nodes["mcmc"]),
        )
        self._fitted = (len(y), carry.state)
        return model, scaling

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
            raise InputError(f"{file} belongs to an optimisation with other settings ({', '.join(changed)}).")


def optimize(
    function: Callable[[Tensor], float],
    bounds: Bounds | None = None,
    acquisition: str = "scorebo_hr",
    budget: int = 50,
    seed: int = 0,
    callback: Callable[[Tensor, float, int], None] | None = None,
    **options: Any,
) -> Result:
    """Optimise a function over a box.

    Args:
        function: a point `D` (float64 tensor) -> a number; it may be noisy.
        bounds: `scorebo.Box(lower=…, upper=…)`, or another form that `Optimizer` takes.
        acquisition: name of an acquisition config.
        budget: number of evaluations in all, those of a file that is read back included.
        seed: of everything random.
        callback: called after each evaluation with the point, its value, and how many there are.
        options: those of `Optimizer`: maximize (True), initial, file, settings.

    Raises:
        InputError: the function raised, or returned no finite number; with a `file` the same call goes on from there.
    """
    check_integer("budget", budget, 2)
    for name in options:
        check_choice("option of optimize", name, OPTIONS)
    optimizer = Optimizer(bounds, acquisition, seed=seed, **options)
    while len(optimizer.values) < budget:
        x = optimizer.ask()
        try:
            y = _number(function(x.clone()))
        except Exception as error:
            reason = reason_of(error).rstrip(".")
            optimizer.fail(x, reason)
            kept = "" if optimizer.file is None else f" {len(optimizer.values)} observations are in {optimizer.file}."
            raise InputError(f"The function failed at {x.tolist()}: {reason}.{kept}") from error
        optimizer.tell(x, y)
        if callback is not None:
            callback(x, y, len(optimizer.values))
    return optimizer.result()


def _number(y: Any) -> float:
    value = check_tensor("The value", y, "one number")
    if value.numel() != 1:
        raise InputError(f"The value must be one number, got shape {tuple(value.shape)}.")
    return value.item()
