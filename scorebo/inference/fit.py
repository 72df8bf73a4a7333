"""From data to an ensemble: one function for every surrogate and sampler."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError, check_integer, check_tensor
from scorebo.gp import FullyBayesianGP, LogDensity, Surrogate
from scorebo.gp.diagnostics import Diagnostics
from scorebo.inference.base import COMMON, Carry, Sampler, Samples, State, make
from scorebo.inference.diagnostics import summarize
from scorebo.inference.partition_chain import PartitionSampler
from scorebo.inference.samplers import MAP, sampler_class
from scorebo.store.checksummed import seal, unseal


def fit_gp(
    X: Tensor,
    Y: Tensor,
    model: Surrogate,
    num_mcmc_samples: int = 16,
    sampler: str | type[Sampler] = "nuts",
    seed: int = 0,
    carry: Carry | None = None,
    **settings: Any,
) -> FullyBayesianGP:
    """Fit a fully Bayesian GP to data as they are given.

    Args:
        X: `n x D`, a tensor, an array or a nested list.
        Y: `n x 1` or `n`.
        model: priors, kernel and transforms.
        num_mcmc_samples: number M of hyperparameter samples.
        sampler: "nuts" (fast), "sequential" (continues from the samples of the fit before), "pyro" (the reference),
            "map" (one sample, the posterior's maximum), or a `Sampler` of your own, as a class or by its import path.
            A model with partitions has a sampler of its own.
        seed: of the sampler; the same seed gives the same samples.
        carry: the fit before, for samplers that continue from there, and this one afterwards; without it every fit is
            a first one.
        settings: those of the sampler, e.g. `warmup=256, thinning=16` of NUTS; see its class in `scorebo.inference`.

    Returns:
        The ensemble, with `diagnostics` of the fit.
    """
    X, Y = check_data(X, Y)
    check_integer("num_mcmc_samples", num_mcmc_samples, 1)
    check_integer("seed", seed, 0)
    chosen, carry = build_sampler(model, sampler, **settings), carry or Carry()
    began = time.perf_counter()
    density = chosen.density(X.numpy(), Y[:, 0].numpy(), model)
    samples = _checked(chosen.sample(density, num_mcmc_samples, seed, carry.state), chosen, density)
    carry.state = samples.state
    told = {"draws": len(samples.theta)} if samples.chain is None else summarize(samples.chain)
    told |= {**samples.diagnostics, "sampler": chosen.name, "gradient_evaluations": density.evaluations}
    return FullyBayesianGP(
        X,
        Y,
        kernel=samples.kernel or density.kernel(samples.theta),
        noise_floor=density.noise_floor,
        diagnostics=Diagnostics.of(wall_seconds=time.perf_counter() - began, **told),
        **{name: torch.from_numpy(values) for name, values in density.constrain(samples.theta).items()},
    )


class _Known(Sampler):
    """Of models whose hyperparameters are all known: nothing is sampled."""

    name = "known"

    def sample(self, density: LogDensity, num_samples: int, seed: int, state: State | None) -> Samples:
        return Samples(np.empty((1, 0)))


def build_sampler(model: Surrogate, sampler: str | type[Sampler] = "nuts", **settings: Any) -> Sampler:
    """The sampler of fits of a model: the named one, unless the model has one of its own."""
    named = make(sampler_class(sampler), settings)
    if model.is_known:
        return _Known()
    if model.partitions is not None:
        return PartitionSampler(**{name: settings[name] for name in COMMON if name in settings})
    return MAP() if model.estimate == "map" else named


def _checked(samples: Samples, sampler: Sampler, density: LogDensity) -> Samples:
    """The samples as they come back from a checkpoint, so that a run that was interrupted goes on with the same."""
    theta = np.asarray(samples.theta, dtype=np.float64)
    if theta.ndim != 2 or len(theta) == 0 or theta.shape[1] != density.dim or not np.isfinite(theta).all():
        raise InputError(
            f"Sampler '{sampler.name}' must return finite samples M x {density.dim}, got shape {theta.shape}."
        )
    try:
        stored = unseal(seal({"state": samples.state, "diagnostics": samples.diagnostics})[:-1])
    except TypeError as error:
        raise InputError(f"State or diagnostics of sampler '{sampler.name}' are not JSON. {error}") from error
    return dataclasses.replace(samples, theta=theta, **stored)


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
