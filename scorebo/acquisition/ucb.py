"""Upper confidence bound of the mixture, as an extra reference."""

from __future__ import annotations

from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from scorebo.acquisition.base import PredictiveAcquisition
from scorebo.acquisition.distances import moment_match
from scorebo.errors import check_number


class UCB(PredictiveAcquisition):
    """μ(x) + √β σ(x) with the mean and standard deviation of f under the mixture.

    Args:
        model: the ensemble.
        beta: squared width of the confidence band.
    """

    def __init__(self, model: Model, beta: float = 4.0) -> None:
        self.check_options(beta)
        super().__init__(model)
        self.beta = beta

    @staticmethod
    def check_options(beta: float = 4.0) -> None:
        """Refuse options that cannot be used, before there is a model."""
        check_number("beta", beta, 0.0)

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Values `b` at X `b x 1 x D`."""
        return self.score(*self.model.marginals(X.squeeze(-2)))

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        mixture_mean, mixture_variance = moment_match(mean, variance)
        return (mixture_mean + (self.beta * mixture_variance).sqrt()).squeeze(-1)
