"""The samplers that configs name. Loads no numerical library, as `scorebo.inference.base`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scorebo.errors import check_integer, check_number, load_class
from scorebo.inference.base import ChainSampler, Sampler, Samples, State, make
from scorebo.seeds import derive

if TYPE_CHECKING:
    import numpy as np

    from scorebo.gp import LogDensity, Surrogate
    from scorebo.inference.diagnostics import Chain


@dataclass
class NUTS(ChainSampler):
    """NUTS by nutpie on the compiled density.

    Args:
        warmup, thinning: see `ChainSampler`.
        max_tree_depth: None for the sampler's default.
        target_acceptance: between 0 and 1; None for the sampler's default.
    """

    name = "nuts"
    max_tree_depth: int | None = None
    target_acceptance: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_tree_depth is not None:
            check_integer("max_tree_depth", self.max_tree_depth, 1)
        if self.target_acceptance is not None:
            check_number("target_acceptance", self.target_acceptance, 0.0, exclusive=True, below=1.0)

    @property
    def options(self) -> dict[str, Any]:
        """Those of a chain but for its draws and seed."""
        return {name: getattr(self, name) for name in ("warmup", "max_tree_depth", "target_acceptance")}

    def chain(self, density: LogDensity, start: np.ndarray, draws: int, seed: int) -> Chain:
        from scorebo.inference import nuts

        return nuts.sample(density, start, draws=draws, seed=seed, **self.options)


class Pyro(NUTS):
    """NUTS by Pyro, as in the paper: slow, and kept as the reference; settings as those of `NUTS`."""

    name = "pyro"

    def chain(self, density: LogDensity, start: np.ndarray, draws: int, seed: int) -> Chain:
        from scorebo.inference import pyro_nuts

        return pyro_nuts.sample(density, start, draws=draws, seed=seed, **self.options)


@dataclass
class Sequential(NUTS):
    """Moves the samples of the fit before; a chain of NUTS for the first fit, where it is due, and where moving fails.

    Args:
        warmup, thinning, max_tree_depth, target_acceptance: of the chains of NUTS.
        transitions: of every sample in a fit.
        refresh_every: most fits from one chain of NUTS to the next.
        refresh_fraction: the same as a fraction of the number of observations, which comes first while they are few;
            None for `refresh_every` alone.
    """

    name = "sequential"
    transitions: int = 6
    refresh_every: int = 20
    refresh_fraction: float | None = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("transitions", self.transitions, 1)
        check_integer("refresh_every", self.refresh_every, 1)
        if self.refresh_fraction is not None:
            check_number("refresh_fraction", self.refresh_fraction, 0.0)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import sequential

        return sequential.sample(self, density, num_samples, seed, state)

    def restart(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, State | None]:
        from scorebo.inference import sequential

        return sequential.last_chain(records, self.refresh_every)


@dataclass
class MAP(Sampler):
    """The maximum of the posterior, one sample; settings of NUTS, whose config it may stand in, have no effect."""

    name = "map"
    max_tree_depth: int | None = None
    target_acceptance: float | None = None

    def density(self, X: np.ndarray, y: np.ndarray, surrogate: Surrogate) -> LogDensity:
        """That of the hyperparameters themselves. The noise variance is bounded instead of raised by a floor ᶜ."""
        from scorebo.gp import LogDensity

        return LogDensity(X, y, surrogate, of_logarithms=False, noise_floor=0.0)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import maximum

        bound = density.surrogate.noise_lower_bound
        return Samples(maximum.maximize(density, noise_lower_bound=bound, seed=derive("map", seed))[None])


SAMPLERS: dict[str, type[Sampler]] = {sampler.name: sampler for sampler in (MAP, NUTS, Pyro, Sequential)}


def sampler_class(sampler: object) -> type[Sampler]:
    """The class behind a name of `SAMPLERS`, or behind the import path of a sampler of one's own."""
    return load_class("sampler", sampler, SAMPLERS, Sampler)


def check_settings(sampler: object = None, **settings: Any) -> None:
    """Refuse an unknown sampler or setting; a sampler of one's own is checked when a run loads it."""
    if not (isinstance(sampler, str) and "." in sampler):
        make(sampler_class(sampler), settings)
