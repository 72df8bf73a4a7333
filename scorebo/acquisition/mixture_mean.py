"""The mixture's posterior mean: where it is highest is what a run would recommend."""

from __future__ import annotations

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import PointAcquisition
from scorebo.gp import FullyBayesianGP


class MixtureMean(PointAcquisition):
    """μ(x) = mean_m μ_m(x).

    Args:
        model: the ensemble, or a fitted BoTorch fully Bayesian GP, which is lifted into one.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._weights: Tensor | None = None
        if isinstance(self.model, FullyBayesianGP):
            # With K_m⁻¹(y − mean_m) at hand a mean costs O(n); the variances, which nobody asks for, cost O(n²).
            residual = self.model.train_Y[:, 0] - self.model.mean[:, None]
            self._weights = torch.cholesky_solve(residual.unsqueeze(-1), self.model.cholesky)

    def evaluate(self, points: Tensor) -> Tensor:
        """Mixture means `b` at points `b x D`."""
        if self._weights is None:
            return self.model.marginals(points)[0].mean(dim=-1)
        model = self.model
        cross = model.kernel(points, model.train_X, model.lengthscale, model.outputscale)  # M x b x n
        return model.mean.mean() + (cross @ self._weights).squeeze(-1).mean(dim=0)
