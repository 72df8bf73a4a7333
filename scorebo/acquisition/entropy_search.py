"""Entropy search by lower bounds: the information that y at x gives about the optimum, as an average over the sets.

Both bound the entropy of y given the optimum by that of a normal with its variance, σ_ε² + v·F(γ) (see `truncation`):

    ½ log(v(x) + σ_ε²) − mean_n ½ log(σ_ε² + v_n(x)·F(γ_n))        γ_n = (f*_n − μ_n(x))/√v_n(x),

with the moments of f conditioned on the optimum (JES) or not (MES).

Hvarfner, Hutter, Nardi. Joint entropy search for maximally-informed Bayesian optimization. NeurIPS 2022.
Tu, Gandy, Kantas, Shafei. Joint entropy search for multi-objective Bayesian optimization. NeurIPS 2022.
Wang, Jegelka. Max-value entropy search for efficient Bayesian optimization. ICML 2017.
Moss, Leslie, Gonzalez, Rayson. GIBBON: General-purpose information-based Bayesian optimization. JMLR 2021.
"""

from __future__ import annotations

from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import OptimaAcquisition
from scorebo.acquisition.conditioning import Optima, check_optima
from scorebo.acquisition.truncation import truncate


class MES(OptimaAcquisition):
    """Max-value entropy search, the lower bound of GIBBON for one point.

    Args:
        model: the ensemble of M sets.
        max_values: `N x M x 1`, maxima of functions drawn from each set's posterior.
    """

    def __init__(self, model: Model, max_values: Tensor | None = None) -> None:
        super().__init__(model)
        self.max_values = check_optima("max_values", max_values, self.model.num_mcmc_samples, 1)

    def evaluate(self, points: Tensor) -> Tensor:
        mean, variance = (moment.mT for moment in self.model.marginals(points))
        noise = self.model.noise_variance[:, None]
        return _information(variance + noise, mean, variance, noise, self.max_values)


class JES(OptimaAcquisition):
    """Joint entropy search, the lower-bound estimate for one point.

    Args:
        model: the ensemble of M sets.
        optimal_inputs: `N x M x D`, maximizers of functions drawn from each set's posterior.
        optimal_outputs: `N x M x 1`, their values.
    """

    def __init__(
        self, model: Model, optimal_inputs: Tensor | None = None, optimal_outputs: Tensor | None = None
    ) -> None:
        super().__init__(model)
        self.optima = Optima(self.model, optimal_inputs, optimal_outputs)
        self.max_values = check_optima("optimal_outputs", optimal_outputs, self.model.num_mcmc_samples, 1)

    def evaluate(self, points: Tensor) -> Tensor:
        prediction = self.optima.predict(points)
        noise = self.model.noise_variance[:, None]
        conditioned = self.optima.condition(prediction)
        return _information(prediction.variance + noise, *conditioned, noise, self.max_values)


def _information(total: Tensor, mean: Tensor, variance: Tensor, noise: Tensor, max_values: Tensor) -> Tensor:
    """½ log of the ratio of the variance of y to that given the optimum, averaged over optima and sets. `b`."""
    _, factor = truncate((max_values - mean) / variance.sqrt())
    return 0.5 * (total / (noise + variance * factor)).log().mean(dim=(0, 1))
