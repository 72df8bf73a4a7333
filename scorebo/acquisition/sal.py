"""Statistical distance-based active learning: query where the hyperparameter sets disagree about y.

Hvarfner, Hellsten, Hutter, Nardi. Self-Correcting Bayesian Optimization through Bayesian Active Learning. NeurIPS 2023.
"""

from __future__ import annotations

import torch
from botorch.models.model import Model
from torch import Tensor

from scorebo.acquisition.base import PredictiveAcquisition, rank_of_samples
from scorebo.acquisition.distances import DISTANCES, Distance, moment_match
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.acquisition.monte_carlo import ESTIMATORS, screening_levels, sobol_levels
from scorebo.errors import InputError, check_choice, check_integer

ESTIMATOR_NAMES = ("moment_matching", "monte_carlo")
# Elements of the largest intermediate tensor held at once (2 MB): small enough for the cache.
MAX_ELEMENTS = 250_000


class SAL(PredictiveAcquisition):
    """mean_m d(p(y|θ_m), p(y)), d a statistical distance between each set's prediction and the mixture of all.

    With "kl" and moment matching it is BALD, with the squared difference of means BQBC.

    Args:
        model: the ensemble of M sets.
        distance: "hellinger" (H, not H²), "wasserstein" (W2) or "kl" (KL(p(y|θ_m) ‖ p(y))); under moment matching also
            any function of (mean1, variance1, mean2, variance2).
        estimator: "moment_matching" takes p(y) for the normal with the mixture's mean and variance; "monte_carlo"
            estimates the distance to the mixture itself.
        num_samples: quasi-Monte Carlo samples; see `sobol_levels`.
        seed: of the scrambling of the samples.
    """

    def __init__(
        self,
        model: Model,
        distance: str | Distance = "hellinger",
        estimator: str = "moment_matching",
        num_samples: int = 256,
        seed: int = 0,
    ) -> None:
        self.check_options(distance=distance, estimator=estimator, num_samples=num_samples, seed=seed)
        super().__init__(model)
        self.distance = distance
        self.estimator = estimator
        levels = torch.empty(0, dtype=torch.float64)
        if estimator == "monte_carlo":
            levels = sobol_levels(str(distance), num_samples, self.model.num_mcmc_samples, seed)
            if distance == "hellinger":
                # Levels go with a set, not with its place: the order of the sets does not matter.
                levels = levels[rank_of_samples(self.model)]
        self.register_buffer("levels", levels)

    @staticmethod
    def check_options(
        distance: str | Distance = "hellinger",
        estimator: str = "moment_matching",
        num_samples: int = 256,
        seed: int = 0,
    ) -> None:
        """Refuse options that cannot be used, before there is a model."""
        check_choice("estimator", estimator, ESTIMATOR_NAMES)
        check_integer("num_samples", num_samples, 1)
        check_integer("seed", seed, 0)
        if not callable(distance):
            check_choice("distance", distance, DISTANCES)
        elif estimator == "monte_carlo":
            raise InputError(f"The Monte Carlo estimator needs a named distance: {', '.join(sorted(ESTIMATORS))}.")

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        return self.per_set(mean, variance, self.levels).mean(dim=-1)

    def screen(self, points: Tensor) -> Tensor:
        """Rough values `b` at points `b x D`, from few of the samples, by which raw points are ranked."""
        mean, variance = self.model.marginals(points, observation_noise=True)
        return self.per_set(mean, variance, screening_levels(self.levels)).mean(dim=-1)

    def per_set(self, mean: Tensor, variance: Tensor, levels: Tensor) -> Tensor:
        """Each set's distance to the mixture, of which SAL is the mean. `batch x M`."""
        if self.estimator == "moment_matching":
            distance = self.distance if callable(self.distance) else DISTANCES[self.distance]
            return distance(mean, variance, *moment_match(mean, variance))
        batch_shape, num_mcmc_samples = mean.shape[:-1], mean.shape[-1]
        rows = max(1, MAX_ELEMENTS // (num_mcmc_samples * levels.shape[-1]))
        estimates = []
        for part in zip(
            mean.reshape(-1, num_mcmc_samples).split(rows),
            variance.reshape(-1, num_mcmc_samples).split(rows),
            strict=True,
        ):
            conditionals = Normals(*part)
            estimates.append(ESTIMATORS[str(self.distance)](conditionals, Mixture(conditionals), levels))
        return torch.cat(estimates).reshape(*batch_shape, num_mcmc_samples)
