"""A whole SCoreBO-HR iteration, phase by phase: BoTorch 0.18.1 with botorch_community, and this project.

Both see the same data (Hartmann-6 with noise 0.5) and the same priors, draw 256 + 256 hyperparameter sets, keep 16,
draw 8 optima of each and maximize the acquisition with 1024 raw points, 20 restarts and at most 100 steps, in one
process, on one core. Prints seconds of the processor and ratios; nothing is asserted. BoTorch draws its optima with
1024 Fourier features (`get_optimal_samples` has no argument for it), this project with 2048. Compilation of this
project's code is not counted (it is cached on disk); BoTorch compiles its sampler for every number of observations,
which every iteration of a run pays, and is counted.

The second table maximizes the peer's own acquisition function, on its model and its optima, with both optimisers. The
third shows iterations with other acquisitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
from botorch.acquisition import AcquisitionFunction  # noqa: E402
from botorch.acquisition.logei import qLogNoisyExpectedImprovement  # noqa: E402
from botorch.acquisition.utils import get_optimal_samples  # noqa: E402
from botorch.models.model import Model  # noqa: E402
from botorch.sampling.normal import SobolQMCNormalSampler  # noqa: E402
from botorch_community.acquisition.scorebo import qSelfCorrectingBayesianOptimization  # noqa: E402
from peer import NUM_MCMC_SAMPLES, THINNING, fit_botorch, fit_ours, hartmann_data, optimize  # noqa: E402
from torch import Size, Tensor  # noqa: E402

from scorebo.acquisition import JES, MES, NoisyExpectedImprovement, SCoreBO, maximize  # noqa: E402
from scorebo.optima import sample_optima  # noqa: E402
from scorebo.search.box import unit_box  # noqa: E402

BOX = unit_box(6)
FEATURES = 2048
# Each is built from the model and its optima, inputs and outputs; None where it needs no optima.
OURS: dict[str, Callable[..., AcquisitionFunction]] = {
    "SCoreBO-HR": SCoreBO,
    "JES": JES,
    "MES": lambda model, inputs, outputs: MES(model, outputs),
    "NEI": lambda model, inputs, outputs: NoisyExpectedImprovement(model),
}
NO_OPTIMA = ("NEI",)


class Numbers(NamedTuple):
    """How much work an iteration is; smaller in tests."""

    warmup: int
    num_mcmc_samples: int
    num_optima: int
    raw_samples: int
    restarts: int
    maxiter: int = 100


class Iteration(NamedTuple):
    """Seconds of the phases of one iteration."""

    sampling: float
    optima: float
    maximization: float


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100], help="numbers of observations")
    parser.add_argument("--repeats", type=int, default=3, help="iterations of this project; the median is shown")
    parser.add_argument("--warmup", type=int, default=256, help="warm-up draws of both samplers")
    parser.add_argument(
        "--sets", type=int, default=NUM_MCMC_SAMPLES, help="hyperparameter sets, each the last of 16 draws"
    )
    parser.add_argument("--optima", type=int, default=8, help="optima of each hyperparameter set")
    parser.add_argument("--raw-samples", type=int, default=1024, help="raw points of every maximization")
    parser.add_argument("--restarts", type=int, default=20, help="restarts of every maximization")
    options = parser.parse_args()
    numbers = Numbers(options.warmup, options.sets, options.optima, options.raw_samples, options.restarts)
    small = Numbers(warmup=8, num_mcmc_samples=2, num_optima=1, raw_samples=32, restarts=2)
    for name in OURS:  # loads the compiled code
        our_iteration(name, *hartmann_data(8, "hartmann6"), small, seed=0)

    print(
        f"Hartmann-6 data with noise 0.5, D = 6, {numbers.warmup} + {THINNING * numbers.num_mcmc_samples} draws,",
        end=" ",
    )
    print(f"{numbers.num_mcmc_samples} sets x {numbers.num_optima} optima, one core\n")
    print("SCoreBO-HR     sampling            optima         maximization       whole iteration")
    print("   n      BoTorch    ours    BoTorch    ours    BoTorch    ours    BoTorch    ours   ratio")
    comparisons, others = [], []
    for n in options.sizes:
        X, Y = hartmann_data(n, "hartmann6")
        ours = {name: median([our_iteration(name, X, Y, numbers, s) for s in range(options.repeats)]) for name in OURS}
        peer_model, seconds, _ = fit_botorch(X, Y, numbers.warmup, numbers.num_mcmc_samples)
        theirs, acquisition, value = peer_iteration(peer_model, seconds, numbers)
        phases = "".join(f"{a:9.2f}s {b:6.3f}s" for a, b in zip(theirs, ours["SCoreBO-HR"], strict=True))
        total, our_total = sum(theirs), sum(ours["SCoreBO-HR"])
        print(f"{n:4d}   {phases}{total:9.1f}s {our_total:6.3f}s {total / our_total:6.0f}x", flush=True)
        comparisons.append((n, theirs.maximization, value, *our_maximum(acquisition, numbers)))
        others.append((n, ours, seconds + peer_nei(peer_model, X, numbers)))

    print("\nBoTorch's own SCoreBO-HR, on its model and its optima, maximized")
    print("   n   by optimize_acqf          by ours                gain   ratio")
    for n, peer_seconds, value, our_value, our_seconds in comparisons:
        line = f"{n:4d}   {value:.6f} in {peer_seconds:6.2f}s   {our_value:.6f} in {our_seconds:6.2f}s"
        print(f"{line}   {our_value / value - 1:+.0e} {peer_seconds / our_seconds:6.1f}x")

    print("\nWhole iterations of this project, and BoTorch's with NEI (sampling, optima, maximization)")
    for n, ours, peer_seconds in others:
        for name, iteration in ours.items():
            phases, total = "  ".join(f"{phase:.3f}" for phase in iteration), sum(iteration)
            compared = f"   BoTorch {peer_seconds:.1f}s, {peer_seconds / total:.0f}x" if name == "NEI" else ""
            print(f"{n:4d}   {name:10s}  {phases}   {total:.3f}s{compared}")


def our_iteration(name: str, X: Tensor, Y: Tensor, numbers: Numbers, seed: int) -> Iteration:
    """One iteration of this project, as a run does it."""
    model, sampling = fit_ours(X, Y, numbers.warmup, seed, numbers.num_mcmc_samples)
    began = time.process_time()
    optima: tuple[Tensor | None, Tensor | None] = (None, None)
    if name not in NO_OPTIMA:
        optima = sample_optima(model, BOX, numbers.num_optima, FEATURES, seed=seed)
    drawn = time.process_time()
    around = X[Y.argmax()]
    maximize(OURS[name](model, *optima), BOX, numbers.raw_samples, numbers.restarts, numbers.maxiter, seed, around)
    return Iteration(sampling, drawn - began, time.process_time() - drawn)


def peer_iteration(model: Model, sampling: float, numbers: Numbers) -> tuple[Iteration, AcquisitionFunction, float]:
    """The rest of the peer's iteration after its fit, its acquisition function and the maximum it found."""
    began = time.process_time()
    inputs, outputs = get_optimal_samples(model, BOX, numbers.num_optima, numbers.raw_samples, numbers.restarts)
    drawn = time.process_time()
    acquisition = qSelfCorrectingBayesianOptimization(model, outputs, inputs, distance_metric="hellinger")
    value, _ = optimize(acquisition, numbers.raw_samples, numbers.restarts, numbers.maxiter)
    return Iteration(sampling, drawn - began, time.process_time() - drawn), acquisition, value


def peer_nei(model: Model, X: Tensor, numbers: Numbers) -> float:
    """Seconds in which BoTorch builds and maximizes noisy expected improvement on its own model."""
    began = time.process_time()
    sampler = SobolQMCNormalSampler(Size([256]), seed=1)
    acquisition = qLogNoisyExpectedImprovement(model, X_baseline=X, sampler=sampler, prune_baseline=True)
    optimize(acquisition, numbers.raw_samples, numbers.restarts, numbers.maxiter)
    return time.process_time() - began


def our_maximum(acquisition: AcquisitionFunction, numbers: Numbers) -> tuple[float, float]:
    """The maximum that our optimizer finds, and its seconds."""
    began = time.process_time()
    _, value = maximize(acquisition, BOX, numbers.raw_samples, numbers.restarts, numbers.maxiter, seed=1)
    return float(value), time.process_time() - began


def median(iterations: list[Iteration]) -> Iteration:
    """The median of every phase."""
    return Iteration(*np.median(np.array(iterations), axis=0).tolist())


if __name__ == "__main__":
    main()
