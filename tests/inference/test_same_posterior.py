"""The fast sampler and the paper's draw from the same posterior."""

import math

import numpy as np
import pytest
import torch
from arviz_stats.base import array_stats

from scorebo.config import load_model
from scorebo.gp import LogDensity
from scorebo.inference import nuts, pyro_nuts


@pytest.mark.slow
def test_marginals_agree_within_monte_carlo_error():
    rng = torch.Generator().manual_seed(5)
    X = torch.rand(25, 2, generator=rng, dtype=torch.float64)
    Y = torch.sin(6 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * torch.randn(25, generator=rng, dtype=torch.float64)
    Y = (Y - Y.mean()) / Y.std()
    density = LogDensity(X.numpy(), Y.numpy(), load_model("bo_lognormal"))
    start = np.zeros(density.dim)
    fast = nuts.sample(density, start, warmup=500, draws=8000, seed=1).theta
    reference = pyro_nuts.sample(density, start, warmup=300, draws=2000, seed=2).theta
    for j, name in enumerate(["log lengthscale 1", "log lengthscale 2", "log outputscale", "log noise", "mean"]):
        a, b = fast[None, :, j], reference[None, :, j]
        for statistic, method in ((np.mean, "mean"), (np.std, "sd")):
            error = math.hypot(*(mcse(chain, method) for chain in (a, b)))
            difference = abs(statistic(a) - statistic(b))
            assert difference < 4 * error, f"{name}, {method}: {difference:.3f} apart, standard error {error:.3f}"
        for probability in (0.1, 0.5, 0.9):
            cut = np.quantile(b, probability)
            below, error = np.mean(a < cut), math.hypot(*(mcse((c < cut).astype(float), "mean") for c in (a, b)))
            assert abs(below - np.mean(b < cut)) < 4 * error, f"{name}: P(below the {probability} quantile) = {below}"


def mcse(chain, method):
    return float(array_stats.mcse(chain, chain_axis=0, draw_axis=1, method=method))
