"""What the ensemble's acquisitions have in common: they look at one point, many of them at its M predictive normals."""

from __future__ import annotations

from abc import abstractmethod

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP


class PointAcquisition(AcquisitionFunction):
    """An acquisition function of one point of the ensemble.

    Args:
        model: the ensemble, or a fitted BoTorch fully Bayesian GP, which is lifted into one.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model=as_ensemble(model))

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Acquisition values `batch` at X `batch x 1 x D`."""
        return self.evaluate(X.reshape(-1, X.shape[-1])).reshape(X.shape[:-2])

    @abstractmethod
    def evaluate(self, points: Tensor) -> Tensor:
        """Acquisition values `b` at points `b x D`."""


class PredictiveAcquisition(PointAcquisition):
    """A function of the means and variances of the noisy observation y at x under each hyperparameter set."""

    def evaluate(self, points: Tensor) -> Tensor:
        return self.score(*self.model.marginals(points, observation_noise=True))

    @abstractmethod
    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Acquisition values `b` from the moments of y under each set, each `b x M`."""


def as_ensemble(model: Model) -> Model:
    """The model itself if it gives the moments under each set; a BoTorch fully Bayesian GP is lifted."""
    if hasattr(model, "marginals"):
        return model
    # Imported only here: with it come NumPyro and JAX, which take as long as all the rest to load.
    from botorch.models.fully_bayesian import AbstractFullyBayesianSingleTaskGP

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
