"""Predictive entropy search: the information that y at x gives about where the maximum is.

Hernández-Lobato, Hoffman, Ghahramani. Predictive entropy search for efficient global optimization of black-box
functions. NeurIPS 2014.
Garrido-Merchán, Hernández-Lobato. Predictive entropy search for multi-objective Bayesian optimization with constraints.
Neurocomputing 2019, whose constraints are used here: f(x*) is at least f at every observed input and at x.
"""

from __future__ import annotations

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
from scorebo.acquisition.orthant import fit_sites, whitened_sites
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
        noise = self.model.noise_variance[:, None]
        mean, whitened = self.model.whiten(points)
        prediction = self.optima.predict(points, mean, whitened)
        before = prediction.variance + noise
        if self.condition_on_observed:
            prediction = self._constrain(prediction, whitened)
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

        root = whitened_sites(spread, sites.precision)
        force = (sites.shift - sites.precision * gap).unsqueeze(-1)
        pull = (force - root.mT @ (root @ (spread @ force))).unflatten(0, (count, num_mcmc_samples))
        root = root.unflatten(0, (count, num_mcmc_samples))
        # U·cov(δ, f(x)) = c(x)·U1 − U(σ_ε²L⁻ᵀ)w(x), and the same for the shift of the mean.
        self._ones = root.sum(dim=-1, keepdim=True)
        self._root = root @ lift
        self._pull_ones = pull.sum(dim=-2)
        self._pull = pull.mT @ lift
        at_optimum = optima.variance.unsqueeze(-1) - own.unsqueeze(-1)
        self._reduced = root @ at_optimum
        self.mean = optima.mean + (pull * at_optimum).sum(dim=-2)
        least = LEAST_VARIANCE * model.prior_variance[:, None]
        self.variance = torch.maximum(optima.variance - self._reduced.square().sum(dim=-2), least)

    def _constrain(self, prediction: Prediction, whitened: Tensor) -> Prediction:
        """f(x) given the sites, and its covariance with f(x*)."""
        mean, variance, covariance = prediction
        reduced = covariance.unsqueeze(-2) * self._ones - self._root @ whitened
        moved = covariance * self._pull_ones - (self._pull @ whitened).squeeze(-2)
        least = LEAST_VARIANCE * self.model.prior_variance[:, None]
        return Prediction(
            mean + moved,
            torch.maximum(variance - reduced.square().sum(dim=-2), least),
            covariance - (self._reduced * reduced).sum(dim=-2),
        )
