"""From data to an ensemble: one function for every surrogate and sampler."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError, check_choice, check_integer, check_number, check_tensor
from scorebo.gp import Additive, FullyBayesianGP, Kernel, LogDensity, Surrogate
from scorebo.gp.kernels import as_kernel
from scorebo.inference import maximum, posterior, sequential
from scorebo.inference.diagnostics import Chain, Diagnostics, summarize
from scorebo.inference.partition_chain import PartitionFits, walk
from scorebo.inference.posterior import SAMPLERS, ChainSettings, ColdDraws
from scorebo.inference.sequential import State
from scorebo.seeds import derive

ALLOWED_SAMPLERS = (*SAMPLERS, "sequential", "map")


@dataclasses.dataclass
class Carry:
    """What a sampler hands on from one fit to the next: `state` is JSON, or None before the first.

    The sequential sampler hands on its sets, one of partitions the last partition of its chain.
    """

    state: dict[str, Any] | None = None


def fit_gp(
    X: Tensor,
    Y: Tensor,
    model: Surrogate,
    warmup: int = 256,
    thinning: int = 16,
    num_mcmc_samples: int = 16,
    sampler: str = "nuts",
    seed: int = 0,
    max_tree_depth: int | None = None,
    target_acceptance: float | None = None,
    transitions: int = sequential.TRANSITIONS,
    refresh_every: int = sequential.REFRESH_EVERY,
    refresh_fraction: float | None = sequential.REFRESH_FRACTION,
    carry: Carry | None = None,
) -> FullyBayesianGP:
    """Fit a fully Bayesian GP to data as they are given.

    Args:
        X: `n x D`, a tensor, an array or a nested list.
        Y: `n x 1` or `n`.
        model: priors, kernel and transforms.
        warmup: draws spent on adaptation; of partitions, those left out.
        thinning: draws per kept set.
        num_mcmc_samples: number M of hyperparameter sets kept.
        sampler: "nuts" (fast), "sequential" (goes on from the sets of the fit before), "pyro" (the reference), or
            "map" (one set, the posterior's maximum). A model with partitions has a sampler of its own.
        seed: of the sampler; the same seed gives the same sets.
        max_tree_depth: of NUTS; the sampler's own choice by default.
        target_acceptance: of NUTS, between 0 and 1; the sampler's own choice by default.
        transitions: of every set in a fit of the sequential sampler.
        refresh_every: most fits of the sequential sampler from one cold chain to the next.
        refresh_fraction: the same as a fraction of the number of observations, which comes first while they are few;
            None for `refresh_every` alone.
        carry: the fit before, for samplers that go on from there, and this one afterwards; without it every fit is a
            first one.

    Returns:
        The ensemble, with `diagnostics` of the fit.
    """
    X, Y = check_data(X, Y)
    check_integer("warmup", warmup, 1)
    check_integer("thinning", thinning, 1)
    check_integer("num_mcmc_samples", num_mcmc_samples, 1)
    check_integer("seed", seed, 0)
    check_integer("transitions", transitions, 1)
    check_integer("refresh_every", refresh_every, 1)
    if refresh_fraction is not None:
        check_number("refresh_fraction", refresh_fraction, 0.0)
    check_choice("sampler", sampler, ALLOWED_SAMPLERS)
    if max_tree_depth is not None:
        check_integer("max_tree_depth", max_tree_depth, 1)
    if target_acceptance is not None and not 0.0 < target_acceptance < 1.0:
        raise InputError(f"target_acceptance must lie between 0 and 1, got {target_acceptance!r}.")
    began = time.perf_counter()
    if model.is_known:
        return _ensemble(X, Y, LogDensity(X.numpy(), Y[:, 0].numpy(), model), np.empty((1, 0)), "known", began)
    settings = ChainSettings(warmup, thinning, num_mcmc_samples, max_tree_depth, target_acceptance)
    if model.partitions is not None:
        return _fit_partitions(X, Y, model, settings, carry or Carry(), seed, began)
    if model.estimate == "map" or sampler == "map":
        return _fit_maximum(X, Y, model, seed, began)
    if sampler == "sequential":
        schedule = (refresh_every, refresh_fraction)
        return _fit_sequentially(X, Y, model, settings, transitions, schedule, carry or Carry(), seed, began)
    density = LogDensity(X.numpy(), Y[:, 0].numpy(), model)
    return _from_chain(X, Y, density, posterior.draw(density, sampler, settings, seed), sampler, began)


def check_data(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs `n x D` and outputs `n x 1` in float64; refuses what no GP can be fitted to."""
    X, Y = check_tensor("X", X), check_tensor("Y", Y)
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"X must be n x D, got shape {tuple(X.shape)}.")
    if Y.shape not in ((len(X),), (len(X), 1)):
        raise InputError(f"Y must be n x 1 or n with n = {len(X)} as in X, got shape {tuple(Y.shape)}.")
    for name, values in (("X", X), ("Y", Y)):
        if not bool(values.isfinite().all()):
            raise InputError(f"{name} holds values that are not finite.")
    if len(X) < 2:
        raise InputError(f"At least two observations are needed, got {len(X)}.")
    if bool((X[0] == X).all()):
        raise InputError(
            f"All {len(X)} rows of X are duplicates of one point: nothing can be learned about lengthscales."
        )
    if bool((Y.flatten()[0] == Y).all()):
        raise InputError(f"Y is constant: all {len(X)} observations equal {Y.flatten()[0].item():g}.")
    return X, Y.reshape(-1, 1)


