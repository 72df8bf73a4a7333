"""The steps of a run that cost most: processor seconds on one core, at another commit, here, and by BoTorch.

    python scripts/speed/steps.py [--before REVISION] [--steps NAME …] [--no-peer] [--out results/bench]

The other commit is unpacked by `git archive` and measured in the same environment, each step in a process of its own,
by turns; `--before none` measures this one alone. 16 hyperparameter samples, 8 optima of each and 8192 Fourier
features. Compiled code is loaded before the clock starts. Where the other commit has no exact distances, its Monte
Carlo estimate with 256 samples is timed. BoTorch runs the step that it can, a whole iteration in 25 dimensions, once.
Prints and stores the table, and draws it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from revisions import BEFORE, environment, trees  # noqa: E402
from saas_iteration import NUM_OPTIMA, botorch, ours, sparse_data  # noqa: E402

import scorebo  # noqa: E402
from scorebo.acquisition import PES, NoisyExpectedImprovement, SCoreBO, maximize  # noqa: E402
from scorebo.acquisition.sal import ESTIMATOR_NAMES  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402
from scorebo.optima import sample_optima  # noqa: E402
from scorebo.search.box import unit_box  # noqa: E402

FEATURES = 8192
# What the estimator of a distance is called at a commit that has exact distances, and at one that has not.
ESTIMATOR = "exact" if "exact" in ESTIMATOR_NAMES else "monte_carlo"


def main() -> None:
    """Measure, print, store, draw; or measure one step in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="REVISION", default=BEFORE, help=f"the commit to compare with ({BEFORE})")
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=list(STEPS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of a step; the least is shown")
    parser.add_argument("--no-peer", action="store_true", help="without BoTorch, which takes minutes")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the table and the figure")
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(f"seconds {(STEPS | PEERS)[options.measure]():.6f}")
        return
    rows = []
    with trees(options.before) as places:
        for step in options.steps:
            rows.append({"step": step, **measure(step, places, options.repeats)})
            if step == SAAS_ITERATION and not options.no_peer:
                rows[-1] |= measure(step, {"BoTorch": places["now"]}, 1)
    table = pd.DataFrame(rows)
    for other in ("before", "BoTorch"):
        if other in table:
            table[f"{other} / now"] = table[other] / table["now"]
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3g}", na_rep=""))
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "steps.csv", index=False)
    draw(table, options.out / "steps.png")


def measure(step: str, places: dict[str, Path], repeats: int) -> dict[str, float]:
    """The least of some measurements of a step with each code, by turns."""
    seconds: dict[str, list[float]] = {name: [] for name in places}
    for _ in range(repeats):
        for name, place in places.items():
            what = "BoTorch" if name == "BoTorch" else step
            command = [sys.executable, str(Path(__file__).resolve()), "--measure", what]
            done = subprocess.run(
                command, env=environment(place), cwd=place, stdout=subprocess.PIPE, text=True, check=True
            )
            seconds[name].append(float(done.stdout.rsplit("seconds ", 1)[1]))
            print(f"{step}, {name}: {seconds[name][-1]:.3f} s", flush=True)
    return {name: min(values) for name, values in seconds.items()}


