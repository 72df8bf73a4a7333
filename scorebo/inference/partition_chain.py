"""Partitions of the inputs drawn by Metropolis and Hastings' algorithm, each with the maximum of its own posterior.

Gardner, Guo, Weinberger, Garnett, Grosse. Discovering and exploiting additive structure for Bayesian optimization.
AISTATS 2017.

A state is a label vector; its target is the marginal likelihood at the hyperparameters that maximize the posterior
given the partition. These are a function of data and partition alone, whichever way the chain came, so that a
partition that comes up again is not fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scorebo.errors import check_integer
from scorebo.gp import Additive, LogDensity, Surrogate
from scorebo.gp.kernels import as_kernel
from scorebo.gp.partitions import Labels, Partitions, canonical
from scorebo.inference import maximum
from scorebo.inference.base import Samples, State
from scorebo.inference.samplers import MAP
from scorebo.seeds import derive

# Where the climbs to a maximum begin: lengthscale, and the share of noise in the variance of the outputs ᵒ.
STARTS = ((0.5, 0.1), (0.2, 0.5))


class PartitionSampler(MAP):
    """Every `thinning`-th partition after `warmup` of a chain that starts at the last one of the fit before."""

    name = "partitions"

    def __init__(self, warmup: int = 256, thinning: int = 16) -> None:
        self.warmup = check_integer("warmup", warmup, 1)
        self.thinning = check_integer("thinning", thinning, 1)

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        surrogate, dim = density.surrogate, density.dim_inputs
        partitions = surrogate.partitions
        assert partitions is not None
        fits = PartitionFits(density.X, density.y, surrogate)
        start = partitions.first(dim) if state is None else tuple(state["labels"])
        rng = np.random.default_rng(derive("partitions", seed))
        steps = self.warmup + self.thinning * num_samples
        chain = walk(lambda labels: fits(labels).log_likelihood, partitions, start, steps, rng)
        kept = chain.states[self.warmup :][self.thinning - 1 :: self.thinning]
        density.evaluations = fits.evaluations
        return Samples(
            np.stack([fits(labels).theta for labels in kept]),
            state={"labels": list(kept[-1])},
            diagnostics={"acceptance": chain.acceptance, "num_partitions": len(fits)},
            kernel=Additive(as_kernel(surrogate.kernel), tuple(kept)),
        )

    def restart(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, State | None]:
        return len(records), {"labels": records[-1]["hyperparameters"]["group"][-1]}


@dataclass(frozen=True)
class Fitted:
    """Hyperparameters of a partition: θ `dim`, and the log marginal likelihood there."""

    theta: np.ndarray
    log_likelihood: float


@dataclass
class PartitionFits:
    """The fit of every partition of the same data, made when it is first asked for.

    Args:
        X: `n x D`.
        y: `n`.
        surrogate: kernel of a group and beliefs.
    """

    X: np.ndarray
    y: np.ndarray
    surrogate: Surrogate
    evaluations: int = 0
    _fitted: dict[Labels, Fitted] = field(default_factory=dict, init=False)

    def __call__(self, labels: Labels) -> Fitted:
        key = canonical(labels)
        if key not in self._fitted:
            self._fitted[key] = self._fit(key)
        return self._fitted[key]

    def __len__(self) -> int:
        return len(self._fitted)

    def density(self, labels: Labels) -> LogDensity:
        """The posterior of the hyperparameters given a partition; the noise is bounded instead of raised by a floor."""
        return LogDensity(self.X, self.y, self.surrogate, of_logarithms=False, noise_floor=0.0, labels=np.array(labels))

    def _fit(self, labels: Labels) -> Fitted:
        density = self.density(labels)
        starts = np.stack([_start(density, float(self.y.var()), len(set(labels)), *start) for start in STARTS])
        theta = maximum.climb(density, starts, noise_lower_bound=self.surrogate.noise_lower_bound)
        self.evaluations += density.evaluations
        return Fitted(theta, density.log_likelihood(theta))


def _start(density: LogDensity, variance: float, groups: int, lengthscale: float, share: float) -> np.ndarray:
    """θ with this lengthscale in every dimension and the outputs' variance shared out between noise and groups."""
    dim = density.dim_inputs
    parameters = np.append(np.full(dim, lengthscale), [variance * (1.0 - share) / groups, variance * share])
    logarithms = np.append(np.log(parameters), 0.0)
    return np.array([logarithms[coordinate.first] / coordinate.weight for coordinate in density.coordinates])


@dataclass(frozen=True)
class Walk:
    """States of a chain after each step, and the share of proposals that were accepted."""

    states: list[Labels]
    acceptance: float


def walk(
    log_target: Callable[[Labels], float], partitions: Partitions, start: Labels, steps: int, rng: np.random.Generator
) -> Walk:
    """Propose and accept or reject `steps` times; a rejected proposal leaves the state as it is."""
    state, height = start, log_target(start)
    states, accepted = [], 0
    for _ in range(steps):
        proposed = partitions.propose(state, rng)
        new_height = log_target(proposed)
        log_ratio = new_height - height + partitions.log_correction(state, proposed)
        if np.log1p(-rng.random()) < log_ratio:
            state, height = proposed, new_height
            accepted += 1
        states.append(state)
    return Walk(states, accepted / steps)
