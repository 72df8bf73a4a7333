"""Points at which the evaluation failed: the model learns to avoid them, and no proposal returns to one.

A failed evaluation enters the training data with the worst value observed so far, so that every model, sampler and
acquisition avoids it without knowing of failures. Imputing missing values is the usual practice: Forrester, Sóbester,
Keane. Optimization with missing data. Proceedings of the Royal Society A 2006; the worst value is what algorithm
configurators give crashed runs. DataTransform, regrets and the best observation see true observations alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from scorebo.acquisition import Context
from scorebo.acquisition.strategy import Proposal, Strategy
from scorebo.config import sampler_settings
from scorebo.gp import FullyBayesianGP, Surrogate
from scorebo.inference import Carry, fit_gp
from scorebo.seeds import derive
from scorebo.transforms.standardize import DataTransform

# Failures in a row after which the function, not the point, is taken to be at fault.
MOST_FAILURES = 20
# Points whose coordinates differ by less than this share of the box are the same.
SAME = 1e-4


def tried_points(attempts: Iterable[tuple[list[float], float | None]], dim: int) -> tuple[Tensor, Tensor]:
    """Every point tried, in order, `n x D`, and its value `n`, NaN where the evaluation failed (None)."""
    points, values = [], []
    for x, y in attempts:
        points.append(x)
        values.append(float("nan") if y is None else y)
    X = torch.tensor(points, dtype=torch.float64).reshape(-1, dim)
    return X, torch.tensor(values, dtype=torch.float64)


def fit_tried(
    X: Tensor,
    y: Tensor,
    bounds: Tensor,
    surrogate: Surrogate,
    mcmc: Mapping[str, Any],
    *,
    maximize: bool,
    seed: int,
    carry: Carry,
) -> tuple[FullyBayesianGP, DataTransform]:
    """The model of all points tried, and the transform between the task's units and the model's.

    Args:
        X: `n x D`, in the order in which they were tried, in the task's units.
        y: `n`, NaN where the evaluation failed.
        bounds: `2 x D`.
        surrogate: the model to fit.
        mcmc: settings of the sampler, an mcmc node.
        maximize: whether larger values of y are better.
        seed: of the sampler.
        carry: what the sampler hands on; it is moved on.
    """
    observed = ~y.isnan()
    transform = DataTransform.of(
        bounds,
        y[observed],
        maximize=maximize,
        standardize=surrogate.standardize,
        yeo_johnson=surrogate.yeo_johnson,
    )
    seen = transform.to_model(y[observed])
    Y = torch.full_like(y, float(seen.min()))  # the model maximizes: its least value is the worst
    Y[observed] = seen
    return fit_gp(transform.to_unit(X), Y, surrogate, seed=seed, carry=carry, **sampler_settings(mcmc)), transform


def propose(strategy: Strategy, context: Context, failed: Tensor) -> Proposal:
    """The strategy's proposal; a uniform point instead of one at which the evaluation failed.

    Args:
        strategy: proposes.
        context: of the iteration.
        failed: `m x D`, all points that failed, in the unit box.
    """
    proposal = strategy.propose(context)
    if not bool(((proposal.x - failed).abs() <= SAME).all(dim=-1).any()):
        return proposal
    seed = derive(context.task, context.seed, "instead of a failed point", context.iteration, len(failed))
    x = torch.rand(failed.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return Proposal(x, None, proposal.num_fallbacks + 1)
