"""How the next query is found: the one thing the loop knows of acquisition.

A strategy looks at a `Context` and returns a `Proposal`. Most maximise an acquisition function; the references need
no model at all.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition.maximize import maximize
from scorebo.errors import InputError
from scorebo.seeds import derive


@dataclass(frozen=True)
class Context:
    """What is known when a query is to be proposed.

    Attributes:
        model: the ensemble fitted to all observations (`train_X`, `train_Y`).
        bounds: `2 x D`, the unit box.
        task: the task's name.
        seed: the run's seed.
        iteration: the number the new observation will have.
    """

    model: Model
    bounds: Tensor
    task: str
    seed: int
    iteration: int


@dataclass(frozen=True)
class Proposal:
    """The next query, `D`, in the unit box, and the value of the acquisition there, where there is one."""

    x: Tensor
    value: float | None = None


class Strategy(ABC):
    """Proposes queries, each a function of the context alone."""

    @abstractmethod
    def propose(self, context: Context) -> Proposal:
        """The next query."""


@dataclass(frozen=True)
class Maximize(Strategy):
    """Maximise the acquisition function that `factory(model, seed)` builds; `options` are those of `maximize`."""

    factory: Callable[[Model, int], AcquisitionFunction]
    options: Mapping[str, Any] = field(default_factory=dict)

    def propose(self, context: Context) -> Proposal:
        model = context.model
        seed = derive(context.task, context.seed, "acquisition", context.iteration)
        x, value = maximize(
            self.factory(model, seed),
            context.bounds,
            seed=seed,
            around=model.train_X[model.train_Y.argmax()],
            **self.options,
        )
        return Proposal(x.squeeze(0), float(value))


@dataclass(frozen=True)
class Sobol(Strategy):
    """Reference: one scrambled Sobol sequence for (task, seed), of which the query's number is the place."""

    def propose(self, context: Context) -> Proposal:
        engine = SobolEngine(
            context.bounds.shape[1], scramble=True, seed=derive(context.task, context.seed, "sobol query")
        )
        engine.fast_forward(context.iteration - 1)
        return Proposal(_in_box(engine.draw(1, dtype=torch.float64)[0], context.bounds))


@dataclass(frozen=True)
class Random(Strategy):
    """Reference: the i-th query is uniform in the box, a function of (task, seed, i)."""

    def propose(self, context: Context) -> Proposal:
        seed = derive(context.task, context.seed, "random query", context.iteration)
        generator = torch.Generator().manual_seed(seed)
        point = torch.rand(context.bounds.shape[1], dtype=torch.float64, generator=generator)
        return Proposal(_in_box(point, context.bounds))


@dataclass(frozen=True)
class _Factory:
    """An acquisition class with its options; unlike a closure it can be pickled.

    A class with an option `seed` gets that of the iteration, so that Monte Carlo errors average out over a run.
    """

    target: Callable[..., AcquisitionFunction]
    options: Mapping[str, Any]

    def __call__(self, model: Model, seed: int) -> AcquisitionFunction:
        options = dict(self.options)
        if "seed" in inspect.signature(self.target).parameters:
            options.setdefault("seed", seed)
        acquisition = self.target(model, **options)
        if not isinstance(acquisition, AcquisitionFunction):
            raise InputError(
                f"{self.target.__qualname__} makes a {type(acquisition).__name__}, no AcquisitionFunction."
            )
        return acquisition


def build_strategy(node: Mapping[str, Any], optimizer: Mapping[str, Any] | None = None) -> Strategy:
    """Build the strategy an acquisition node of the configuration describes.

    Args:
        node: `_target_` names a `Strategy` or an acquisition class with constructor `(model, **options)`; `name` is
            the node's name; all else are options.
        optimizer: options of `maximize`, for an acquisition.
    """
    options = _plain(node)
    name = options.pop("name", None)
    path = options.pop("_target_", None)
    if not isinstance(path, str):
        raise InputError(
            f"The acquisition '{name}' has no _target_: the class to use, for example scorebo.acquisition.SAL."
        )
    try:
        target = get_object(path)
    except Exception as error:  # Hydra wraps whatever importing the user's module raises.
        raise InputError(f"The _target_ '{path}' of acquisition '{name}' cannot be loaded: {error}") from error
    if not callable(target):
        raise InputError(f"The _target_ '{path}' of acquisition '{name}' is not a class.")
    if inspect.isclass(target) and issubclass(target, Strategy):
        _check_names(f"acquisition '{name}'", target, options, given=())
        return target(**options)
    _check_names(f"acquisition '{name}'", target, options, given=("model",))
    # An acquisition that can tell unusable options without a model says so before anything has run.
    getattr(target, "check_options", lambda **_: None)(**options)
    settings = _plain(optimizer or {})
    _check_names("optimizer", maximize, settings, given=("acqf", "bounds", "seed", "around"))
    return Maximize(_Factory(target, options), settings)


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(node, DictConfig):
        return dict(OmegaConf.to_container(node, resolve=True))  # type: ignore[arg-type]
    return dict(node)


def _check_names(what: str, target: Callable[..., Any], options: Mapping[str, Any], given: tuple[str, ...]) -> None:
    try:
        parameters = inspect.signature(target).parameters
    except ValueError as error:  # some built-in types have none
        raise InputError(f"The _target_ of {what} is no class that can be used: {error}.") from error
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    allowed = [name for name in parameters if name not in given]
    unknown = [str(name) for name in options if name not in allowed]
    if unknown:
        raise InputError(f"Unknown option {', '.join(unknown)} of {what}. Allowed: {', '.join(allowed) or 'none'}.")


def _in_box(point: Tensor, bounds: Tensor) -> Tensor:
    return bounds[0] + point * (bounds[1] - bounds[0])
