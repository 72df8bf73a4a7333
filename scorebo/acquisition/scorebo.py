"""Self-correcting Bayesian optimization: query where the sets, each told its own optimum, disagree with their mixture.

Hvarfner, Hellsten, Hutter, Nardi. Self-Correcting Bayesian Optimization through Bayesian Active Learning. NeurIPS 2023.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import OptimaAcquisition
from scorebo.acquisition.conditioning import Optima, Prediction, below_optimum, check_optima
from scorebo.acquisition.distances import (
    Distance,
    distance_to_mixture,
    load_distance,
    moment_match,
    screening_levels,
)
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.acquisition.sal import EXACT_NODES, SAL, levels_of, rows_at_once
from scorebo.acquisition.skew_normal import SkewNormals
from scorebo.errors import InputError, check_choice

CONDITION_ON = ("joint", "value", "location")
CONDITIONALS = ("exact", "gaussian")


class SCoreBO(OptimaAcquisition):
    """mean_mn d(p(y|θ_m, ★_mn), p(y)), p(y) the mixture of the sets without their optima.

    What the optimum tells about f(x) depends on `condition_on`:

    - "joint": f(x*) = f*, an observation without noise, and f(x) ≤ f*.
    - "value": f(x) ≤ f*.
    - "location": f(x) ≤ f(x*), with f(x) and f(x*) jointly normal. Of the constraints that predictive entropy search
      puts on the function this is the one that involves x; those on the gradient, the Hessian and the data are left
      out, which makes the conditional exact, an extended skew normal as in the other cases, and free of f*.

    Each is a truncation; the conditional's first two moments are exact in all three.

    Args:
        model: the ensemble of M sets.
        optimal_inputs: `N x M x D`; not used (and may be None) with "value".
        optimal_outputs: `N x M x 1`, their values; not used (and may be None) with "location". A value may lie below
            the mean of its set: the truncation is then severe, and accurate.
        distance: "hellinger" (H, not H²), "wasserstein" (W2), "kl" (KL(p(y|θ_m, ★_mn) ‖ p(y))), "reverse_kl"
            (KL(p(y) ‖ p(y|θ_m, ★_mn))), or a `Distance` of your own, as a class or by its import path.
        estimator: "moment_matching" takes every distribution for the normal with its mean and variance; "monte_carlo"
            estimates the distance to the mixture itself from samples; "exact" integrates it by quadrature, to an error
            below 1e-4.
        condition_on: see above.
        truncate: False leaves out the truncation, and with it all but f(x*) = f*.
        num_samples: quasi-Monte Carlo samples, 256 if None; see `sobol_levels`.
        conditional: but under moment matching, the conditional as it is ("exact") or the normal with its moments
            ("gaussian").
        seed: of the scrambling of the samples.
    """

    def __init__(
        self,
        model: Model,
        optimal_inputs: Tensor | None = None,
        optimal_outputs: Tensor | None = None,
        distance: str | type[Distance] = "hellinger",
        estimator: str = "moment_matching",
        condition_on: str = "joint",
        truncate: bool = True,
        num_samples: int | None = None,
        conditional: str = "exact",
        seed: int = 0,
    ) -> None:
        # The seed is given by a run to whatever has one; only in a configuration it is a setting.
        wanted = None if estimator == "exact" else seed
        of_sal = {"distance": distance, "estimator": estimator, "num_samples": num_samples, "seed": wanted}
        self.check_options(condition_on, truncate, conditional, **of_sal)
        super().__init__(model)
        self.distance = load_distance(distance)
        self.estimator = estimator
        self.condition_on = condition_on
        self.truncate = truncate
        self.conditional = conditional
        self.optima: Optima | None = None
        self.max_values = torch.empty(0, dtype=torch.float64)
        if condition_on != "value":
            outputs = optimal_outputs if condition_on == "joint" else None
            self.optima = Optima(self.model, optimal_inputs, outputs)
        if condition_on != "location":
            self.max_values = check_optima("optimal_outputs", optimal_outputs, self.model.num_mcmc_samples, 1)
        self.register_buffer("levels", levels_of(self.distance, estimator, self.model, num_samples, seed))

    @staticmethod
    def check_options(
        condition_on: str = "joint", truncate: bool = True, conditional: str = "exact", **options: Any
    ) -> None:
        """Refuse options that cannot be used, before there is a model; `options` are those that SAL has too."""
        SAL.check_options(**options)
        check_choice("condition_on", condition_on, CONDITION_ON)
        check_choice("conditional", conditional, CONDITIONALS)
        if not isinstance(truncate, bool):
            raise InputError(f"truncate must be true or false, got {truncate!r}.")
        if condition_on != "joint" and not truncate:
            raise InputError(
                f"condition_on '{condition_on}' is a truncation: with truncate false nothing is left but SAL."
            )

    def evaluate(self, points: Tensor) -> Tensor:
        return self.per_optimum(points, self.levels).mean(dim=(0, 1))

    def screen(self, points: Tensor) -> Tensor:
        """Rough values `b` at points `b x D`, from few of the samples, by which raw points are ranked."""
        return self.per_optimum(points, screening_levels(self.levels)).mean(dim=(0, 1))

    def per_optimum(self, points: Tensor, levels: Tensor | None) -> Tensor:
        """The distance for each optimum and set at points `b x D`, of which SCoreBO is the mean. `N x M x b`."""
        prediction = self._predict(points)
        conditional = self._conditional(prediction)
        marginal = Normals(prediction.mean.mT, (prediction.variance + self.model.noise_variance[:, None]).mT)
        if self.estimator == "moment_matching":
            mean, variance = moment_match(marginal.mean, marginal.variance)
            return self.distance.closed_form(*conditional.moments(), mean.squeeze(-1), variance.squeeze(-1))
        shape = conditional.mean.shape
        parameters = [part.expand(shape).flatten(end_dim=1).mT for part in conditional.parameters]
        rows = rows_at_once(parameters[0].shape[1] * (EXACT_NODES if levels is None else levels.numel()))
        columns = (*parameters, marginal.mean, marginal.variance)
        parts = zip(*(column.split(rows) for column in columns), strict=True)
        return torch.cat([self._estimate(levels, *part) for part in parts]).mT.reshape(shape)

    def conditional_moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of y at points `b x D` for each optimum and set, each `N x M x b`."""
        return self._conditional(self._predict(points)).moments()

    def _estimate(
        self, levels: Tensor | None, mean: Tensor, shift: Tensor, noise: Tensor, threshold: Tensor, *marginal: Tensor
    ) -> Tensor:
        conditionals: Normals | SkewNormals = SkewNormals(mean, shift, noise, threshold)
        if not self.truncate:
            conditionals = Normals(mean, noise)
        elif self.conditional == "gaussian":
            conditionals = Normals(*SkewNormals(mean, shift, noise, threshold).moments())
        return distance_to_mixture(self.distance, conditionals, Mixture(Normals(*marginal)), levels)

    def _predict(self, points: Tensor) -> Prediction:
        if self.optima is not None:
            return self.optima.predict(points)
        mean, variance = self.model.marginals(points)
        return Prediction(mean.mT, variance.mT, torch.zeros(1, 1, 1, dtype=torch.float64))

    def _conditional(self, prediction: Prediction) -> SkewNormals:
        """p(y|θ_m, ★_mn), its parameters `N x M x b` (the noise may be `M x 1`)."""
        noise = self.model.noise_variance[:, None]
        if self.optima is not None and self.condition_on == "location":
            return below_optimum(prediction, self.optima.mean, self.optima.variance, noise)
        mean, variance = prediction.mean, prediction.variance
        if self.optima is not None:
            mean, variance = self.optima.condition(prediction)
        if not self.truncate:
            return SkewNormals(mean, torch.zeros_like(mean), variance + noise, torch.zeros_like(mean))
        # f = μ − σw with w ≥ −γ.
        std = variance.sqrt()
        threshold = (self.max_values - mean) / std
        return SkewNormals(mean.expand_as(threshold), -std, noise, threshold)
