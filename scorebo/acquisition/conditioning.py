"""Sampled optima ★, and each set's posterior conditioned on its own: closed forms of rank one, nothing is factorized.

With c(x) the posterior covariance of f(x) and f(x*), and μ*, v* the posterior moments of f(x*),

    μ_c(x) = μ(x) + c(x)/(v* + 1e-6)·(f* − μ*)        v_c(x) = v(x) − c(x)²/(v* + 1e-6).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.skew_normal import SkewNormals
from scorebo.errors import InputError, check_tensor

# Variance with which the optimum is "observed", on the standardized scale, as in the paper's code.
JITTER = 1e-6
# The least variance left, relative to the prior one: rounding may push it below 0.
LEAST_VARIANCE = 1e-14


class Prediction(NamedTuple):
    """Posterior moments of f at b points, and their covariance with the optima.

    Attributes:
        mean: `M x b`.
        variance: `M x b`.
        covariance: of f(x) and f(x*_nm) under set m, `N x M x b`.
    """

    mean: Tensor
    variance: Tensor
    covariance: Tensor


class Optima:
    """N optimal inputs for each of M sets, with what is needed of the posterior there.

    Args:
        model: the ensemble.
        inputs: `N x M x D`; (n, m) is an optimum of set m and conditions set m alone.
        outputs: `N x M x 1`, the values there; None if only the locations matter.

    Attributes:
        mean: posterior mean at the optima, `N x M x 1`.
        variance: posterior variance at the optima, `N x M x 1`.
    """

    def __init__(self, model: Model, inputs: Tensor | None, outputs: Tensor | None = None) -> None:
        self.model = model
        self.inputs = check_optima("optimal_inputs", inputs, model.num_mcmc_samples, model.dim)
        self.outputs = None
        if outputs is not None:
            self.outputs = check_optima("optimal_outputs", outputs, model.num_mcmc_samples, 1)
            if len(self.outputs) != len(self.inputs):
                raise InputError(
                    f"optimal_inputs holds {len(self.inputs)} optima for each set, optimal_outputs {len(self.outputs)}."
                )
        count, num_mcmc_samples = self.inputs.shape[:2]
        with torch.no_grad():
            mean, whitened = model.whiten(self.inputs.reshape(-1, model.dim))
        # Every set was evaluated at all optima; each keeps what is its own.
        self.mean = mean.reshape(num_mcmc_samples, count, num_mcmc_samples).diagonal(dim1=0, dim2=2).unsqueeze(-1)
        own = whitened.reshape(num_mcmc_samples, -1, count, num_mcmc_samples).diagonal(dim1=0, dim2=3)
        self.whitened = own.permute(2, 1, 0).contiguous()  # M x N x n
        variance = model.prior_variance - self.whitened.square().sum(dim=-1).mT
        self.variance = torch.maximum(variance, LEAST_VARIANCE * model.prior_variance).unsqueeze(-1)

    def predict(self, points: Tensor, mean: Tensor | None = None, whitened: Tensor | None = None) -> Prediction:
        """The posterior at points `b x D`, in O(M(n² + Nn)) each; what `model.whiten` gives there may be handed in."""
        if mean is None or whitened is None:
            mean, whitened = self.model.whiten(points)
        variance = self._at_least(self.model.prior_variance[:, None] - whitened.square().sum(dim=-2))
        prior = self.model.paired_covariance(points, self.inputs)
        return Prediction(mean, variance, prior - (self.whitened @ whitened).transpose(0, 1))

    def condition(self, prediction: Prediction) -> tuple[Tensor, Tensor]:
        """Mean and variance of f given that f(x*) = f*, each `N x M x b`."""
        if self.outputs is None:
            raise InputError("Conditioning on the optima needs optimal_outputs.")
        mean, variance, covariance = prediction
        gain = covariance / (self.variance + JITTER)
        conditioned = variance - gain * covariance
        return mean + gain * (self.outputs - self.mean), self._at_least(conditioned)

    def _at_least(self, variance: Tensor) -> Tensor:
        return torch.maximum(variance, LEAST_VARIANCE * self.model.prior_variance[:, None])


def below_optimum(prediction: Prediction, mean: Tensor, variance: Tensor, noise: Tensor) -> SkewNormals:
    """What y is, given that f(x) ≤ f(x*), from the joint posterior of both.

    With δ = f(x*) − f(x) of mean Δ and variance s², f(x) = μ + cov(f(x), δ)/s·w + rest, where w ≥ −Δ/s.

    Args:
        prediction: of f(x), its moments `M x b` or `N x M x b`.
        mean: of f(x*), `N x M x 1`.
        variance: of f(x*), `N x M x 1`.
        noise: variance of y − f(x), `M x 1`.

    Returns:
        Parameters `N x M x b`.
    """
    # The jitter is that of conditioning on an optimum: at x* itself δ is 0 and its sign tells nothing.
    spread = (prediction.variance + variance - 2.0 * prediction.covariance).clamp_min(0.0) + JITTER
    std = spread.sqrt()
    shift = (prediction.covariance - prediction.variance) / std
    rest = (prediction.variance - shift.square()).clamp_min(0.0)
    return SkewNormals(prediction.mean.expand_as(shift), shift, rest + noise, (mean - prediction.mean) / std)


def check_optima(name: str, values: Tensor | None, num_mcmc_samples: int, size: int) -> Tensor:
    """`values` in float64 if it is finite and `N x M x size` with N ≥ 1."""
    if values is None:
        raise InputError(
            f"{name} is needed: optima of functions drawn from the posterior. The class method from_model draws them "
            "and builds the acquisition, e.g. SCoreBO.from_model(model, bounds)."
        )
    tensor = check_tensor(name, values, f"a tensor N x {num_mcmc_samples} x {size}").clone()
    if tensor.ndim != 3 or len(tensor) == 0 or tensor.shape[1:] != (num_mcmc_samples, size):
        raise InputError(
            f"{name} must be N x {num_mcmc_samples} x {size}: N ≥ 1 optima for each of the model's "
            f"{num_mcmc_samples} hyperparameter samples, got shape {tuple(tensor.shape)}."
        )
    if not bool(tensor.isfinite().all()):
        raise InputError(f"{name} holds values that are not finite.")
    return tensor


__all__ = ["JITTER", "Optima", "Prediction", "below_optimum", "check_optima"]
