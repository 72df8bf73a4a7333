"""Whole iterations of this project with both samplers, of BoTorch 0.18.1, and Pyro's sampling: one table, one figure.

The data, priors and numbers are those of compare_bo_speed.py; everything runs in one process, on one core, and is
measured in seconds of the processor. A fit of the sequential sampler is the mean of those from one cold chain to the
next that end at n. Prints the table, and stores it with the figure.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from botorch_community.acquisition.bayesian_active_learning import (  # noqa: E402
    qStatisticalDistanceActiveLearning,
)
from compare_bo_speed import BOX, FEATURES, Numbers, peer_iteration  # noqa: E402
from peer import THINNING, fit_botorch, hartmann_data, optimize  # noqa: E402
from torch import Tensor  # noqa: E402

import scorebo  # noqa: E402
from scorebo.acquisition import SAL, SCoreBO, maximize  # noqa: E402
from scorebo.files import write_atomically  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402
from scorebo.inference import Carry  # noqa: E402
from scorebo.inference.sequential import refresh_period  # noqa: E402
from scorebo.optima import sample_optima  # noqa: E402

PHASES = ("sampling", "optima", "maximization")


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100], help="numbers of observations")
    parser.add_argument("--repeats", type=int, default=3, help="iterations of this project; the median is shown")
    parser.add_argument("--warmup", type=int, default=256, help="warm-up draws of every chain")
    parser.add_argument("--sets", type=int, default=16, help="hyperparameter sets, each the last of 16 draws")
    parser.add_argument("--optima", type=int, default=8, help="optima of each hyperparameter set")
    parser.add_argument("--raw-samples", type=int, default=1024, help="raw points of every maximization")
    parser.add_argument("--restarts", type=int, default=20, help="restarts of every maximization")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the table and the figure")
    options = parser.parse_args()
    numbers = Numbers(options.warmup, options.sets, options.optima, options.raw_samples, options.restarts)
    warm_up()
    rows: list[dict[str, Any]] = []
    for n in options.sizes:
        X, Y = hartmann_data(n, "hartmann6")
        rows += [{"n": n, **row} for row in measure(X, Y, numbers, options.repeats)]
        print(f"n = {n} measured", flush=True)
    table = with_ratios(pd.DataFrame(rows))
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3g}"))
    options.out.mkdir(parents=True, exist_ok=True)
    write_atomically(options.out / "bench.csv", table.to_csv(index=False).encode())
    draw(table, options.out / "bench.png")
    print(f"table {options.out / 'bench.csv'}, figure {options.out / 'bench.png'}")


def warm_up() -> None:
    """Load the compiled code, which is cached on disk and not counted."""
    X, Y = hartmann_data(8, "hartmann6")
    carry = Carry()
    for n in (7, 8):
        model = scorebo.fit_gp(
            X[:n], Y[:n], warmup=8, thinning=1, num_mcmc_samples=4, sampler="sequential", carry=carry
        )
    maximize(SAL(model), BOX, 32, 2)
    maximize(SCoreBO(model, *sample_optima(model, BOX, 1, 64)), BOX, 32, 2)


def measure(X: Tensor, Y: Tensor, numbers: Numbers, repeats: int) -> list[dict[str, Any]]:
    """Seconds by phase of every implementation and iteration at these data."""
    settings: dict[str, Any] = {
        "warmup": numbers.warmup,
        "thinning": THINNING,
        "num_mcmc_samples": numbers.num_mcmc_samples,
    }
    rows = []
    for sampler in ("nuts", "sequential"):
        fits = [fit(X, Y, sampler, seed, settings) for seed in range(repeats)]
        sampling = float(np.median([seconds for _, seconds in fits]))
        for iteration, phases in (("SAL-HR", sal), ("SCoreBO-HR", scorebo_hr)):
            rest = np.median([phases(model, X, Y, numbers, seed) for seed, (model, _) in enumerate(fits)], axis=0)
            rows.append(row(iteration, f"scorebo, {sampler}", sampling, *rest))
    _, pyro = timed(lambda: scorebo.fit_gp(X, Y, sampler="pyro", **settings))
    rows.append(row("sampling alone", "Pyro", pyro, 0.0, 0.0))
    theirs, sampling, _ = fit_botorch(X, Y, numbers.warmup, numbers.num_mcmc_samples)
    disagreement = qStatisticalDistanceActiveLearning(theirs, distance_metric="hellinger")
    _, maximization = optimize(disagreement, numbers.raw_samples, numbers.restarts, numbers.maxiter)
    rows.append(row("SAL-HR", "BoTorch", sampling, 0.0, maximization))
    rows.append(row("SCoreBO-HR", "BoTorch", *peer_iteration(theirs, sampling, numbers)[0]))
    return rows


def row(iteration: str, implementation: str, *seconds: float) -> dict[str, Any]:
    """One line of the table."""
    phases = dict(zip(PHASES, seconds, strict=True))
    return {"iteration": iteration, "implementation": implementation, **phases, "seconds": sum(seconds)}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds of the processor, which other work on the machine does not lengthen."""
    began = time.process_time()
    result = call()
    return result, time.process_time() - began


