"""Sets carried from one fit to the next: weighted by the new observations, resampled, and moved.

Chopin: A sequential particle filter method for static models, Biometrika 2002. The moves are short Hamiltonian
trajectories on the new posterior, whitened by recent sets. A cold chain takes over for the first fit, when it is due,
and whenever the carried sets no longer represent the posterior.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from scorebo.gp import LogDensity
from scorebo.inference import hmc
from scorebo.inference.base import Samples
from scorebo.inference.samplers import NUTS, Sequential
from scorebo.seeds import derive

# Draws kept for the whitening.
RECENT = 128
# Weight of the guess about every variance, in draws, and its value: as in Stan's regularization of its mass matrix.
GUESS_DRAWS, GUESS_VARIANCE = 5.0, 1e-3
# Correlations are never taken at their full value: the draws come from several posteriors, if neighboring ones.
LEAST_SHRINKAGE = 0.02
START_STEP_SIZE = 0.5
# A cold chain is drawn when the weights leave less than this fraction of the sets, when fewer proposals are accepted,
# or when a larger fraction of the sets never moved.
COLLAPSED_BELOW = 0.2
LEAST_ACCEPTANCE, MOST_STUCK = 0.3, 0.25
# Between the outputs of two fits as the model sees them; standardizing again is an affine map, with correlation 1.
LEAST_CORRELATION = 0.9


@dataclass(frozen=True)
class State:
    """What the next fit goes on from.

    Args:
        theta: `M x dim`, the sets, unconstrained.
        value: `M`, the log density there, of the data they were fitted to.
        recent: `R x dim`, draws of this and the last few fits, on the scale of this one's outputs.
        step_size: of the next transition, in whitened coordinates.
        age: fits since the last cold chain.
        num_refreshes: cold chains so far.
        y: `n`, the outputs of the fit.
        inputs: digest of the inputs of the fit.
    """

    theta: np.ndarray
    value: np.ndarray
    recent: np.ndarray
    step_size: float
    age: int
    num_refreshes: int
    y: np.ndarray
    inputs: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, from which `from_dict` makes the same state to the last bit, also after JSON."""
        return {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        """Inverse of `as_dict`."""
        arrays = {key: np.array(v, dtype=np.float64) for key, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **arrays})


@dataclass(frozen=True)
class Step:
    """Outcome of one fit that moved the carried sets: the state after it, or why it is not to be used."""

    state: State
    acceptance: float | None = None
    carried_ess: float | None = None
    failure: str | None = None


def sample(
    settings: Sequential, density: LogDensity, num_samples: int, seed: int, carried: Mapping[str, Any] | None
) -> Samples:
    """The samples of the fit before, moved; a cold chain where there are none, where it is due, or where moving failed.

    A cold chain takes the step size from moves that failed rather than from the state before them: a step size that
    was too large has been adapted there, and would fail again and again.
    """
    before = None if carried is None else State.from_dict(carried)
    reason: str | None = "first"
    step = None
    if before is not None:
        reason = "scheduled"
        period = refresh_period(len(density.y), settings.refresh_every, settings.refresh_fraction)
        if before.age + 1 < period:
            step = advance(density, before, num_mcmc_samples=num_samples, transitions=settings.transitions, seed=seed)
            before, reason = step.state, step.failure
    told: dict[str, Any] = {"carried_ess": None if step is None else step.carried_ess}
    if step is not None and reason is None:
        state = step.state
        told |= {"acceptance": step.acceptance, "step_size": state.step_size, "num_refreshes": state.num_refreshes}
        return Samples(state.theta, state=state.as_dict(), diagnostics=told)
    cold = NUTS(settings.warmup, settings.thinning, settings.max_tree_depth, settings.target_acceptance)
    draws = cold.sample(density, num_samples, seed, None)
    state = _begin(draws, density, before)
    told |= {"refresh_reason": reason, "num_refreshes": state.num_refreshes, "next_step_size": state.step_size}
    return replace(draws, state=state.as_dict(), diagnostics={**draws.diagnostics, **told})


def last_chain(records: Sequence[Mapping[str, Any]], refresh_every: int) -> tuple[int, dict[str, Any] | None]:
    """Place of the last record with a cold chain, and a state after which this chain is due.

    A cold chain takes from the state before it nothing but the step size and the number of cold chains so far, which
    its record has.
    """
    place = max(k for k, record in enumerate(records) if record["mcmc"] and record["mcmc"]["refresh_reason"])
    cold = records[place]["mcmc"]
    if cold["refresh_reason"] == "first":
        return place, None
    refreshes = cold["num_refreshes"] - 1
    nothing = dict.fromkeys(("theta", "value", "recent", "y"), np.empty(0))
    due = State(step_size=cold["next_step_size"], age=refresh_every, num_refreshes=refreshes, inputs="", **nothing)
    return place, due.as_dict()


