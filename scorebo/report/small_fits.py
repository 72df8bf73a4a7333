"""Small one-dimensional fits with fixed seeds, from which the explanatory figures and the exact claims are computed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from scorebo.gp import FullyBayesianGP

GRID = 201
POINTS, SETS = 6, 3


@functools.cache
def small_fit(seed: int) -> FullyBayesianGP:
    """A fully Bayesian GP of a few noisy points of a wavy function on [0, 1]."""
    import numpy as np
    import torch

    from scorebo import fit_gp
    from scorebo.seeds import derive, generator

    rng = generator("example", seed)
    x = np.sort(rng.random(POINTS))
    y = np.sin(7.0 * x + rng.uniform(0, 6)) + 0.5 * np.sin(17.0 * x) + 0.1 * rng.standard_normal(POINTS)
    y = (y - y.mean()) / y.std(ddof=1)
    mcmc = {"warmup": 128, "thinning": 16, "num_mcmc_samples": SETS, "seed": derive("example", seed, "mcmc")}
    return fit_gp(torch.from_numpy(x)[:, None], torch.from_numpy(y), "al_lognormal", **mcmc)


def grid() -> Tensor:
    """Points `GRID x 1` over [0, 1]."""
    import torch

    return torch.linspace(0.0, 1.0, GRID, dtype=torch.float64)[:, None]


def distances_per_set(model: FullyBayesianGP, distance: str) -> tuple[Tensor, Tensor, Tensor]:
    """Each set's distance to the mixture at the grid: by moment matching, exactly, and the sets' variances of y.

    Returns:
        Three tensors `GRID x M`.
    """
    from scorebo.acquisition import SAL

    acquisitions = (SAL(model, distance, estimator=name) for name in ("moment_matching", "exact"))
    mean, variance = model.marginals(grid(), observation_noise=True)
    moments = mean.detach(), variance.detach()
    near, exact = (each.per_set(*moments, each.levels).detach() for each in acquisitions)
    return near, exact, moments[1]