def fit(X: Tensor, Y: Tensor, sampler: str, seed: int, settings: dict[str, Any]) -> tuple[FullyBayesianGP, float]:
    """A fit at all data and its seconds; for the sequential sampler the mean from one cold chain to the next."""
    if sampler == "nuts":
        return timed(lambda: scorebo.fit_gp(X, Y, seed=seed, **settings))
    carry, seconds = Carry(), []
    for n in range(len(X) - refresh_period(len(X)) + 1, len(X) + 1):
        y = (Y[:n] - Y[:n].mean()) / Y[:n].std()
        began = time.process_time()
        model = scorebo.fit_gp(X[:n], y, sampler=sampler, seed=seed, carry=carry, refresh_fraction=None, **settings)
        seconds.append(time.process_time() - began)
    return model, float(np.mean(seconds))


def sal(model: FullyBayesianGP, X: Tensor, Y: Tensor, numbers: Numbers, seed: int) -> tuple[float, float]:
    """Seconds of the optima (none) and of the maximization."""
    return 0.0, _maximize(SAL(model), X, Y, numbers, seed)


def scorebo_hr(model: FullyBayesianGP, X: Tensor, Y: Tensor, numbers: Numbers, seed: int) -> tuple[float, float]:
    """Seconds of the optima and of the maximization."""
    optima, seconds = timed(lambda: sample_optima(model, BOX, numbers.num_optima, FEATURES, seed=seed))
    return seconds, _maximize(SCoreBO(model, *optima), X, Y, numbers, seed)


def _maximize(acquisition: Any, X: Tensor, Y: Tensor, numbers: Numbers, seed: int) -> float:
    arguments = (numbers.raw_samples, numbers.restarts, numbers.maxiter, seed, X[Y.argmax()])
    return timed(lambda: maximize(acquisition, BOX, *arguments))[1]


def with_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The table with BoTorch's seconds over each line's, iteration by iteration."""
    peer = table[table["implementation"] == "BoTorch"].set_index(["n", "iteration"])["seconds"]
    keys = pd.MultiIndex.from_frame(table[["n", "iteration"]])
    table["ratio"] = peer.reindex(keys).to_numpy() / table["seconds"].to_numpy()
    return table.sort_values(["iteration", "n", "seconds"])


def draw(table: pd.DataFrame, file: Path) -> None:
    """Seconds of whole iterations against n, one panel for each kind."""
    kinds = ("SAL-HR", "SCoreBO-HR")
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    for panel, kind in zip(panels, kinds, strict=True):
        lines = table[table["iteration"] == kind]
        for name in ("BoTorch", "scorebo, nuts", "scorebo, sequential"):
            line = lines[lines["implementation"] == name].sort_values("n")
            panel.plot(line["n"], line["seconds"], marker="o", label=name)
        panel.set(title=f"{kind} iteration", xlabel="observations", yscale="log")
        panel.set_xticks(sorted(lines["n"].unique()))
    panels[0].set_ylabel("seconds, one core")
    panels[1].legend(frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
