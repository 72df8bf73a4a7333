"""Statistical distance-based active learning: query where the hyperparameter sets disagree about y.

Hvarfner, Hellsten, Hutter, Nardi. Self-Correcting Bayesian Optimization through Bayesian Active Learning. NeurIPS 2023.
"""

from __future__ import annotations

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import PredictiveAcquisition, rank_of_samples
from scorebo.acquisition.distances import (
    Distance,
    load_distance,
    mean_moments,
    moment_match,
    screening_levels,
    sobol_levels,
)
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.errors import InputError, check_choice, check_integer

ESTIMATOR_NAMES = ("moment_matching", "monte_carlo")
MARGINAL_VARIANCES = ("mixture", "mean")
# Elements of the largest intermediate tensor held at once (2 MB): small enough for the cache.
MAX_ELEMENTS = 250_000


class SAL(PredictiveAcquisition):
    """mean_m d(p(y|θ_m), p(y)), d a statistical distance between each set's prediction and the mixture of all.

    With "kl" and moment matching it is BALD, with the squared difference of means BQBC.

    Args:
        model: the ensemble of M sets.
        distance: "hellinger" (H, not H²), "wasserstein" (W2), "kl" (KL(p(y|θ_m) ‖ p(y))), "reverse_kl"
            (KL(p(y) ‖ p(y|θ_m))), or a `Distance` of your own, as a class or by its import path.
        estimator: "moment_matching" takes p(y) for the normal with the mixture's mean and variance; "monte_carlo"
            estimates the distance to the mixture itself.
        num_samples: quasi-Monte Carlo samples; see `sobol_levels`.
        seed: of the scrambling of the samples.
        marginal_variance: under moment matching the variance of p(y): that of the "mixture", or, as in the authors'
            code, the "mean" of the sets' variances, without the spread of their means.
        observation_noise: False compares distributions of the noiseless f, as the authors' code does.
    """

    def __init__(
        self,
        model: Model,
        distance: str | type[Distance] = "hellinger",
        estimator: str = "moment_matching",
        num_samples: int = 256,
        seed: int = 0,
        marginal_variance: str = "mixture",
        observation_noise: bool = True,
    ) -> None:
        self.check_options(distance, estimator, num_samples, seed, marginal_variance, observation_noise)
        super().__init__(model)
        self.distance = load_distance(distance)
        self.estimator = estimator
        self.marginal_variance = marginal_variance
        self.observation_noise = observation_noise
        self.register_buffer("levels", levels_of(self.distance, estimator, self.model, num_samples, seed))

    @staticmethod
    def check_options(
        distance: str | type[Distance] = "hellinger",
        estimator: str = "moment_matching",
        num_samples: int = 256,
        seed: int = 0,
        marginal_variance: str = "mixture",
        observation_noise: bool = True,
    ) -> None:
        """Refuse options that cannot be used, before there is a model."""
        check_choice("estimator", estimator, ESTIMATOR_NAMES)
        check_integer("num_samples", num_samples, 1)
        check_integer("seed", seed, 0)
        load_distance(distance)
        check_choice("marginal_variance", marginal_variance, MARGINAL_VARIANCES)
        if marginal_variance != "mixture" and estimator != "moment_matching":
            raise InputError(
                f"marginal_variance is that of moment matching: with estimator {estimator} it has no effect."
            )
        if not isinstance(observation_noise, bool):
            raise InputError(f"observation_noise must be true or false, got {observation_noise!r}.")

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        return self.per_set(mean, variance, self.levels).mean(dim=-1)

    def screen(self, points: Tensor) -> Tensor:
        """Rough values `b` at points `b x D`, from few of the samples, by which raw points are ranked."""
        return self.per_set(*self.moments(points), screening_levels(self.levels)).mean(dim=-1)

    def per_set(self, mean: Tensor, variance: Tensor, levels: Tensor) -> Tensor:
        """Each set's distance to the mixture, of which SAL is the mean. `batch x M`."""
        if self.estimator == "moment_matching":
            match = moment_match if self.marginal_variance == "mixture" else mean_moments
            return self.distance.closed_form(mean, variance, *match(mean, variance))
        batch_shape, num_mcmc_samples = mean.shape[:-1], mean.shape[-1]
        rows = max(1, MAX_ELEMENTS // (num_mcmc_samples * levels.shape[-1]))
        estimates = []
        for part in zip(
            mean.reshape(-1, num_mcmc_samples).split(rows),
            variance.reshape(-1, num_mcmc_samples).split(rows),
            strict=True,
        ):
            conditionals = Normals(*part)
            estimates.append(self.distance.estimate(conditionals, Mixture(conditionals), levels))
        return torch.cat(estimates).reshape(*batch_shape, num_mcmc_samples)


def levels_of(distance: Distance, estimator: str, model: Model, num_samples: int, seed: int) -> Tensor:
    """The levels of a Monte Carlo estimator of the distance for M sets, `L` or `M x L`; none for moment matching."""
    if estimator == "moment_matching":
        return torch.empty(0, dtype=torch.float64)
    if not distance.of_components:
        return sobol_levels(num_samples, None, seed)
    # Levels go with a set, not with its place: the order of the sets does not matter.
    return sobol_levels(num_samples, model.num_mcmc_samples, seed)[rank_of_samples(model)]
