"""Sets of the sequential sampler along recorded runs against long NUTS chains on the same data.

The points were chosen by SAL and SCoreBO in real runs (made here if they are missing), so that they concentrate where
these look. The sets are carried from the first fit to the last, many times with other seeds, and never refreshed on
schedule, which is harder than any run. At some n the replicates are compared with long chains, per parameter:

- z of the mean: the replicates' mean against the chains', in standard errors of 16 independent draws per replicate;
- z of the log sd: the same for the logarithm of the sets' standard deviation, against 16 independent draws;
- error: squared error of one replicate's mean over its variance for 16 independent draws (1 where they are as good);
- worth: independent draws that the draws compared with are worth; cold: unscheduled cold chains in all fits so far.

Prints Markdown.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402

from scorebo.benchmarks.base import Benchmark  # noqa: E402
from scorebo.config import as_dict, compose, instantiate, load_model  # noqa: E402
from scorebo.gp import LogDensity, Surrogate  # noqa: E402
from scorebo.inference import Carry, fit_gp, nuts, posterior  # noqa: E402
from scorebo.inference.diagnostics import bulk_ess  # noqa: E402
from scorebo.inference.sequential import State  # noqa: E402
from scorebo.run.loop import execute  # noqa: E402
from scorebo.store import RunStore, read_records  # noqa: E402
from scorebo.transforms.standardize import DataTransform  # noqa: E402

TRAJECTORIES = (
    ("gramacy2", "sal_hr", 100),
    ("branin", "scorebo_hr", 100),
    ("hartmann6_al", "sal_hr", 150),
    ("hartmann6", "scorebo_hr", 150),
)
# Sparse lengthscales at points chosen at random; only if asked for.
SPARSE = (("hartmann6_25", "random", 50),)
SIZES = (20, 50, 100, 150)
# The t distribution of the importance sampling: degrees of freedom, and covariance over that of the chains.
FREEDOM, WIDER = 5.0, 1.8


class Trajectory(NamedTuple):
    """The observations of a run, as its model saw them."""

    name: str
    X: torch.Tensor
    y: torch.Tensor
    task: Benchmark
    surrogate: Surrogate

    def data(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The first n observations, scaled."""
        y = self.y[:n]
        transforms = {"standardize": self.surrogate.standardize, "yeo_johnson": self.surrogate.yeo_johnson}
        transform = DataTransform.of(self.task.bounds, y, maximize=self.task.maximize, **transforms)
        return transform.to_unit(self.X[:n]), transform.to_model(y)


def main() -> None:
    """Print one row for each run and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=16)
    parser.add_argument("--refresh-every", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=2000, help="of each of the four chains compared with")
    parser.add_argument("--results", type=Path, default=Path("results/sequential"), help="where the runs are kept")
    parser.add_argument("--tasks", nargs="*", default=[name for name, _, _ in TRAJECTORIES])
    options = parser.parse_args()
    print(
        "| run | n | worst z, mean | worst z, log sd | error | mean difference of log sd | worth | evaluations | cold |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    scores: list[np.ndarray] = []
    for name, acquisition, total in TRAJECTORIES + SPARSE:
        if name in options.tasks:
            trajectory = recorded(name, acquisition, total, options.results)
            scores += compare(trajectory, [n for n in SIZES if n <= total], options)
    z = np.abs(np.concatenate([score.ravel() for score in scores]))
    print(
        f"\n{z.size} z-scores: {np.mean(z > 2):.1%} beyond 2 (normal: 4.6 %), {np.mean(z > 3):.2%} beyond 3 (0.27 %)."
    )


def recorded(name: str, acquisition: str, total: int, results: Path) -> Trajectory:
    """The run with this task and acquisition, by NUTS chains half as long as the paper's."""
    settings = [f"benchmark={name}", f"acquisition={acquisition}", f"benchmark.total={total}", f"results={results}"]
    features = ["mcmc.num_features=2048"] if acquisition == "scorebo_hr" else []
    config: dict[str, Any] = as_dict(compose([*settings, "mcmc.warmup=128", "mcmc.thinning=8", *features]))
    execute(config)
    records = read_records(RunStore(results, config).folder / "records.jsonl").records[:total]
    task = instantiate("benchmark", config["benchmark"], expected=Benchmark).for_seed(config["seed"])
    X, y = (torch.tensor([record[key] for record in records], dtype=torch.float64) for key in ("x", "y"))
    return Trajectory(f"{name}, {acquisition}", X, y, task, load_model(config["model"]))


