"""What the ensemble's acquisitions have in common: they look at one point, many of them at its M predictive normals."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from scorebo.optima import sample_optima
from scorebo.search.box import Bounds

# Parameters of an acquisition that are optima of posterior draws.
OPTIMA = ("optimal_inputs", "optimal_outputs", "max_values")


class PointAcquisition(AcquisitionFunction):
    """An acquisition function of one point of the ensemble.

    Args:
        model: the ensemble, or a fitted BoTorch fully Bayesian GP, which is lifted into one.
    """

    # BoTorch's sequential optimization reads it before it sets pending points.
    X_pending: None = None

    def __init__(self, model: Model) -> None:
        super().__init__(model=as_ensemble(model))

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802
        """Refuse pending points: acquisition values do not depend on them. None is accepted."""
        if X_pending is not None:
            raise InputError(
                f"{type(self).__name__} does not support pending points yet. Choose one point at a time: optimize_acqf "
                "with q=1, evaluate the point, and fit the model again before the next one."
            )

    @t_batch_mode_transform()
    def forward(self, X: Tensor) -> Tensor:
        """Acquisition values `batch` at X `batch x 1 x D`."""
        if X.shape[-2] != 1:
            raise InputError(
                f"{type(self).__name__} takes one point at a time, X of shape batch x 1 x D, got {tuple(X.shape)}: "
                f"q={X.shape[-2]} points at once are not supported yet. Use optimize_acqf with q=1; for the values at "
                "n points, X.unsqueeze(-2)."
            )
        return self.evaluate(X.reshape(-1, X.shape[-1])).reshape(X.shape[:-2])

    @abstractmethod
    def evaluate(self, points: Tensor) -> Tensor:
        """Acquisition values `b` at points `b x D`."""


class OptimaAcquisition(PointAcquisition):
    """An acquisition function that is given optima of functions drawn from each set's posterior."""

    @classmethod
    def from_model(
        cls,
        model: Model,
        bounds: Bounds,
        num_optima: int = 8,
        num_features: int = 2048,
        seed: int = 0,
        **options: Any,
    ) -> Self:
        """Draw the optima from the model and build the acquisition function.

        Args:
            model: the ensemble, or a fitted BoTorch fully Bayesian GP.
            bounds: a `2 x D` tensor, lower and upper corner, or `scorebo.Box`: where the optima are searched.
            num_optima: N, optima drawn for each set.
            num_features: Fourier features of the functions whose optima they are.
            seed: of the optima, and of the acquisition's samples if it has any.
            options: further arguments of the class, e.g. `distance="wasserstein"`.
        """
        model = as_ensemble(model)

        def draw() -> tuple[Tensor, Tensor]:
            return sample_optima(model, bounds, num_optima, num_features, seed=seed)

        return build_acquisition(cls, model, options, seed, draw)


class PredictiveAcquisition(PointAcquisition):
    """A function of the means and variances of the noisy observation y at x under each hyperparameter set.

    With `observation_noise` False they are those of the noiseless f.
    """

    observation_noise = True

    def evaluate(self, points: Tensor) -> Tensor:
        return self.score(*self.moments(points))

    def moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance under each set at points `b x D`, each `b x M`."""
        return self.model.marginals(points, observation_noise=self.observation_noise)

    @abstractmethod
    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Acquisition values `b` from the moments under each set, each `b x M`."""


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


def build_acquisition(
    target: Callable[..., Any],
    model: Model,
    options: Mapping[str, Any],
    seed: int,
    draw: Callable[[], tuple[Tensor, Tensor]],
) -> Any:
    """Call `target(model, **options)` with a seed and optima as well, if it has parameters of these names.

    Args:
        target: an acquisition class.
        model: the ensemble.
        options: options of the class.
        seed: for the parameter `seed`.
        draw: gives optimal_inputs `N x M x D` and optimal_outputs `N x M x 1`; called only where they are asked for.
    """
    asked = inspect.signature(target).parameters.keys() - options.keys()
    given: dict[str, Any] = {"seed": seed}
    if asked & set(OPTIMA):
        inputs, outputs = draw()
        given |= {"optimal_inputs": inputs, "optimal_outputs": outputs, "max_values": outputs}
    return target(model, **options, **{key: given[key] for key in asked & given.keys()})


def rank_of_samples(model: Model) -> Tensor:
    """Place of each set when the sets are sorted by their hyperparameters. `M`."""
    keys = torch.cat([model.lengthscale, torch.stack([model.outputscale, model.noise, model.mean], dim=-1)], dim=-1)
    order = sorted(range(len(keys)), key=lambda m: keys[m].tolist())
    return torch.tensor(order).argsort()
