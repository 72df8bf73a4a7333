"""Sparse lengthscales: marginals of the posterior by this project and by BoTorch's SaasFullyBayesianSingleTaskGP.

`python scripts/validation/saas_agreement.py`. Both see the same data and the same prior: ours is given BoTorch's noise
floor of 1e-4. For log lengthscales, log outputscale, log noise variance and mean: both means and standard deviations,
and their differences in standard errors of both together. Ours are four chains, BoTorch's is one, in single precision.
Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
from functools import partial

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from arviz_stats.base import array_stats  # noqa: E402
from botorch.fit import fit_fully_bayesian_model_nuts  # noqa: E402
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP  # noqa: E402

from scorebo.config import load_model  # noqa: E402
from scorebo.gp import LogDensity  # noqa: E402
from scorebo.inference import nuts, posterior  # noqa: E402

BOTORCH_FLOOR = 1e-4


def main() -> None:
    """Print one row for each parameter."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=20, help="number of observations")
    parser.add_argument("--dim", type=int, default=4)
    parser.add_argument("--draws", type=int, default=4000, help="of BoTorch's chain; each of ours has twice as many")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((options.size, options.dim))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(options.size)
    y = (y - y.mean()) / y.std(ddof=1)
    names = [*(f"log lengthscale {d + 1}" for d in range(options.dim)), "log outputscale", "log noise", "mean"]
    own, peer = ours(X, y, 2 * options.draws), botorch(X, y, options.draws)
    print("| parameter | mean | BoTorch's | z | sd | BoTorch's | z |\n|---|---|---|---|---|---|---|")
    for i, name in enumerate(names):
        a, b = own[..., i], peer[..., i]
        cells = []
        for statistic, method in ((np.mean, "mean"), (np.std, "sd")):
            error = math.hypot(monte_carlo_error(a, method), monte_carlo_error(b, method))
            cells.append(f"{statistic(a):.3f} | {statistic(b):.3f} | {(statistic(a) - statistic(b)) / error:+.1f}")
        print(f"| {name} | {' | '.join(cells)} |")


def monte_carlo_error(chains: np.ndarray, method: str) -> float:
    """Standard error of the mean or the sd of chains `chains x draws`."""
    return float(array_stats.mcse(chains, chain_axis=0, draw_axis=1, method=method))


def ours(X: np.ndarray, y: np.ndarray, draws: int) -> np.ndarray:
    """`4 x draws x parameters` of long chains."""
    density = LogDensity(X, y, load_model("saas"), noise_floor=BOTORCH_FLOOR)
    sample = partial(nuts.sample, density, warmup=1000, draws=draws, max_tree_depth=8)
    chains = []
    for seed in range(1, 5):
        sets = density.constrain(sample(posterior.start(density, seed), seed=seed).theta)
        scales = np.column_stack([sets["lengthscale"], sets["outputscale"], sets["noise"]])
        chains.append(np.column_stack([np.log(scales), sets["mean"]]))
    return np.stack(chains)


def botorch(X: np.ndarray, y: np.ndarray, draws: int) -> np.ndarray:
    """`1 x draws x parameters` of BoTorch's chain."""
    model = SaasFullyBayesianSingleTaskGP(torch.from_numpy(X), torch.from_numpy(y[:, None]))
    fit_fully_bayesian_model_nuts(model, warmup_steps=500, num_samples=draws, thinning=1, disable_progbar=True)
    lengthscale = model.covar_module.base_kernel.lengthscale.detach()[:, 0]
    outputscale = model.covar_module.outputscale.detach()[:, None]
    noise = model.likelihood.noise.detach().reshape(-1, 1)
    mean = model.mean_module.constant.detach().reshape(-1, 1)
    return torch.cat([lengthscale.log(), outputscale.log(), noise.log(), mean], dim=1).numpy()[None]


if __name__ == "__main__":
    main()
