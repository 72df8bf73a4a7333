"""What the ensemble's acquisitions have in common: a score of the M predictive normals at a point."""

from __future__ import annotations

from abc import abstractmethod

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.fully_bayesian import AbstractFullyBayesianSingleTaskGP
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP


class PredictiveAcquisition(AcquisitionFunction):
    """A function of the means and variances of the noisy observation y at x under each hyperparameter set.

    Args:
        model: the ensemble, or a fitted BoTorch fully Bayesian GP, which is lifted into one.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model=as_ensemble(model))

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Acquisition values `b` at X `b x 1 x D`."""
        mean, variance = self.model.marginals(X.squeeze(-2), observation_noise=True)
        return self.score(mean, variance)

    @abstractmethod
    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Acquisition values `batch` from the moments of y under each set, each `batch x M`."""


def as_ensemble(model: Model) -> Model:
    """The model itself if it gives the moments under each set; a BoTorch fully Bayesian GP is lifted."""
    if hasattr(model, "marginals"):
        return model
    if isinstance(model, AbstractFullyBayesianSingleTaskGP):
        return FullyBayesianGP.from_botorch(model)
    raise InputError(
        f"A fully Bayesian model is needed (scorebo's FullyBayesianGP or a fitted BoTorch fully Bayesian GP), "
        f"got {type(model).__name__}."
    )


def rank_of_sets(model: Model) -> Tensor:
    """Place of each set when the sets are sorted by their hyperparameters. `M`."""
    keys = torch.cat([model.lengthscale, torch.stack([model.outputscale, model.noise, model.mean], dim=-1)], dim=-1)
    order = sorted(range(len(keys)), key=lambda m: keys[m].tolist())
    return torch.tensor(order).argsort()