def _begin(draws: Samples, density: LogDensity, before: State | None) -> State:
    """The state after a cold chain; `before` is the state it replaces, after moves that failed where there were any."""
    pool = draws.theta if draws.chain is None else draws.chain.theta
    spaced = np.linspace(0, len(pool) - 1, min(len(pool), max(RECENT, len(draws.theta)))).round().astype(int)
    return State(
        theta=draws.theta,
        value=density.batch(draws.theta)[0],
        recent=pool[spaced],
        step_size=START_STEP_SIZE if before is None else before.step_size,
        age=0,
        num_refreshes=1 + (0 if before is None else before.num_refreshes),
        y=density.y,
        inputs=_digest(density.X),
    )


def refresh_period(
    n: int, refresh_every: int = Sequential.refresh_every, refresh_fraction: float | None = Sequential.refresh_fraction
) -> int:
    """Fits from one scheduled cold chain to the next at n observations.

    A mode that none of the carried sets is in is only found by a cold chain. While there are few data modes come and go
    quickly, so that one is due after a fraction of n fits already.
    """
    fits = refresh_every if refresh_fraction is None else min(refresh_every, int(refresh_fraction * n))
    return max(1, fits)


def continues(state: State, X: np.ndarray, y: np.ndarray) -> tuple[float, float] | None:
    """Slope and shift from the state's outputs to the same ones among `y`; None if these are not that fit's data."""
    n = len(state.y)
    if n > len(y) or _digest(X[:n]) != state.inputs:
        return None
    old, new = state.y - state.y.mean(), y[:n] - y[:n].mean()
    squares = float(old @ old)
    product = float(old @ new)
    if product <= 0.0 or product < LEAST_CORRELATION * np.sqrt(squares * float(new @ new)):
        return None
    slope = product / squares
    return slope, float(y[:n].mean() - slope * state.y.mean())


def advance(density: LogDensity, state: State, *, num_mcmc_samples: int, transitions: int, seed: int) -> Step:
    """The sets of `state` on the posterior of more data."""
    transform = continues(state, density.X, density.y)
    if transform is None or state.theta.shape != (num_mcmc_samples, density.dim):
        return Step(state, failure="other data")
    rng = np.random.default_rng(derive("sequential", seed))
    # Outputs are standardized anew for every fit. Moving the sets along is exact but for the prior, which the weights
    # account for; the map's Jacobian is the same for all sets.
    theta, recent = density.rescale(state.theta, *transform), density.rescale(state.recent, *transform)
    population = hmc.Population(theta, *density.batch(theta))
    log_weight = population.value - state.value
    weight = np.exp(log_weight - log_weight.max()) if np.isfinite(log_weight.max()) else np.zeros(num_mcmc_samples)
    effective = float(weight.sum() ** 2 / np.sum(weight**2)) if weight.any() else 0.0
    if effective < COLLAPSED_BELOW * num_mcmc_samples:
        return Step(state, carried_ess=effective, failure="diversity")
    # Always, not only where the weights are uneven: then no weights are left over, and where they are even hardly a set
    # is replaced.
    population = population.take(_systematic(weight / weight.sum(), rng))
    moves = hmc.move(density.batch, population, whitening_factor(recent), state.step_size, rng, transitions=transitions)
    after = replace(
        state,
        theta=population.theta,
        value=population.value,
        recent=np.concatenate([recent, population.theta])[-len(recent) :],
        step_size=moves.step_size,
        age=state.age + 1,
        y=density.y,
        inputs=_digest(density.X),
    )
    failure = None
    if moves.acceptance < LEAST_ACCEPTANCE:
        failure = "acceptance"
    elif moves.stuck > MOST_STUCK * num_mcmc_samples:
        failure = "diversity"
    return Step(after, moves.acceptance, effective, failure)


def whitening_factor(draws: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor `dim x dim` of the covariance of the draws `R x dim`.

    The correlations are shrunk towards zero by the share of their squares that is estimation error (Schäfer, Strimmer:
    A shrinkage approach to large-scale covariance matrix estimation, 2005), so that 128 draws do for 400 dimensions.
    """
    count, dim = draws.shape
    centered = draws - draws.mean(axis=0)
    observed = np.mean(centered**2, axis=0)
    variance = (count * observed + GUESS_DRAWS * GUESS_VARIANCE) / (count + GUESS_DRAWS)
    scaled = centered / np.sqrt(np.where(observed > 0.0, observed, 1.0))
    correlation = scaled.T @ scaled / count
    # The variance over the draws of each product z_i z_j, whose mean the correlation is.
    error = ((scaled**2).T @ scaled**2 / count - correlation**2) / count
    off_diagonal = ~np.eye(dim, dtype=bool)
    squares = np.sum(correlation[off_diagonal] ** 2)
    share = 1.0 if squares == 0.0 else float(np.sum(error[off_diagonal]) / squares)
    shrinkage = min(1.0, max(LEAST_SHRINKAGE, share))
    shrunk = (1.0 - shrinkage) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return np.sqrt(variance)[:, None] * np.linalg.cholesky(shrunk)


def _systematic(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions `M`, each drawn as often as its weight says, up to rounding."""
    edges = np.cumsum(weight)
    return np.searchsorted(edges / edges[-1], (rng.uniform() + np.arange(len(weight))) / len(weight), side="right")


def _digest(X: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
