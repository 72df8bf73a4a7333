"""How good a fitted model is over the whole box: negative MLL, NLPD and RMSE on fresh test points."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from scipy.linalg import blas, lapack
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.gp import FullyBayesianGP
from scorebo.seeds import derive
from scorebo.store.schema import ModelQuality, nothing
from scorebo.transforms.standardize import DataTransform

if TYPE_CHECKING:
    from scorebo.benchmarks.base import Benchmark

logger = logging.getLogger(__name__)

NUM_POINTS = 2000  # ᶜ
BLOCK = 200  # ᶜ
LOG_2PI = math.log(2.0 * math.pi)


def test_points(task: str, seed: int, iteration: int, dim: int) -> Tensor:
    """Scrambled Sobol points of the unit box, new for each (seed, iteration), the same for all acquisitions."""
    sobol = SobolEngine(dim, scramble=True, seed=derive(task, seed, "test points", iteration))
    return sobol.draw(NUM_POINTS, dtype=torch.float64)


@torch.no_grad()
def evaluate(
    model: FullyBayesianGP, benchmark: Benchmark, transform: DataTransform, seed: int, iteration: int
) -> ModelQuality:
    """Compare the model with the task's noiseless function on fresh test points."""
    if benchmark.expensive:
        return nothing(ModelQuality)
    points = test_points(benchmark.name, seed, iteration, benchmark.dim)
    truth = benchmark.evaluate_true(transform.from_unit(points))
    targets = transform.to_model(truth)
    prediction = predict_in_blocks(model, points, targets)
    mean = prediction.mean
    nlpd = negative_log_predictive_density(mean, prediction.variance, targets)
    shift = transform.mean_log_derivative(truth)
    return ModelQuality(
        negative_mll=prediction.negative_mll,
        negative_mll_task_units=prediction.negative_mll - shift,
        nlpd=nlpd,
        nlpd_task_units=nlpd - shift,
        rmse=float((transform.from_model(mean.mean(-1)) - truth).square().mean().sqrt()),
        jittered_blocks=prediction.jittered_blocks,
    )


class Prediction(NamedTuple):
    """What the model says about y at the test points.

    Attributes:
        mean: `N x M`.
        variance: `N x M`.
        negative_mll: mean over sets and blocks of minus the joint log density of a block's targets, per point.
        jittered_blocks: block covariances that needed a jitter.
    """

    mean: Tensor
    variance: Tensor
    negative_mll: float
    jittered_blocks: int


def predict_in_blocks(model: FullyBayesianGP, X: Tensor, targets: Tensor) -> Prediction:
    """Predict blocks of test points jointly, and judge the targets by their joint density.

    Args:
        model: the ensemble.
        X: `N x D` in the unit box, N a multiple of the block size.
        targets: `N` on the model's scale.
    """
    # Under each set: mean and variance of y at a point, its residual whitened within the block, the factor's diagonal.
    mean, variance, score, diagonal = np.empty((4, model.num_mcmc_samples, len(X)))
    factor = np.empty((BLOCK, BLOCK), order="F")
    noise, jittered = model.noise_variance.tolist(), 0
    for first in range(0, len(X), BLOCK):
        block = slice(first, first + BLOCK)
        target = targets[block].numpy()
        for m, (center, covariance) in enumerate(model.joint_by_sample(X[block])):
            mean[m, block] = center
            variance[m, block] = covariance.diagonal() + noise[m]
            jittered += factorize(covariance, variance[m, block], factor)
            score[m, block] = blas.dtrsv(factor, target - center, lower=1, overwrite_x=1)
            diagonal[m, block] = factor.diagonal()
    if jittered:
        logger.info("%d block covariances needed a jitter.", jittered)
    negative_mll = float((0.5 * score**2 + np.log(diagonal)).mean()) + 0.5 * LOG_2PI
    return Prediction(torch.from_numpy(mean.T), torch.from_numpy(variance.T), negative_mll, jittered)


def decomposition_error(model: FullyBayesianGP, benchmark: Benchmark) -> float | None:
    """How many of the task's pairs of inputs that act together a set puts into different groups, on average.

    0 when every pair is together in every set; None for a task without pairs, or a model without groups.
    """
    pairs = getattr(benchmark, "pairs", None)
    groups = model.kernel.structure().get("group")
    if not pairs or groups is None:
        return None
    return float(np.mean([sum(labels[i] != labels[j] for i, j in pairs) for labels in groups]))


def negative_log_predictive_density(mean: Tensor, variance: Tensor, targets: Tensor) -> float:
    """Minus the mean log density of the equally weighted mixture of N(mean, variance), each `N x M`, at `N` targets."""
    log_density = -0.5 * ((targets[:, None] - mean).square() / variance + variance.log() + LOG_2PI)
    return -float((torch.logsumexp(log_density, dim=-1) - math.log(mean.shape[-1])).mean())


def factorize(covariance: np.ndarray, variance: np.ndarray, factor: np.ndarray) -> bool:
    """Cholesky factor of the covariance of y at a block of points; one that rounding made indefinite gets a jitter.

    Args:
        covariance: `q x q`, in columns; the lower triangle is the covariance of f.
        variance: `q`, variances of y.
        factor: `q x q`, in columns, whose lower triangle becomes the factor.

    Returns:
        Whether a jitter was needed.
    """
    for jitter in (0.0, *(10.0**exponent for exponent in range(-11, -2))):
        factor[:] = covariance
        factor.ravel(order="K")[:: len(variance) + 1] = variance + jitter * variance.max()
        _, failed = lapack.dpotrf(factor, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return jitter > 0.0
    raise FloatingPointError("A predictive covariance cannot be factorized.")