def compare(trajectory: Trajectory, sizes: list[int], options: argparse.Namespace) -> list[np.ndarray]:
    """Print the rows of one run; the z-scores of each, `2 x dim`."""
    carried = [carry_along(trajectory, sizes, seed, options.refresh_every) for seed in range(options.replicates)]
    scores = []
    for index, n in enumerate(sizes):
        pool, worth = reference(trajectory, n, options.draws)
        sets = np.stack([sets[index] for sets, _, _ in carried])
        evaluations = np.mean([evaluations[index] for _, evaluations, _ in carried])
        fits = options.replicates * (n - trajectory.task.initial)
        cold = f"{sum(refreshes[index] for _, _, refreshes in carried)} in {fits}"
        score, error, narrower = z_scores(sets, pool, worth)
        worst = " | ".join(f"{row[np.argmax(np.abs(row))]:+.1f}" for row in score)
        print(
            f"| {trajectory.name} | {n} | {worst} | {error:.2f} | {narrower:+.3f} "
            f"| {worth:.0f} | {evaluations:.0f} | {cold} |",
            flush=True,
        )
        scores.append(score)
    return scores


def carry_along(
    trajectory: Trajectory, sizes: list[int], seed: int, refresh_every: int
) -> tuple[list[np.ndarray], list[int], list[int]]:
    """One replicate: the sets at each size, evaluations of that fit, and cold chains for a reason up to there."""
    carry, sets, evaluations, refreshes = Carry(), [], [], []
    unscheduled = 0
    for n in range(trajectory.task.initial, max(sizes) + 1):
        model = fit_gp(
            *trajectory.data(n),
            trajectory.surrogate,
            sampler="sequential",
            refresh_every=refresh_every,
            refresh_fraction=None,
            seed=1000 * seed + n,
            carry=carry,
        )
        assert model.diagnostics is not None
        assert carry.state is not None
        unscheduled += model.diagnostics.refresh_reason in ("acceptance", "diversity", "other data")
        if n in sizes:
            sets.append(State.from_dict(carry.state).theta)
            evaluations.append(model.diagnostics.gradient_evaluations)
            refreshes.append(unscheduled)
    return sets, evaluations, refreshes


def reference(trajectory: Trajectory, n: int, draws: int) -> tuple[np.ndarray, float]:
    """Draws `N x dim` to compare with, and how many independent ones they are worth.

    Four long chains, then importance sampling from a t distribution fitted to them: the chains alone left out tails
    (gramacy2 at n = 20: a standard deviation too small by a tenth, in all four). Where few of the weights count, the
    chains are taken as they are.
    """
    X, y = trajectory.data(n)
    density = LogDensity(X.numpy(), y.numpy(), trajectory.surrogate)
    sample = partial(nuts.sample, density, warmup=500, draws=draws, max_tree_depth=6)
    chains = np.concatenate([sample(posterior.start(density, seed), seed=seed).theta for seed in range(4)])
    rng = np.random.default_rng(0)
    dim = density.dim
    factor = np.linalg.cholesky(WIDER * np.cov(chains.T).reshape(dim, dim))
    size = 8 * len(chains)
    t = rng.standard_normal((size, dim)) / np.sqrt(rng.chisquare(FREEDOM, size) / FREEDOM)[:, None]
    theta = chains.mean(axis=0) + t @ factor.T
    log_weight = density.batch(theta)[0] + 0.5 * (FREEDOM + dim) * np.log1p(np.sum(t**2, axis=1) / FREEDOM)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effective = float(1.0 / np.sum(weight**2))
    if effective < len(chains) / 4:
        own = min(bulk_ess(chain) or 1.0 for chain in np.split(chains, 4))
        return chains, 4.0 * own
    return theta[rng.choice(size, size=size, p=weight)], effective


def z_scores(sets: np.ndarray, pool: np.ndarray, worth: float) -> tuple[np.ndarray, float, float]:
    """The z of mean and log sd `2 x dim`, the mean error, and the mean difference of the log sd.

    Args:
        sets: `replicates x M x dim`.
        pool: `N x dim`, draws of the posterior.
        worth: how many independent draws these are worth.
    """
    replicates, num_mcmc_samples, _ = sets.shape
    center, spread = pool.mean(axis=0), pool.std(axis=0)
    means = sets.mean(axis=1)
    of_mean = (means.mean(axis=0) - center) / (spread * np.sqrt(1.0 / (num_mcmc_samples * replicates) + 1.0 / worth))
    rng = np.random.default_rng(0)
    independent = np.log(pool[rng.integers(len(pool), size=(4000, num_mcmc_samples))].std(axis=1, ddof=1))
    difference = np.log(sets.std(axis=1, ddof=1)).mean(axis=0) - independent.mean(axis=0)
    # The log sd of `worth` draws has the variance (kurtosis − 1)/(4·worth).
    own_variance = (np.mean(((pool - center) / spread) ** 4, axis=0) - 1.0) / (4.0 * worth)
    of_spread = difference / np.sqrt(independent.var(axis=0) / replicates + own_variance)
    error = float(np.mean((means - center) ** 2 / (spread**2 / num_mcmc_samples)))
    return np.stack([of_mean, of_spread]), error, float(difference.mean())


if __name__ == "__main__":
    main()