def draw(table: pd.DataFrame, file: Path) -> None:
    """A line for each step, with a mark for each code."""
    figure, panel = plt.subplots(figsize=(8, 0.35 * len(table) + 1), layout="constrained")
    for name, marker in (("BoTorch", "s"), ("before", "o"), ("now", "D")):
        if name in table:
            panel.plot(table[name], table["step"], marker, label=name)
    panel.invert_yaxis()
    panel.set(xscale="log", xlabel="processor seconds, one core")
    panel.grid(axis="y", alpha=0.3)
    panel.legend(frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def sparse_model(n: int, dim: int) -> FullyBayesianGP:
    """Sparse lengthscales, with the draws of the SAAS tasks."""
    return scorebo.fit_gp(*sparse_data(n, dim), "saas", warmup=128, thinning=8, num_mcmc_samples=16, seed=1)


def task_model(task: str, n: int) -> FullyBayesianGP:
    """A synthetic task observed at its Sobol design."""
    benchmark = scorebo.load_benchmark(task, initial=n, total=n)
    X = benchmark.initial_design(1)
    Y = torch.tensor([benchmark.observe(x, 1, i + 1)[0] for i, x in enumerate(X)], dtype=torch.float64)
    Y = (1.0 if benchmark.maximize else -1.0) * (Y - Y.mean()) / Y.std()
    lower, upper = benchmark.bounds
    return scorebo.fit_gp(
        (X - lower) / (upper - lower), Y, "bo_lognormal", warmup=256, thinning=16, num_mcmc_samples=16, seed=1
    )


def optima(make: Callable[[], FullyBayesianGP]) -> float:
    """Seconds of the optima of 16 x 8 paths."""
    model = make()
    box = unit_box(model.dim)
    sample_optima(model, box, 1, 64, 32, 2)  # loads the compiled code
    began = time.process_time()
    sample_optima(model, box, NUM_OPTIMA, FEATURES, seed=1)
    return time.process_time() - began


def proposal(make: Callable[[FullyBayesianGP], Any], model: FullyBayesianGP) -> float:
    """Seconds in which an acquisition is built and maximized."""
    box = unit_box(model.dim)
    maximize(make(model), box, 32, 2, maxiter=2)  # loads the compiled code
    began = time.process_time()
    maximize(make(model), box, around=model.train_X[model.train_Y.argmax()], seed=1)
    return time.process_time() - began


def on_hartmann6(make: Callable[..., Any], n: int) -> float:
    """Seconds in which an acquisition is built of optima that are drawn before, and maximized."""
    model = task_model("hartmann6", n)
    drawn = sample_optima(model, unit_box(6), NUM_OPTIMA, FEATURES, seed=1)
    return proposal(lambda fitted: make(fitted, *drawn), model)


def additive_run() -> float:
    """Seconds of a whole run of the ten-dimensional additive task."""
    with tempfile.TemporaryDirectory() as results:
        settings = ["benchmark=addgp10", "acquisition=scorebo_hr", "seed=1", "metrics_every=100"]
        began = os.times()
        subprocess.run(
            [sys.executable, "-m", "scorebo", "run", "--quiet", *settings, f"results={results}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        ended = os.times()
    return ended.children_user + ended.children_system - began.children_user - began.children_system


def iteration(dim: int, n: int) -> float:
    """Seconds of a whole SCoreBO-HR iteration with sparse lengthscales, 2048 features."""
    ours(*sparse_data(10, 20), warmup=8, features=64)  # loads the compiled code
    return float(np.sum(ours(*sparse_data(n, dim))))


SAAS_ITERATION = "SCoreBO-HR iteration, saas, D = 25, n = 50"
STEPS: dict[str, Callable[[], float]] = {
    "optima, branin, n = 50": lambda: optima(lambda: task_model("branin", 50)),
    "optima, hartmann4, n = 100": lambda: optima(lambda: task_model("hartmann4", 100)),
    "optima, hartmann6, n = 50": lambda: optima(lambda: task_model("hartmann6", 50)),
    "optima, hartmann6, n = 100": lambda: optima(lambda: task_model("hartmann6", 100)),
    "optima, saas, D = 25, n = 60": lambda: optima(lambda: sparse_model(60, 25)),
    "optima, saas, D = 180, n = 60": lambda: optima(lambda: sparse_model(60, 180)),
    "optima, saas, D = 388, n = 150": lambda: optima(lambda: sparse_model(150, 388)),
    "SCoreBO-HR, moment matching, n = 50": lambda: on_hartmann6(SCoreBO, 50),
    "SCoreBO-HR to the mixture, n = 50": lambda: on_hartmann6(partial(SCoreBO, estimator=ESTIMATOR), 50),
    "SCoreBO-WS to the mixture, n = 50": lambda: on_hartmann6(
        partial(SCoreBO, distance="wasserstein", estimator=ESTIMATOR), 50
    ),
    "PES, n = 100": lambda: on_hartmann6(lambda model, inputs, _: PES(model, inputs), 100),
    "NEI, n = 100": lambda: proposal(NoisyExpectedImprovement, task_model("hartmann6", 100)),
    "run of addgp10": additive_run,
    SAAS_ITERATION: lambda: iteration(25, 50),
}
# What BoTorch can do of these.
PEERS = {"BoTorch": lambda: float(np.sum(botorch(*sparse_data(50, 25))))}


if __name__ == "__main__":
    main()
