"""Fit a model that is given by the name of its config; `scorebo.inference.fit_gp` is what does it."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

from botorch.exceptions.warnings import InputDataWarning
from torch import Tensor

from scorebo.config import load_model
from scorebo.errors import InputError, check_choice
from scorebo.gp import FullyBayesianGP, Surrogate
from scorebo.inference.base import COMMON, settings_of
from scorebo.inference.fit import check_data
from scorebo.inference.fit import fit_gp as fit_surrogate
from scorebo.inference.samplers import sampler_class

# `fit_gp` warns beyond these: how far inputs are outside the unit box, and mean and standard deviation of the outputs.
# They leave room for a part of standardized data, or for data standardized with 1/n instead of 1/(n − 1).
OUTSIDE_BOX = 0.01
LARGEST_MEAN = 1.0
SMALLEST_STD, LARGEST_STD = 0.5, 2.0


def fit_gp(
    X: Tensor, Y: Tensor, model: str | Mapping[str, Any] | Surrogate = "bo_lognormal", **settings: Any
) -> FullyBayesianGP:
    """Fit a fully Bayesian GP to data as they are given (inputs in the unit box, outputs standardized).

    The priors are chosen for data on this scale. BoTorch's `InputDataWarning` is issued where an input is more than
    0.01 outside [0, 1], and where the mean of the outputs is beyond ±1 or their standard deviation outside [0.5, 2]; a
    model whose `standardize` is False takes outputs of any scale.

    Args:
        X: `n x D`, a tensor, an array or a nested list.
        Y: `n x 1` or `n`.
        model: name of a model config, a config node, or a `Surrogate`.
        settings: those of `scorebo.inference.fit_gp` (sampler, seed, …) and of the sampler (warmup, thinning, …), and
            settings of the model that differ from its config, e.g. `lengthscale=[0.1, 0.3]` for `model="true"`.

    Returns:
        The ensemble, with `diagnostics` of the fit.
    """
    of_fit = {*inspect.signature(fit_surrogate).parameters, *COMMON}
    of_fit |= set(settings_of(sampler_class(settings.get("sampler", "nuts"))))
    overrides = {name: value for name, value in settings.items() if name not in of_fit}
    X, Y = check_data(X, Y)
    surrogate = _surrogate(model, overrides)
    _warn_about_scale(X, Y, surrogate)
    return fit_surrogate(X, Y, surrogate, **{name: value for name, value in settings.items() if name in of_fit})


def _surrogate(model: str | Mapping[str, Any] | Surrogate, overrides: Mapping[str, Any]) -> Surrogate:
    if not isinstance(model, Surrogate | str | Mapping):
        raise InputError(f"model must be the name of a model config, a config node or a Surrogate, got {model!r}.")
    if not isinstance(model, Surrogate):
        return load_model(model, **overrides)
    for name in overrides:
        check_choice(f"setting of model '{model.name}'", name, [field.name for field in dataclasses.fields(model)])
    return dataclasses.replace(model, **overrides)


def _warn_about_scale(X: Tensor, Y: Tensor, surrogate: Surrogate) -> None:
    problems = []
    least, most = float(X.min()), float(X.max())
    # Of warped inputs the density refuses those outside.
    if surrogate.concentration is None and (least < -OUTSIDE_BOX or most > 1.0 + OUTSIDE_BOX):
        problems.append(
            f"Inputs range from {least:.4g} to {most:.4g}, not within the unit box: scale them, for example by "
            "(X - lower) / (upper - lower)."
        )
    mean, std = float(Y.mean()), float(Y.std())
    if surrogate.standardize and not (abs(mean) <= LARGEST_MEAN and SMALLEST_STD <= std <= LARGEST_STD):
        problems.append(
            f"Outputs have mean {mean:.4g} and standard deviation {std:.4g}: standardize them by "
            "(Y - Y.mean()) / Y.std()."
        )
    if problems:
        problems.append(f"The priors of model '{surrogate.name}' are chosen for scaled data.")
        warnings.warn(" ".join(problems), InputDataWarning, stacklevel=3)
