"""The interface of samplers: hyperparameters from a log density, with diagnostics and the state for the next fit.

Loads no numerical library: a configuration is checked against the signature of its sampler before a run starts.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from scorebo.errors import InputError, check_choice, check_integer

if TYPE_CHECKING:
    import numpy as np

    from scorebo.gp import Kernel, LogDensity, Surrogate
    from scorebo.inference.diagnostics import Chain

State = dict[str, Any]
# Settings of every mcmc config, passed to the samplers that have them.
COMMON = ("warmup", "thinning")


@dataclass
class Carry:
    """The state that a sampler carries from one fit to the next; None before the first."""

    state: State | None = None


@dataclass(frozen=True)
class Samples:
    """What a sampler returns for one fit.

    Args:
        theta: `M x dim`, the hyperparameter samples in the coordinates of the density.
        chain: all draws after warm-up, from which effective sample size, R-hat and energy are computed, where there
            is a chain.
        state: what the next fit continues from, of types that JSON has; None if it starts anew.
        diagnostics: fields of `Diagnostics` (acceptance, step_size, …) and diagnostics of the sampler's own. Records
            keep them in `mcmc`, tables in the columns `mcmc_…`.
        kernel: the kernel of the samples, where it is not that of the density.
    """

    theta: np.ndarray
    chain: Chain | None = None
    state: State | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    kernel: Kernel | None = None


class Sampler(ABC):
    """Samples hyperparameters from their posterior.

    The parameters of the constructor are the sampler's settings. An mcmc config names the sampler by its import path
    and has the settings beside it:

        sampler: my_package.MySampler
        step_size: 0.3

    `warmup` and `thinning`, which every run has, are passed to a constructor that has parameters of these names.
    `name` is what records call the sampler: its import path unless the class sets another.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = f"{cls.__module__}.{cls.__qualname__}"

    @abstractmethod
    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        """Draw `num_samples` samples.

        Args:
            density: `density(theta)` gives the log density at θ `dim` and its gradient `dim`, `density.batch` those at
                `M x dim`; `density.sample_prior` draws from the prior.
            num_samples: M.
            seed: of all randomness.
            state: that of the fit before, None for the first.
        """

    def density(self, X: np.ndarray, y: np.ndarray, surrogate: Surrogate) -> LogDensity:
        """The density to sample from, for inputs `n x D` and outputs `n`: that of the logarithms of scales."""
        from scorebo.gp import LogDensity

        return LogDensity(X, y, surrogate)

    def restart(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, State | None]:
        """Where a replay begins that must find the state after these records: place of a record, state before its fit.

        The fits from there on are repeated. By default all of them: the first has no state before it.
        """
        return next(k for k, record in enumerate(records) if record["mcmc"]), None


@dataclass
class ChainSampler(Sampler):
    """A sampler that draws one chain in every fit and keeps every `thinning`-th draw.

    A chain that fails (it raises, its draws are not finite or never move) is drawn again from another start, after
    three failures replaced by draws from the Laplace approximation.

    Args:
        warmup: draws before those that are used.
        thinning: draws per sample.
    """

    warmup: int = 256
    thinning: int = 16

    def __post_init__(self) -> None:
        check_integer("warmup", self.warmup, 1)
        check_integer("thinning", self.thinning, 1)

    @abstractmethod
    def chain(self, density: LogDensity, start: np.ndarray, draws: int, seed: int) -> Chain:
        """Draw a chain of `draws` after `warmup` from `start`, θ `dim`."""

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import posterior

        return posterior.draw(density, self, num_samples, seed)


def settings_of(sampler: type[Sampler]) -> list[str]:
    """Names of a sampler's settings, by its signature."""
    return list(inspect.signature(sampler).parameters)


def make(sampler: type[Sampler], settings: Mapping[str, Any]) -> Sampler:
    """The sampler with these settings; refuses unknown ones, but for those that every mcmc config has."""
    own = settings_of(sampler)
    for name in settings:
        check_choice(f"setting of sampler '{sampler.name}'", name, {*own, *COMMON, "num_mcmc_samples"})
    given = {name: value for name, value in settings.items() if name in own}
    try:
        return sampler(**given)
    except TypeError as error:  # a setting without a default is missing
        raise InputError(f"Sampler '{sampler.name}' cannot be made: {error}.") from error