def _fit_maximum(X: Tensor, Y: Tensor, surrogate: Surrogate, seed: int, began: float) -> FullyBayesianGP:
    # The noise variance is bounded instead of raised by a floor, as in the paper's code.
    density = LogDensity(X.numpy(), Y[:, 0].numpy(), surrogate, of_logarithms=False, noise_floor=0.0)
    theta = maximum.maximize(density, noise_lower_bound=surrogate.noise_lower_bound, seed=derive("map", seed))
    return _ensemble(X, Y, density, theta[None], "map", began)


def _fit_partitions(
    X: Tensor, Y: Tensor, surrogate: Surrogate, settings: ChainSettings, carry: Carry, seed: int, began: float
) -> FullyBayesianGP:
    """Every `thinning`-th partition of a chain that starts at the last one of the fit before."""
    partitions = surrogate.partitions
    assert partitions is not None
    partitions.check_dim(X.shape[1])
    fits = PartitionFits(X.numpy(), Y[:, 0].numpy(), surrogate)
    start = partitions.first(X.shape[1]) if carry.state is None else tuple(carry.state["labels"])
    steps = settings.warmup + settings.thinning * settings.num_mcmc_samples
    rng = np.random.default_rng(derive("partitions", seed))
    chain = walk(lambda labels: fits(labels).log_likelihood, partitions, start, steps, rng)
    kept = chain.states[settings.warmup :][settings.thinning - 1 :: settings.thinning]
    carry.state = {"labels": list(kept[-1])}
    theta = np.stack([fits(labels).theta for labels in kept])
    kernel = Additive(as_kernel(surrogate.kernel), tuple(kept))
    density = fits.density(kept[0])
    density.evaluations = fits.evaluations
    fields: dict[str, Any] = {"acceptance": chain.acceptance, "num_partitions": len(fits)}
    return _ensemble(X, Y, density, theta, "partitions", began, kernel=kernel, **fields)


def _fit_sequentially(
    X: Tensor,
    Y: Tensor,
    surrogate: Surrogate,
    settings: ChainSettings,
    transitions: int,
    schedule: tuple[int, float | None],
    carry: Carry,
    seed: int,
    began: float,
) -> FullyBayesianGP:
    """Moves the sets of the fit before; a cold chain where there are none, where it is due, and where moving failed."""
    inputs, outputs = X.numpy(), Y[:, 0].numpy()
    density = LogDensity(inputs, outputs, surrogate)
    before = None if carry.state is None else State.from_dict(carry.state)
    step = None
    if before is None:
        refresh_reason: str | None = "first"
    elif before.age + 1 >= sequential.refresh_period(len(outputs), *schedule):
        refresh_reason = "scheduled"
    else:
        step = sequential.advance(
            density,
            before,
            inputs,
            outputs,
            num_mcmc_samples=settings.num_mcmc_samples,
            transitions=transitions,
            seed=seed,
        )
        refresh_reason = step.failure
    fields: dict[str, Any] = {"carried_ess": None if step is None else step.carried_ess}
    if step is not None and refresh_reason is None:
        state = step.state
        carry.state = state.as_dict()
        fields |= {"acceptance": step.acceptance, "step_size": state.step_size, "num_refreshes": state.num_refreshes}
        return _ensemble(X, Y, density, state.theta, "sequential", began, **fields)
    draws = posterior.draw(density, "nuts", settings, seed)
    # From the step that failed rather than from the state before it: a step size that was too large has been adapted
    # there, and would fail again and again.
    state = sequential.begin(draws, density, inputs, outputs, before if step is None else step.state)
    carry.state = state.as_dict()
    fields |= {
        "refresh_reason": refresh_reason,
        "num_refreshes": state.num_refreshes,
        "next_step_size": state.step_size,
    }
    return _from_chain(X, Y, density, draws, "sequential", began, **fields)


def _from_chain(
    X: Tensor, Y: Tensor, density: LogDensity, draws: ColdDraws, sampler: str, began: float, **fields: Any
) -> FullyBayesianGP:
    fields |= {"chain": draws.chain, "retries": draws.retries, "retry_reason": draws.retry_reason}
    fields |= {"fallback": draws.fallback}
    return _ensemble(X, Y, density, draws.theta, sampler, began, **fields)


def _ensemble(
    X: Tensor,
    Y: Tensor,
    density: LogDensity,
    theta: np.ndarray,
    sampler: str,
    began: float,
    *,
    chain: Chain | None = None,
    kernel: Kernel | None = None,
    **fields: Any,
) -> FullyBayesianGP:
    fields |= {
        "sampler": sampler,
        "gradient_evaluations": density.evaluations,
        "wall_seconds": time.perf_counter() - began,
    }
    diagnostics = Diagnostics(draws=len(theta), **fields) if chain is None else summarize(chain, **fields)
    parameters = {name: torch.from_numpy(values) for name, values in density.constrain(theta).items()}
    return FullyBayesianGP(
        X,
        Y,
        kernel=kernel or density.kernel(theta),
        noise_floor=density.noise_floor,
        diagnostics=diagnostics,
        lengthscale=parameters["lengthscale"],
        outputscale=parameters["outputscale"],
        noise=parameters["noise"],
        mean=parameters["mean"],
    )
