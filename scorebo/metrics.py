"""How good a fitted model is over the whole box: negative MLL, NLPD and RMSE on fresh test points."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.gp import FullyBayesianGP
from scorebo.scaling import Scaling
from scorebo.seeds import derive

if TYPE_CHECKING:
    from benchmarks.base import Benchmark

logger = logging.getLogger(__name__)

NUM_POINTS = 2000  # ᶜ
BLOCK = 200  # ᶜ
LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class ModelQuality:
    """Metrics of one fit.

    Args:
        negative_mll: minus the joint log density of a block of noiseless targets under the noisy prediction, divided
            by the block's size; averaged over sets and blocks.
        nlpd: minus the log density of the mixture at single points, averaged.
        rmse: root mean squared error of the mixture mean, in the task's units.
        jittered_blocks: block covariances that needed a jitter before they could be factorised.
    """

    negative_mll: float
    nlpd: float
    rmse: float
    jittered_blocks: int


def test_points(task: str, seed: int, iteration: int, dim: int) -> Tensor:
    """Scrambled Sobol points of the unit box, new for each (seed, iteration), the same for all acquisitions."""
    sobol = SobolEngine(dim, scramble=True, seed=derive(task, seed, "test points", iteration))
    return sobol.draw(NUM_POINTS, dtype=torch.float64)


@torch.no_grad()
def evaluate(model: FullyBayesianGP, benchmark: Benchmark, scaling: Scaling, seed: int, iteration: int) -> ModelQuality:
    """Compare the model with the task's noiseless function on fresh test points."""
    points = test_points(benchmark.name, seed, iteration, benchmark.dim)
    truth = benchmark.evaluate_true(scaling.from_unit(points))
    targets = scaling.to_model(truth)
    negative_mll, jittered = negative_marginal_log_likelihood(model, points, targets)
    mean, variance = model.marginals(points, observation_noise=True)
    return ModelQuality(
        negative_mll=negative_mll,
        nlpd=negative_log_predictive_density(mean, variance, targets),
        rmse=float((scaling.from_model(mean.mean(-1)) - truth).square().mean().sqrt()),
        jittered_blocks=jittered,
    )


def negative_marginal_log_likelihood(model: FullyBayesianGP, X: Tensor, targets: Tensor) -> tuple[float, int]:
    """Mean over sets and blocks of minus the joint log density of a block's targets, per point.

    Args:
        model: the ensemble.
        X: `N x D` in the unit box, N a multiple of the block size.
        targets: `N` on the model's scale.

    Returns:
        The metric, and how many block covariances needed a jitter.
    """
    total, jittered = 0.0, 0
    blocks = X.split(BLOCK)
    for block, target in zip(blocks, targets.split(BLOCK), strict=True):
        mean, covariance = model.joint(block, observation_noise=True)
        factor, attempts = _factorise(covariance, model.outputscale)
        residual = (target - mean).unsqueeze(-1)
        whitened = torch.linalg.solve_triangular(factor, residual, upper=False).squeeze(-1)
        log_determinant = 2.0 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        log_density = -0.5 * (whitened.square().sum(-1) + log_determinant + len(block) * LOG_2PI)
        total -= float(log_density.mean()) / len(block)
        jittered += attempts
    if jittered:
        logger.info("%d block covariances needed a jitter.", jittered)
    return total / len(blocks), jittered


def negative_log_predictive_density(mean: Tensor, variance: Tensor, targets: Tensor) -> float:
    """Minus the mean log density of the equally weighted mixture of N(mean, variance), each `N x M`, at `N` targets."""
    log_density = -0.5 * ((targets[:, None] - mean).square() / variance + variance.log() + LOG_2PI)
    return -float((torch.logsumexp(log_density, dim=-1) - math.log(mean.shape[-1])).mean())


def _factorise(covariance: Tensor, outputscale: Tensor) -> tuple[Tensor, int]:
    """Cholesky factors `M x q x q`; a block that rounding made indefinite gets a jitter, and is counted."""
    factor, info = torch.linalg.cholesky_ex(covariance)
    jittered = 0
    for m in info.nonzero().flatten().tolist():
        jitter = 1e-12 * float(outputscale[m])
        identity = torch.eye(covariance.shape[-1], dtype=covariance.dtype)
        while int(info[m]):
            jitter *= 10.0
            if jitter > 1e-3 * float(outputscale[m]):
                raise FloatingPointError(f"The predictive covariance of set {m} cannot be factorised.")
            factor[m], info[m] = torch.linalg.cholesky_ex(covariance[m] + jitter * identity)
        jittered += 1
    return factor, jittered
