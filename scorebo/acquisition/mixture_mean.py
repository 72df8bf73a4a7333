"""The mixture's posterior mean: where it is highest is what a run would recommend."""

from __future__ import annotations

import torch
from torch import Tensor

from scorebo.acquisition.base import PointAcquisition
from scorebo.gp import FullyBayesianGP


class MixtureMean(PointAcquisition):
    """μ(x) = mean_m μ_m(x).

    Args:
        model: the ensemble, or a fitted BoTorch fully Bayesian GP, which is lifted into one.
    """

    def evaluate(self, points: Tensor) -> Tensor:
        """Mixture means `b` at points `b x D`."""
        if isinstance(self.model, FullyBayesianGP):  # without the variances, which nobody asks for
            return self.model.mixture_mean(points)
        return self.model.marginals(points)[0].mean(dim=-1)

    def with_gradient(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mixture means `b` at points `b x D`, and their derivatives `b x D`."""
        if isinstance(self.model, FullyBayesianGP):
            return self.model.mixture_mean_with_gradient(points)
        with torch.enable_grad():
            variable = points.detach().requires_grad_()
            value = self.evaluate(variable)
        return value.detach(), torch.autograd.grad(value.sum(), variable)[0]
