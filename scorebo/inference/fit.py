"""From data to an ensemble: one function for every surrogate and sampler."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError, check_choice, check_integer
from scorebo.gp import FullyBayesianGP, LogDensity, Surrogate
from scorebo.inference import maximum, nuts, pyro_nuts
from scorebo.inference.diagnostics import Chain, Diagnostics, summarise
from scorebo.seeds import derive

logger = logging.getLogger(__name__)

SAMPLERS: dict[str, Callable[..., Chain]] = {"nuts": nuts.sample, "pyro": pyro_nuts.sample}
ATTEMPTS = 3
PRIOR_DRAWS_FOR_START = 32


def fit_gp(
    X: Tensor,
    Y: Tensor,
    model: str | Mapping[str, Any] | Surrogate = "bo_lognormal",
    warmup: int = 256,
    thinning: int = 16,
    num_sets: int = 16,
    sampler: str = "nuts",
    seed: int = 0,
    max_tree_depth: int | None = None,
    target_acceptance: float | None = None,
    **overrides: Any,
) -> FullyBayesianGP:
    """Fit a fully Bayesian GP to data as they are given (inputs in the unit box, outputs standardised).

    Args:
        X: `n x D`.
        Y: `n x 1` or `n`.
        model: name of a model config, a config node, or a `Surrogate`.
        warmup: draws spent on adaptation.
        thinning: draws per kept set.
        num_sets: number M of hyperparameter sets kept.
        sampler: "nuts" (fast), "pyro" (the reference), or "map" (one set, the posterior's maximum).
        seed: of the sampler; the same seed gives the same sets.
        max_tree_depth: of NUTS; the sampler's own choice by default.
        target_acceptance: of NUTS, between 0 and 1; the sampler's own choice by default.
        overrides: settings of the model config that differ, e.g. `lengthscale=[0.1, 0.3]` for `model="true"`.

    Returns:
        The ensemble, with `diagnostics` of the fit.
    """
    X, Y = check_data(X, Y)
    check_integer("warmup", warmup, 1)
    check_integer("thinning", thinning, 1)
    check_integer("num_sets", num_sets, 1)
    check_integer("seed", seed, 0)
    check_choice("sampler", sampler, (*SAMPLERS, "map"))
    if max_tree_depth is not None:
        check_integer("max_tree_depth", max_tree_depth, 1)
    if target_acceptance is not None and not 0.0 < target_acceptance < 1.0:
        raise InputError(f"target_acceptance must lie between 0 and 1, got {target_acceptance!r}.")
    surrogate = _surrogate(model, overrides)
    began = time.perf_counter()
    if surrogate.is_known:
        return _ensemble(X, Y, LogDensity(X.numpy(), Y[:, 0].numpy(), surrogate), np.empty((1, 0)), "known", began)
    if surrogate.estimate == "map" or sampler == "map":
        return _fit_maximum(X, Y, surrogate, seed, began)
    chain_settings = {
        "warmup": warmup,
        "draws": thinning * num_sets,
        "max_tree_depth": max_tree_depth,
        "target_acceptance": target_acceptance,
    }
    return _fit_posterior(X, Y, surrogate, sampler, chain_settings, thinning, seed, began)


def _surrogate(model: str | Mapping[str, Any] | Surrogate, overrides: Mapping[str, Any]) -> Surrogate:
    if not isinstance(model, Surrogate):
        from scorebo.config import load_model

        return load_model(model, **overrides)
    for name in overrides:
        check_choice(f"setting of model '{model.name}'", name, [field.name for field in dataclasses.fields(model)])
    return dataclasses.replace(model, **overrides)


def check_data(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs `n x D` and outputs `n x 1` in float64; refuses what no GP can be fitted to."""
    X = torch.as_tensor(X, dtype=torch.float64).detach()
    Y = torch.as_tensor(Y, dtype=torch.float64).detach()
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
            f"All {len(X)} rows of X are duplicates of one point: nothing can be learnt about lengthscales."
        )
    if bool((Y.flatten()[0] == Y).all()):
        raise InputError(f"Y is constant: all {len(X)} observations equal {Y.flatten()[0].item():g}.")
    return X, Y.reshape(-1, 1)


def _fit_maximum(X: Tensor, Y: Tensor, surrogate: Surrogate, seed: int, began: float) -> FullyBayesianGP:
    # The noise variance is bounded instead of raised by a floor, as in the paper's code.
    density = LogDensity(X.numpy(), Y[:, 0].numpy(), surrogate, of_logarithms=False, noise_floor=0.0)
    theta = maximum.maximise(density, noise_minimum=surrogate.noise_minimum, seed=derive("map", seed))
    return _ensemble(X, Y, density, theta[None], "map", began)


def _fit_posterior(
    X: Tensor,
    Y: Tensor,
    surrogate: Surrogate,
    sampler: str,
    chain_settings: Mapping[str, Any],
    thinning: int,
    seed: int,
    began: float,
) -> FullyBayesianGP:
    density = LogDensity(X.numpy(), Y[:, 0].numpy(), surrogate)
    for attempt in range(ATTEMPTS):
        try:
            chain = SAMPLERS[sampler](
                density,
                _start(density, seed, attempt),
                seed=derive(sampler, seed, attempt) >> 1,
                **chain_settings,
            )
            problem = chain.failure
        except (RuntimeError, ArithmeticError) as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        if problem is None:
            theta = chain.theta[thinning - 1 :: thinning]
            return _ensemble(X, Y, density, theta, sampler, began, chain=chain, retries=attempt)
        logger.warning("Sampler %s, attempt %d of %d failed: %s.", sampler, attempt + 1, ATTEMPTS, problem)
    logger.warning("Sampler %s failed %d times: the sets are Laplace draws around the maximum.", sampler, ATTEMPTS)
    theta = maximum.laplace_draws(density, size=chain_settings["draws"] // thinning, seed=derive("laplace", seed))
    return _ensemble(X, Y, density, theta, sampler, began, retries=ATTEMPTS, fallback="laplace")


def _start(density: LogDensity, seed: int, attempt: int) -> np.ndarray:
    """Where a chain begins: the best of some prior draws; on the last attempt the maximum of the density."""
    if attempt == ATTEMPTS - 1:
        return maximum.maximise(density, noise_minimum=0.0, seed=derive("start", seed, attempt))
    draws = density.sample_prior(np.random.default_rng(derive("start", seed, attempt)), PRIOR_DRAWS_FOR_START)
    return draws[int(np.argmax([density(theta)[0] for theta in draws]))]


def _ensemble(
    X: Tensor,
    Y: Tensor,
    density: LogDensity,
    theta: np.ndarray,
    sampler: str,
    began: float,
    *,
    chain: Chain | None = None,
    **fields: Any,
) -> FullyBayesianGP:
    fields |= {"sampler": sampler, "gradient_evaluations": density.evaluations, "seconds": time.perf_counter() - began}
    diagnostics = Diagnostics(draws=len(theta), **fields) if chain is None else summarise(chain, **fields)
    parameters = {name: torch.from_numpy(values) for name, values in density.constrain(theta).items()}
    return FullyBayesianGP(
        X,
        Y,
        kernel=density.surrogate.kernel,
        noise_floor=density.noise_floor,
        diagnostics=diagnostics,
        lengthscale=parameters["lengthscale"],
        outputscale=parameters["outputscale"],
        noise=parameters["noise"],
        mean=parameters["mean"],
    )
