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
    distance_to_mixture,
    load_distance,
    mean_moments,
    moment_match,
    screening_levels,
    sobol_levels,
)
from scorebo.acquisition.mixture import Mixture, Normals
from scorebo.errors import InputError, check_choice, check_integer

ESTIMATOR_NAMES = ("moment_matching", "monte_carlo", "exact")
# Draws of Monte Carlo where none are given.
NUM_SAMPLES = 256
MARGINAL_VARIANCES = ("mixture", "mean")
# Nodes of a conditional, on average.
EXACT_NODES = 64
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
            estimates the distance to the mixture itself from samples; "exact" integrates it by quadrature, to an error
            below 1e-4.
        num_samples: quasi-Monte Carlo samples, 256 if None; see `sobol_levels`.
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
        num_samples: int | None = None,
        seed: int = 0,
        marginal_variance: str = "mixture",
        observation_noise: bool = True,
    ) -> None:
        # The seed is given by a run to whatever has one; only in a configuration it is a setting.
        wanted = None if estimator == "exact" else seed
        self.check_options(distance, estimator, num_samples, wanted, marginal_variance, observation_noise)
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
        num_samples: int | None = None,
        seed: int | None = None,
        marginal_variance: str = "mixture",
        observation_noise: bool = True,
    ) -> None:
        """Refuse options that cannot be used, before there is a model."""
        check_choice("estimator", estimator, ESTIMATOR_NAMES)
        for name, number, least in (("num_samples", num_samples, 1), ("seed", seed, 0)):
            if number is not None:
                check_integer(name, number, least)
                if estimator == "exact":
                    raise InputError(f"{name} is that of Monte Carlo: with estimator exact it has no effect.")
        if type(load_distance(distance)).exact is Distance.exact and estimator == "exact":
            raise InputError(
                f"The distance {distance} has no method exact, which the estimator exact needs. Use moment_matching or "
                "monte_carlo, or define the method."
            )
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

    def per_set(self, mean: Tensor, variance: Tensor, levels: Tensor | None) -> Tensor:
        """Each set's distance to the mixture, of which SAL is the mean. `batch x M`."""
        if self.estimator == "moment_matching":
            match = moment_match if self.marginal_variance == "mixture" else mean_moments
            return self.distance.closed_form(mean, variance, *match(mean, variance))
        batch_shape, num_mcmc_samples = mean.shape[:-1], mean.shape[-1]
        rows = rows_at_once(num_mcmc_samples * (EXACT_NODES if levels is None else levels.shape[-1]))
        estimates = []
        for part in zip(
            mean.reshape(-1, num_mcmc_samples).split(rows),
            variance.reshape(-1, num_mcmc_samples).split(rows),
            strict=True,
        ):
            conditionals = Normals(*part)
            estimates.append(distance_to_mixture(self.distance, conditionals, Mixture(conditionals), levels))
        return torch.cat(estimates).reshape(*batch_shape, num_mcmc_samples)


def rows_at_once(elements: int) -> int:
    """Points whose distances are computed at once, each with so many elements of the largest tensor."""
    return max(1, MAX_ELEMENTS // elements)


def levels_of(distance: Distance, estimator: str, model: Model, num_samples: int | None, seed: int) -> Tensor | None:
    """The levels of a Monte Carlo estimator of the distance for M sets, `L` or `M x L`; none for another estimator."""
    if estimator != "monte_carlo":
        return None
    num_samples = NUM_SAMPLES if num_samples is None else num_samples
    if not distance.of_components:
        return sobol_levels(num_samples, None, seed)
    # Levels go with a set, not with its place: the order of the sets does not matter.
    return sobol_levels(num_samples, model.num_mcmc_samples, seed)[rank_of_samples(model)]
