"""Simulation-based calibration of the sequential sampler along growing data.

Talts et al.: Validating Bayesian inference algorithms with simulation-based calibration, 2018. θ is drawn from the
prior, outputs at random points from the GP with that θ, and the sets are carried along as the outputs come in one by
one, after a first cold chain and without scheduled ones. If the sets at n are draws from the posterior of the first n
outputs, the rank of the true θ among the 16 is uniform on 0 … 16, for every parameter and every n. Outputs are not
standardized: that would no longer be the model the prior belongs to.

Prints Markdown: for each n and parameter the z-score of the mean rank, that of the ranks' spread around the middle
(positive: the sets are too narrow), and the p-value of a χ² test of uniformity.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from scipy import stats  # noqa: E402

from scorebo.config import load_model  # noqa: E402
from scorebo.gp import LogDensity, Surrogate  # noqa: E402
from scorebo.gp.kernels import as_kernel  # noqa: E402
from scorebo.inference import Carry, fit_gp  # noqa: E402
from scorebo.inference.sequential import State  # noqa: E402

NUM_MCMC_SAMPLES = 16


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--offset", type=int, default=0, help="number of the first simulation")
    parser.add_argument("--model", default="bo_lognormal")
    parser.add_argument("--dim", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 30], help="n at which the ranks are taken")
    parser.add_argument("--first", type=int, default=4, help="n of the first, cold fit")
    options = parser.parse_args()
    surrogate = load_model(options.model)
    ranks, num_refreshes = [], 0
    for seed in range(options.offset, options.offset + options.simulations):
        rank, cold = simulate(surrogate, options.dim, options.first, options.sizes, seed)
        ranks.append(rank)
        num_refreshes += cold
    fits = options.simulations * (max(options.sizes) - options.first)
    print(f"{options.model}, D = {options.dim}, {options.simulations} simulations (from {options.offset} on), ", end="")
    print(f"first fit at n = {options.first}; {num_refreshes} unscheduled cold chains in {fits} fits.\n")
    print("| n | parameter | z of the mean rank | z of the spread | p of χ² |\n|---|---|---|---|---|")
    names = LogDensity(np.zeros((2, options.dim)), np.zeros(2), surrogate).names
    table = np.stack(ranks)
    for i, n in enumerate(options.sizes):
        for j, name in enumerate(names):
            center, spread, p = uniformity(table[:, i, j])
            print(f"| {n} | {name} | {center:+.2f} | {spread:+.2f} | {p:.3f} |")


def simulate(
    surrogate: Surrogate, dim: int, first: int, sizes: list[int], seed: int, *, warmup: int = 256, thinning: int = 16
) -> tuple[np.ndarray, int]:
    """Ranks `sizes x parameters` of the truth among the sets, and the number of unscheduled cold chains."""
    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.uniform(size=(max(sizes), dim)))
    density = LogDensity(X.numpy(), np.zeros(len(X)), surrogate)
    truth = density.sample_prior(rng, 1)
    y = draw_outputs(density, truth, X, rng)
    # The outputs are on the scale of the prior they are drawn from.
    surrogate = replace(surrogate, standardize=False, yeo_johnson=False)
    carry, ranks, cold = Carry(), [], 0
    for n in range(first, max(sizes) + 1):
        fit = partial(
            fit_gp,
            sampler="sequential",
            num_mcmc_samples=NUM_MCMC_SAMPLES,
            refresh_every=10**6,
            refresh_fraction=None,
            carry=carry,
        )
        model = fit(X[:n], y[:n], surrogate, seed=10_000 * seed + n, warmup=warmup, thinning=thinning)
        assert model.diagnostics is not None
        assert carry.state is not None
        cold += model.diagnostics.refresh_reason not in (None, "first")
        if n in sizes:
            ranks.append((State.from_dict(carry.state).theta < truth).sum(axis=0))
    return np.stack(ranks), cold


def draw_outputs(density: LogDensity, theta: np.ndarray, X: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Noisy outputs `n` at X of the GP with the hyperparameters θ `1 x dim`."""
    values = {name: torch.from_numpy(value) for name, value in density.constrain(theta).items()}
    kernel = as_kernel(density.surrogate.kernel)
    covariance = kernel(X, X, values["lengthscale"], values["outputscale"])[0]
    noise = (values["noise"] + density.noise_floor) * torch.eye(len(X), dtype=torch.float64)
    factor = torch.linalg.cholesky(covariance + noise)
    return values["mean"][0] + factor @ torch.from_numpy(rng.standard_normal(len(X)))


def uniformity(ranks: np.ndarray) -> tuple[float, float, float]:
    """The z of the mean and of the mean squared distance from the middle, and p of χ², of the ranks."""
    cells = np.arange(NUM_MCMC_SAMPLES + 1) - NUM_MCMC_SAMPLES / 2
    distance = ranks - NUM_MCMC_SAMPLES / 2
    root = np.sqrt(len(ranks))
    center = distance.mean() / (cells.std() / root)
    spread = (np.mean(distance**2) - np.mean(cells**2)) / ((cells**2).std() / root)
    counts = np.bincount(ranks, minlength=NUM_MCMC_SAMPLES + 1)
    return float(center), float(spread), float(stats.chisquare(counts).pvalue)


if __name__ == "__main__":
    main()
