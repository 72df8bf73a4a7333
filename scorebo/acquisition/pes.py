"""Predictive entropy search: the information that y at x gives about where the maximum is.

Hernández-Lobato, Hoffman, Ghahramani. Predictive entropy search for efficient global optimization of black-box
functions. NeurIPS 2014.
Garrido-Merchán, Hernández-Lobato. Predictive entropy search for multi-objective Bayesian optimization with constraints.
Neurocomputing 2019, whose constraints are used here: f(x*) is at least f at every observed input and at x.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import OptimaAcquisition
from scorebo.acquisition.conditioning import (
    JITTER,
    LEAST_VARIANCE,
    Optima,
    Prediction,
    below_optimum,
)
from scorebo.acquisition.orthant import fit_sites, site_weights
from scorebo.errors import InputError


class PES(OptimaAcquisition):
    """½ log V[y] − mean_n ½ log V[y | x*_n is the maximizer], averaged over the sets.

    The constraints at the n observed inputs are approximated by expectation propagation, once for each optimum; the one
    at x is then imposed on the joint normal of f(x) and f(x*), whose moments given f(x) ≤ f(x*) are exact.

    Args:
        model: the ensemble of M sets.
        optimal_inputs: `N x M x D`, maximizers of functions drawn from each set's posterior.
        condition_on_observed: whether f(x*) ≥ f at the observed inputs is imposed.

    Attributes:
        num_fallbacks: optima, of N·M, for which expectation propagation did not converge; for these only f(x) ≤ f(x*)
            is imposed.
    """

    def __init__(self, model: Model, optimal_inputs: Tensor | None = None, condition_on_observed: bool = True) -> None:
        self.check_options(condition_on_observed)
        super().__init__(model)
        self.optima = Optima(self.model, optimal_inputs)
        self.condition_on_observed = condition_on_observed
        self.num_fallbacks = 0
        self.mean, self.variance = self.optima.mean, self.optima.variance
        if condition_on_observed:
            with torch.no_grad():
                self._impose()

    @staticmethod
    def check_options(condition_on_observed: bool = True) -> None:
        """Refuse options that cannot be used, before there is a model."""
        if not isinstance(condition_on_observed, bool):
            raise InputError(f"condition_on_observed must be true or false, got {condition_on_observed!r}.")

    def evaluate(self, points: Tensor) -> Tensor:
        return self._evaluate(points, torch.float64)

    def screen(self, points: Tensor) -> Tensor:
        """Values `b` at points `b x D` with the constraints in single precision, by which raw points are ranked."""
        return self._evaluate(points, torch.float32)

    def _evaluate(self, points: Tensor, precision: torch.dtype) -> Tensor:
        noise = self.model.noise_variance[:, None]
        mean, whitened = self.model.whiten(points)
        prediction = self.optima.predict(points, mean, whitened)
        before = prediction.variance + noise
        if self.condition_on_observed:
            prediction = self._constrain(prediction, whitened, precision)
        _, after = below_optimum(prediction, self.mean, self.variance, noise).moments()
        return 0.5 * (before / after).log().mean(dim=(0, 1))

    def _impose(self) -> None:
        """Fit the sites of δ_i = f(x*) − f(x_i) ≥ 0 and keep what they do to f elsewhere.

        The posterior covariance of f(X) with f at points of whitened cross-covariance w is σ_ε²L⁻ᵀw: that of δ with
        f(x) is c(x) − σ_ε²L⁻ᵀw(x).
        """
        model, optima = self.model, self.optima
        count, num_mcmc_samples = optima.inputs.shape[:2]
        noise = model.noise_variance[:, None, None]
        mean, whitened = model.whiten(model.train_X)
        # σ_ε²L⁻ᵀ, by which whitened cross-covariances become covariances with f(X).
        lift = (
            noise
            * torch.linalg.solve_triangular(model.cholesky, torch.eye(len(model.train_X)).to(noise), upper=False).mT
        )
        shared = lift @ whitened
        own = (lift @ optima.whitened.mT).permute(2, 0, 1)  # N x M x n
        gap = (optima.mean - mean).flatten(end_dim=1)
        spread = optima.variance.unsqueeze(-1) + shared - own.unsqueeze(-1) - own.unsqueeze(-2)
        spread = (0.5 * (spread + spread.mT)).flatten(end_dim=1)
        spread.diagonal(dim1=-2, dim2=-1).clamp_min_(0.0).add_(JITTER)
        sites = fit_sites(gap, spread)
        self.num_fallbacks = int((~sites.converged).sum())

        weights = site_weights(spread, sites.precision)
        force = (sites.shift - sites.precision * gap).unsqueeze(-1)
        pull = force - weights @ (spread @ force)
        at_optimum = (optima.variance.unsqueeze(-1) - own.unsqueeze(-1)).flatten(end_dim=1)
        lowered = weights @ at_optimum
        stacked = torch.cat([weights, lowered.mT, pull.mT], dim=-2)
        sites_of_set = lift, stacked.unflatten(0, (count, num_mcmc_samples)).transpose(0, 1).contiguous()
        self._sites = {dtype: [part.to(dtype) for part in sites_of_set] for dtype in (torch.float32, torch.float64)}
        moved, lower = ((by * at_optimum).sum(dim=-2).unflatten(0, (count, -1)) for by in (pull, lowered))
        self.mean = optima.mean + moved
        least = LEAST_VARIANCE * model.prior_variance[:, None]
        self.variance = torch.maximum(optima.variance - lower, least)

    def _constrain(self, prediction: Prediction, whitened: Tensor, precision: torch.dtype) -> Prediction:
        """f(x) given the sites, and its covariance with f(x*)."""
        mean, variance, covariance = prediction
        least = LEAST_VARIANCE * self.model.prior_variance[:, None]
        lower, shared, moved = _Given.apply(covariance.to(precision), whitened.to(precision), *self._sites[precision])
        return Prediction(mean + moved, torch.maximum(variance - lower, least), covariance - shared)


class _Given(torch.autograd.Function):
    """What the sites do to f(x): how much lower its variance and its covariance with f(x*) are, and its mean's shift.

    With y = cov(δ, f(x)) they are yᵀWy, (W cov(δ, f(x*)))ᵀy and pᵀy. Set after set, so that y stays in the cache; the
    product Wy gives the derivative of the first as well.
    """

    @staticmethod
    def forward(context: Any, covariance: Tensor, whitened: Tensor, lift: Tensor, weights: Tensor) -> Tensor:
        """Covariances with f(x*) `N x M x b` and `M x n x b`; `M x n x n` and `M x N x n+2 x n`. `3 x N x M x b`."""
        result = covariance.new_empty(3, *covariance.shape)
        products = covariance.new_empty(*weights.shape[:3], covariance.shape[-1])
        for m, product in enumerate(products):
            y = covariance[:, m].unsqueeze(-2) - lift[m] @ whitened[m]  # N x n x b
            torch.matmul(weights[m], y, out=product)
            result[0, :, m] = y.mul_(product[:, :-2]).sum(dim=-2)
            result[1:, :, m] = product[:, -2:].transpose(0, 1)
        context.save_for_backward(covariance, whitened, lift, weights, products)
        return result

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        covariance, whitened, lift, weights, products = context.saved_tensors
        if torch.is_grad_enabled():  # a derivative of the derivative is wanted
            y = (covariance.unsqueeze(-2) - lift @ whitened).transpose(0, 1)  # M x N x n x b
            products = weights @ y
        by_covariance, by_whitened = [], []
        for m, product in enumerate(products):
            by_y = 2.0 * gradient[0, :, m].unsqueeze(-2) * product[:, :-2]
            by_y = by_y + weights[m, :, -2:].mT @ gradient[1:, :, m].transpose(0, 1)
            by_covariance.append(by_y.sum(dim=-2))
            by_whitened.append(-lift[m].mT @ by_y.sum(dim=0))
        return torch.stack(by_covariance, dim=1), torch.stack(by_whitened), None, None
