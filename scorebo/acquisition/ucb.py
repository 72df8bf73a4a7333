"""Upper confidence bound of the mixture, as an extra reference."""

from __future__ import annotations

from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import PointAcquisition
from scorebo.acquisition.distances import moment_match
from scorebo.errors import check_number


class UCB(PointAcquisition):
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

    def evaluate(self, points: Tensor) -> Tensor:
        """Values `b` at points `b x D`."""
        mean, variance = moment_match(*self.model.marginals(points))
        return (mean + (self.beta * variance).sqrt()).squeeze(-1)
