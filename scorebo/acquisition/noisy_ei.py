"""Noisy expected improvement over the unknown best of the observed points.

Letham, Karrer, Ottoni, Bakshy. Constrained Bayesian optimization with noisy experiments. Bayesian Analysis 2019.
Ament, Daulton, Eriksson, Balandat, Bakshy. Unexpected improvements to expected improvement. NeurIPS 2023.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.model import Model
from botorch.utils.sampling import draw_sobol_normal_samples
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

from scorebo.acquisition._smooth import TAU_RELU, sum_smooth
from scorebo.acquisition.base import PointAcquisition, rank_of_samples
from scorebo.errors import InputError, check_integer
from scorebo.gp import FullyBayesianGP

# Samples by which BoTorch prunes the baseline.
PRUNING_SAMPLES = 2048
# With these the true expected improvement at the chosen point is hardly below the highest there is.
NUM_SAMPLES = 4096
# The least variance of f(x) given f at the baseline, relative to the prior one: at the baseline itself it is 0, where
# the square root has no gradient.
LEAST_VARIANCE = 1e-12


class NoisyExpectedImprovement(PointAcquisition):
    """BoTorch's qLogNoisyExpectedImprovement (or qNoisyExpectedImprovement) of one point: for one set the same values.

    BoTorch draws f at the baseline and f(x) from their joint posterior, factorized anew for every x. Here the baseline
    is factorized and drawn once, LLᵀ its covariance and z the standard normal numbers behind a sample, and

        f(x) = μ(x) + aᵀz + √(v(x) − aᵀa)·z₊        a = L⁻¹ cov(f at the baseline, f(x))

    is the same sample from the same numbers, of which z₊ is the last. BoTorch gives every set the same numbers; here
    each has its own part of one sequence. At the same cost the mean over the sets is of as many different samples as
    all sets have together, and its maximizer is hardly of the samples' making (results/reference/noisy-ei.md).

    Args:
        model: the ensemble.
        log: the logarithm, numerically better and with the same maximizer; averaged over the sets as EI.
        num_samples: quasi-Monte Carlo samples over all sets: each of M sets has S, the M-th part of them, rounded up.
        seed: of the samples; the result is a function of it.

    Attributes:
        baseline: `n_b x D`, the observed points that may be the best; BoTorch's pruning leaves out the others.
    """

    def __init__(self, model: Model, log: bool = True, num_samples: int = NUM_SAMPLES, seed: int = 0) -> None:
        self.check_options(log, num_samples, seed)
        super().__init__(model)
        self.log = log
        model, seed = self.model, seed % 2**32
        with torch.no_grad():
            self.baseline = possibly_best(model, seed)
            mean, covariance = model.joint(self.baseline)
            _, self.whitened = model.whiten(self.baseline)  # M x n x n_b
            self.factor = psd_safe_cholesky(covariance)  # M x n_b x n_b
        num_sets = model.num_mcmc_samples
        size = -(-num_samples // num_sets)
        normal = draw_sobol_normal_samples(len(self.baseline) + 1, num_sets * size, dtype=torch.float64, seed=seed)
        # Samples go with a set, not with its place: the order of the sets does not matter.
        normal = normal.unflatten(0, (num_sets, size))[rank_of_samples(model)]
        # The best of the baseline in each sample, M x S x 1.
        best = (mean.unsqueeze(-2) + normal[..., :-1] @ self.factor.mT).amax(dim=-1, keepdim=True)
        # M x S x n_b + 3: a sample's improvement at x is its product with (a, √(v − aᵀa), μ, 1).
        self.samples = torch.cat([normal, torch.ones_like(best), -best], dim=-1)

    @staticmethod
    def check_options(log: bool = True, num_samples: int = NUM_SAMPLES, seed: int = 0) -> None:
        """Refuse options that cannot be used, before there is a model."""
        if not isinstance(log, bool):
            raise InputError(f"log must be true or false, got {log!r}.")
        check_integer("num_samples", num_samples, 1)
        check_integer("seed", seed, 0)

    def evaluate(self, points: Tensor) -> Tensor:
        improvement = self.samples @ self._coefficients(points)
        return _LogMeanSmooth.apply(improvement) if self.log else improvement.clamp_min(0.0).mean(dim=(0, 1))

    def _coefficients(self, points: Tensor) -> Tensor:
        """What a sample of the improvement at points `b x D` is made of: `M x n_b + 3 x b`."""
        model = self.model
        scale = model.prior_variance[:, None]
        mean, whitened = model.whiten(points)
        prior = model.kernel(self.baseline, points, model.lengthscale, model.outputscale)
        covariance = prior - self.whitened.mT @ whitened
        weights = torch.linalg.solve_triangular(self.factor, covariance, upper=False)  # M x n_b x b
        variance = scale - whitened.square().sum(dim=-2) - weights.square().sum(dim=-2)
        std = torch.maximum(variance, LEAST_VARIANCE * scale).sqrt()
        return torch.cat([weights, torch.stack([std, mean, torch.ones_like(mean)], dim=-2)], dim=-2)


def possibly_best(model: FullyBayesianGP, seed: int) -> Tensor:
    """The observed points that are the best in some sample, averaged over the sets: `n_b x D`.

    BoTorch's `prune_inferior_points`, by the same samples. Importing that one loads JAX, which takes as long as all the
    rest of a start.
    """
    mean, covariance = model.joint(model.train_X)
    normal = draw_sobol_normal_samples(len(model.train_X), PRUNING_SAMPLES, dtype=torch.float64, seed=seed)
    samples = mean.mean(dim=0) + normal @ psd_safe_cholesky(covariance).mean(dim=0).mT
    return model.train_X[samples.argmax(dim=-1).unique()]


class _LogMeanSmooth(torch.autograd.Function):
    """log of the mean over sets and samples of a smooth maximum of x and 0 (see `_smooth`)."""

    @staticmethod
    def forward(context: Any, improvement: Tensor) -> Tensor:
        """`M x S x b` -> `b`."""
        slope = torch.empty_like(improvement)
        total = torch.from_numpy(sum_smooth(improvement.flatten(0, 1).numpy(), slope.flatten(0, 1).numpy()))
        context.save_for_backward(slope, TAU_RELU * total)
        return (TAU_RELU * total / improvement.shape[:2].numel()).log()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        """`b` -> `M x S x b`."""
        slope, total = context.saved_tensors
        return slope * (gradient / total)
