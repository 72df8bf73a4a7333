"""Short Hamiltonian Monte Carlo transitions of many sets at once.

Neal: MCMC using Hamiltonian dynamics, 2011. All sets make the same number of leapfrog steps, so that each step is one
call of the density for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Density = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

TARGET_ACCEPTANCE = 0.8
# How far one transition's acceptance moves the logarithm of the step size.
GAIN = 0.5
# In coordinates where the posterior is about standard normal a quarter turn forgets the start; jittered around it so
# that no direction is in step with the trajectory.
SHORTEST, LONGEST = 0.3 * math.pi, 0.7 * math.pi
# Most leapfrog steps of a transition: with the step sizes that are accepted, 2 to 5 make a quarter turn.
MAX_STEPS = 8


@dataclass
class Population:
    """Sets `M x dim` with the values `M` and gradients `M x dim` of the log density there."""

    theta: np.ndarray
    value: np.ndarray
    gradient: np.ndarray

    def __len__(self) -> int:
        return len(self.theta)

    def take(self, index: np.ndarray) -> Population:
        """The sets at these positions, repeated where a position is."""
        return Population(self.theta[index], self.value[index], self.gradient[index])


@dataclass(frozen=True)
class Moves:
    """What came of some transitions: sets, step size for the next ones, mean acceptance, and what never moved."""

    population: Population
    step_size: float
    acceptance: float
    stuck: int


def move(
    density: Density,
    population: Population,
    factor: np.ndarray,
    step_size: float,
    rng: np.random.Generator,
    *,
    transitions: int,
) -> Moves:
    """Move every set by Metropolis-corrected trajectories, each of which leaves the density as it is.

    Args:
        density: `M x dim` -> values `M`, gradients `M x dim`.
        population: where the sets are.
        factor: `dim x dim`, lower Cholesky factor of the covariance by which θ is whitened.
        step_size: of the first transition, in whitened coordinates; adapted after each towards the target acceptance.
        rng: source of all randomness.
        transitions: how many.
    """
    moved = np.zeros(len(population), dtype=bool)
    total = 0.0
    for _ in range(transitions):
        length = rng.uniform(SHORTEST, LONGEST)
        steps = min(MAX_STEPS, math.ceil(length / step_size))
        acceptance, accepted = _transition(density, population, factor, min(step_size, length / steps), steps, rng)
        moved |= accepted
        total += acceptance
        step_size = min(step_size * math.exp(GAIN * (acceptance - TARGET_ACCEPTANCE)), LONGEST)
    return Moves(population, step_size, total / transitions, int(len(population) - moved.sum()))


def _transition(
    density: Density, population: Population, factor: np.ndarray, step: float, steps: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """One trajectory of every set, accepted or not, in place: mean acceptance probability, and who moved."""
    momentum = rng.standard_normal(population.theta.shape)
    energy = 0.5 * np.sum(momentum**2, axis=1) - population.value
    theta, value, gradient = population.theta, population.value, population.gradient
    momentum = momentum + 0.5 * step * (gradient @ factor)
    for i in range(steps):
        theta = theta + step * (momentum @ factor.T)
        value, gradient = density(theta)
        momentum += (step if i < steps - 1 else 0.5 * step) * (gradient @ factor)
    change = energy - (0.5 * np.sum(momentum**2, axis=1) - value)
    with np.errstate(over="ignore"):
        probability = np.minimum(1.0, np.exp(np.where(np.isnan(change), -np.inf, change)))
    accepted = rng.uniform(size=len(theta)) < probability
    population.theta = np.where(accepted[:, None], theta, population.theta)
    population.value = np.where(accepted, value, population.value)
    population.gradient = np.where(accepted[:, None], gradient, population.gradient)
    return float(probability.mean()), accepted
