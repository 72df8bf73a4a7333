"""How the next query is found: the one thing the loop knows of acquisition.

A strategy looks at a `Context` and returns a `Proposal`. Most maximize an acquisition function; the references need
no model at all.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from hydra.utils import get_object
from linear_operator.utils.warnings import NumericalWarning
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.acquisition.base import OPTIMA, build_acquisition
from scorebo.acquisition.maximize import maximize
from scorebo.acquisition.mixture_mean import MixtureMean
from scorebo.errors import InputError, check_number
from scorebo.optima import sample_optima
from scorebo.seeds import derive, generator
from scorebo.store.identity import passed


@dataclass(frozen=True)
class Context:
    """What is known when a query is to be proposed.

    Attributes:
        model: the ensemble fitted to all observations (`train_X`, `train_Y`).
        bounds: `2 x D`, the unit box.
        task: the task's name.
        seed: the run's seed.
        iteration: the number the new observation will have.
        num_optima: N, optima drawn per set by those that condition on optima.
        num_features: Fourier features of the paths whose optima they are.
    """

    model: Model
    bounds: Tensor
    task: str
    seed: int
    iteration: int
    num_optima: int = 8
    num_features: int = 2048

    def stream(self, name: str) -> int:
        """The seed of the stream with this name, in this iteration."""
        return derive(self.task, self.seed, name, self.iteration)

    def sample_optima(self, num_optima: int | None = None) -> tuple[Tensor, Tensor]:
        """Maximisers `N x M x D` and maxima `N x M x 1` of draws from each set's posterior."""
        return sample_optima(
            self.model,
            self.bounds,
            num_optima=num_optima or self.num_optima,
            num_features=self.num_features,
            seed=self.stream("optima"),
        )


@dataclass(frozen=True)
class Proposal:
    """The next query, `D`, in the unit box, the acquisition's value there, and what fell back on something simpler."""

    x: Tensor
    value: float | None = None
    num_fallbacks: int = 0


class Strategy(ABC):
    """Proposes queries, each a function of the context alone."""

    @abstractmethod
    def propose(self, context: Context) -> Proposal:
        """The next query."""


@dataclass(frozen=True)
class Maximize(Strategy):
    """Maximize the acquisition function that `factory(context)` builds; `options` are those of `maximize`.

    With probability `exploit_probability` the maximizer of the mixture's mean is queried instead.
    """

    factory: Callable[[Context], AcquisitionFunction]
    options: Mapping[str, Any] = field(default_factory=dict)
    exploit_probability: float = 0.0

    def propose(self, context: Context) -> Proposal:
        model = context.model
        coin = generator(context.task, context.seed, "exploit", context.iteration).random()
        exploit = coin < self.exploit_probability
        with warnings.catch_warnings(record=True) as caught:
            # Some acquisitions factorize posterior covariances; a jitter they had to add is counted, not printed.
            warnings.simplefilter("always", NumericalWarning)
            acquisition = MixtureMean(model) if exploit else self.factory(context)
            x, value = maximize(
                acquisition,
                context.bounds,
                seed=context.stream("acquisition"),
                around=model.train_X[model.train_Y.argmax()],
                **self.options,
            )
        fallbacks = getattr(acquisition, "num_fallbacks", 0)
        for warning in caught:
            if issubclass(warning.category, NumericalWarning):
                fallbacks += 1
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return Proposal(x.squeeze(0), None if exploit else float(value), fallbacks)


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
class Thompson(Strategy):
    """Reference: the maximizer of one function drawn from the posterior of one set, drawn too."""

    def propose(self, context: Context) -> Proposal:
        inputs, _ = context.sample_optima(num_optima=1)
        chosen = generator(context.task, context.seed, "thompson", context.iteration).integers(inputs.shape[1])
        return Proposal(inputs[0, int(chosen)])


@dataclass(frozen=True)
class _Factory:
    """An acquisition class with its options; unlike a closure it can be pickled.

    What a class asks for by the name of a parameter it gets: `seed`, that of the iteration, so that Monte Carlo errors
    average out over a run; `optimal_inputs`, `optimal_outputs` or `max_values`, from optima of posterior draws.
    """

    target: Callable[..., AcquisitionFunction]
    options: Mapping[str, Any]

    def __call__(self, context: Context) -> AcquisitionFunction:
        acquisition = build_acquisition(
            self.target, context.model, self.options, context.stream("acquisition"), context.sample_optima
        )
        if not isinstance(acquisition, AcquisitionFunction):
            raise InputError(
                f"{self.target.__qualname__} makes a {type(acquisition).__name__}, no AcquisitionFunction."
            )
        return acquisition


def build_strategy(node: Mapping[str, Any], optimizer: Mapping[str, Any] | None = None) -> Strategy:
    """Build the strategy an acquisition node of the configuration describes.

    Args:
        node: `_target_` names a `Strategy` or an acquisition class with constructor `(model, **options)`; `name` is
            the node's name, `exploit_probability` that of `Maximize`; all else are options.
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
    exploit = check_number("exploit_probability", options.pop("exploit_probability", 0.0), 0.0)
    if exploit > 1.0:
        raise InputError(f"exploit_probability is a probability, at most 1, got {exploit:g}.")
    _check_names(f"acquisition '{name}'", target, options, given=("model", *OPTIMA))
    # An acquisition that can tell unusable options without a model says so before anything has run.
    getattr(target, "check_options", lambda **_: None)(**options)
    settings = _plain(optimizer or {})
    _check_names("acquisition_optimizer", maximize, settings, given=("acqf", "bounds", "seed", "around"))
    return Maximize(_Factory(target, options), settings, exploit)


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    plain = OmegaConf.to_container(node, resolve=True) if isinstance(node, DictConfig) else node
    return passed(plain)  # type: ignore[arg-type]


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
