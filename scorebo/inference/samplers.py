"""The samplers by name, and which of them a fit uses. Loads no numerical library, as `scorebo.inference.base`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError, check_integer, check_number, load_class
from scorebo.inference.base import COMMON, ChainSampler, Sampler, Samples, State, make
from scorebo.seeds import derive

if TYPE_CHECKING:
    import numpy as np

    from scorebo.gp import LogDensity, Surrogate
    from scorebo.inference.diagnostics import Chain

TRANSITIONS = 6
REFRESH_EVERY = 20
REFRESH_FRACTION = 0.2


class NUTS(ChainSampler):
    """NUTS by nutpie on the compiled density.

    Args:
        warmup: draws of adaptation before those that are used.
        thinning: draws per sample.
        max_tree_depth: None for the sampler's default.
        target_acceptance: between 0 and 1; None for the sampler's default.
    """

    name = "nuts"

    def __init__(
        self,
        warmup: int = 256,
        thinning: int = 16,
        max_tree_depth: int | None = None,
        target_acceptance: float | None = None,
    ) -> None:
        super().__init__(warmup, thinning)
        if max_tree_depth is not None:
            check_integer("max_tree_depth", max_tree_depth, 1)
        if target_acceptance is not None:
            check_number("target_acceptance", target_acceptance, 0.0, exclusive=True)
            if target_acceptance >= 1.0:
                raise InputError(f"target_acceptance must be below 1, got {target_acceptance:g}.")
        self.options: dict[str, Any] = {"max_tree_depth": max_tree_depth, "target_acceptance": target_acceptance}

    def chain(self, density: LogDensity, start: np.ndarray, draws: int, seed: int) -> Chain:
        from scorebo.inference import nuts

        return nuts.sample(density, start, warmup=self.warmup, draws=draws, seed=seed, **self.options)


class Pyro(NUTS):
    """NUTS by Pyro, as in the paper: slow, and kept as the reference; settings as those of `NUTS`."""

    name = "pyro"

    def chain(self, density: LogDensity, start: np.ndarray, draws: int, seed: int) -> Chain:
        from scorebo.inference import pyro_nuts

        return pyro_nuts.sample(density, start, warmup=self.warmup, draws=draws, seed=seed, **self.options)


class Sequential(Sampler):
    """Moves the samples of the fit before; a chain of NUTS for the first fit, where it is due, and where moving fails.

    Args:
        warmup: of the chains of NUTS, as the next three.
        thinning: see `NUTS`.
        max_tree_depth: see `NUTS`.
        target_acceptance: see `NUTS`.
        transitions: of every sample in a fit.
        refresh_every: most fits from one chain of NUTS to the next.
        refresh_fraction: the same as a fraction of the number of observations, which comes first while they are few;
            None for `refresh_every` alone.
    """

    name = "sequential"

    def __init__(
        self,
        warmup: int = 256,
        thinning: int = 16,
        max_tree_depth: int | None = None,
        target_acceptance: float | None = None,
        transitions: int = TRANSITIONS,
        refresh_every: int = REFRESH_EVERY,
        refresh_fraction: float | None = REFRESH_FRACTION,
    ) -> None:
        self.nuts = NUTS(warmup, thinning, max_tree_depth, target_acceptance)
        self.transitions = check_integer("transitions", transitions, 1)
        self.refresh_every = check_integer("refresh_every", refresh_every, 1)
        self.refresh_fraction = refresh_fraction
        if refresh_fraction is not None:
            check_number("refresh_fraction", refresh_fraction, 0.0)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import sequential

        return sequential.sample(self, density, num_samples, seed, state)

    def restart(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, State | None]:
        from scorebo.inference import sequential

        return sequential.last_chain(records, self.refresh_every)


class MAP(Sampler):
    """The maximum of the posterior, one sample; settings of NUTS, whose config it may stand in, have no effect."""

    name = "map"

    def __init__(self, max_tree_depth: int | None = None, target_acceptance: float | None = None) -> None: ...

    def density(self, X: np.ndarray, y: np.ndarray, surrogate: Surrogate) -> LogDensity:
        """That of the hyperparameters themselves. The noise variance is bounded instead of raised by a floor ᶜ."""
        from scorebo.gp import LogDensity

        return LogDensity(X, y, surrogate, of_logarithms=False, noise_floor=0.0)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import maximum

        bound = density.surrogate.noise_lower_bound
        return Samples(maximum.maximize(density, noise_lower_bound=bound, seed=derive("map", seed))[None])


class PartitionSampler(MAP):
    """A chain of partitions of the inputs, each with the maximum of its own posterior; of models with `partitions`.

    Args:
        warmup: partitions left out.
        thinning: partitions per sample.
    """

    name = "partitions"

    def __init__(self, warmup: int = 256, thinning: int = 16) -> None:
        self.warmup = check_integer("warmup", warmup, 1)
        self.thinning = check_integer("thinning", thinning, 1)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        from scorebo.inference import partition_chain

        return partition_chain.sample(self, density, num_samples, seed, state)

    def restart(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, State | None]:
        return len(records), {"labels": records[-1]["hyperparameters"]["group"][-1]}


class Known(Sampler):
    """Of models whose hyperparameters are all known: nothing is sampled."""

    name = "known"

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        import numpy as np

        return Samples(np.empty((1, 0)))


SAMPLERS: dict[str, type[Sampler]] = {sampler.name: sampler for sampler in (MAP, NUTS, Pyro, Sequential)}


def sampler_class(sampler: object) -> type[Sampler]:
    """The class behind a name of `SAMPLERS`, or behind the import path of a sampler of one's own."""
    return load_class("sampler", sampler, SAMPLERS, Sampler)


def build_sampler(model: Surrogate, sampler: str | type[Sampler] = "nuts", **settings: Any) -> Sampler:
    """The sampler of fits of a model: the named one, unless the model has one of its own."""
    named = make(sampler_class(sampler), settings)
    if model.is_known:
        return Known()
    if model.partitions is not None:
        return PartitionSampler(**{name: settings[name] for name in COMMON if name in settings})
    return MAP() if model.estimate == "map" else named


def check_settings(sampler: object = None, **settings: Any) -> None:
    """Refuse an unknown sampler or setting; a sampler of one's own is checked when a run loads it."""
    if not (isinstance(sampler, str) and "." in sampler):
        make(sampler_class(sampler), settings)
