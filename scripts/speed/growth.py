"""How whole SAL-HR and SCoreBO-HR iterations grow with the numbers of observations and dimensions, ours and BoTorch's.

Every point is measured in a process of its own on one core, in seconds of the processor, and given up after `--limit`.
Compiled code of this project is cached on disk and not counted; BoTorch compiles for every number of observations, as
it must in a run. The outputs depend on the first six inputs. Prints and stores the table, draws the figure, and fits
exponents: seconds ~ n^a for n ≥ 100, seconds ~ D^b for D ≥ 6. `before` is the code of another commit, unpacked by
`git archive`. What is not measured this time keeps its rows: BoTorch's SCoreBO-HR takes minutes a point.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from revisions import BEFORE, environment, trees  # noqa: E402

SIZES = (10, 20, 50, 100, 200, 400)
DIMENSIONS = (1, 2, 6, 12, 25, 100, 388)
FIXED_SIZE, FIXED_DIMENSION = 50, 6
NUM_MCMC_SAMPLES, NUM_OPTIMA, FEATURES = 16, 8, 2048
KINDS = ("SAL-HR", "SCoreBO-HR")
IMPLEMENTATIONS = ("scorebo, nuts", "scorebo, sequential", "before, nuts", "BoTorch")
# Of the covariances of one batch of BoTorch's points.
PEER_BYTES = 2e9
# From here on a power of n, or of D, is a fair description.
POWER_FROM = {"n": 100, "D": 6}


def main() -> None:
    """Measure what is asked for, print, store, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--implementations", nargs="+", default=list(IMPLEMENTATIONS), choices=IMPLEMENTATIONS)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of observations, D = 6")
    parser.add_argument("--dimensions", type=int, nargs="*", default=list(DIMENSIONS), help="dimensions, n = 50")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which a point is given up")
    parser.add_argument("--out", type=Path, default=Path("results/growth"), help="folder of the table and the figure")
    parser.add_argument("--before", metavar="REVISION", default=BEFORE, help=f"the other commit, or none ({BEFORE})")
    parser.add_argument("--measure", nargs=4, metavar=("KIND", "NAME", "N", "D"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        kind, name, *numbers = options.measure
        print(json.dumps(measure_here(kind, name, *map(int, numbers))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "growth.csv"
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    points = {(n, FIXED_DIMENSION) for n in options.sizes} | {(FIXED_SIZE, D) for D in options.dimensions}
    with trees(options.before) as places:
        table = measure_all(options, points, table, places, file)
    for line in exponents(table):
        print(line)
    draw(table, options.out / "growth.png")


def measure_all(
    options: argparse.Namespace,
    points: set[tuple[int, int]],
    table: pd.DataFrame,
    places: dict[str, Path],
    file: Path,
) -> pd.DataFrame:
    """The table with a new row for each point, stored after each."""
    for kind, name, (n, D) in itertools.product(options.kinds, options.implementations, sorted(points)):
        key = {"iteration": kind, "implementation": name, "n": n, "D": D}
        place = places["before" if name.startswith("before") else "now"]
        row = {**key, **measure(kind, name, n, D, options.limit, place)}
        print(
            "  ".join(f"{value:.3g}" if isinstance(value, float) else f"{value}" for value in row.values()), flush=True
        )
        if len(table):
            table = table[~np.logical_and.reduce([table[column] == value for column, value in key.items()])]
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
        table.sort_values(list(key)).to_csv(file, index=False)
    return table


def measure(kind: str, name: str, n: int, D: int, limit: float, place: Path) -> dict[str, float]:
    """Seconds by phase, or the limit and `finished` 0 where it was reached, or the process died."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", kind, name, str(n), str(D)]
    try:
        done = subprocess.run(
            command, env=environment(place), cwd=place, stdout=subprocess.PIPE, text=True, timeout=limit, check=True
        )
        phases = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return {"seconds": limit, "finished": 0}
    return {**phases, "seconds": sum(phases.values()), "finished": 1}


def measure_here(kind: str, name: str, n: int, D: int) -> dict[str, float]:
    """One iteration at `n` observations in `D` dimensions, in this process."""
    if name == "BoTorch":
        return botorch_iteration(kind, n, D)
    return our_iteration(kind, name.rsplit(maxsplit=1)[-1], n, D)


def data(n: int, D: int) -> tuple[Any, Any]:
    """Inputs `n x D` and standardized noisy outputs `n x 1`."""
    import torch

    rng = np.random.default_rng(1000 * D + n)
    X = rng.random((n, D))
    active = X[:, :6]
    f = np.sin(2.0 * math.pi * active + np.arange(active.shape[1])).sum(axis=1)
    y = f + 0.3 * rng.standard_normal(n)
    return torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std(ddof=1)).unsqueeze(-1)


def our_iteration(kind: str, sampler: str, n: int, D: int) -> dict[str, float]:
    """The phases of this project; the sequential sampler as the mean of fits from one cold chain to the next."""
    import scorebo
    from scorebo.acquisition import SAL, SCoreBO, maximize
    from scorebo.inference import Carry
    from scorebo.inference.sequential import refresh_period
    from scorebo.optima import sample_optima
    from scorebo.search.box import unit_box

    X, Y = data(n, D)
    box = unit_box(D)

    def iteration(count: int, features: int, raw_samples: int, **settings: Any) -> dict[str, float]:
        carry, first = Carry(), count
        if sampler == "sequential":
            first, settings["refresh_fraction"] = count - refresh_period(count) + 1, None
        began = time.process_time()
        for k in range(first, count + 1):
            y = (Y[:k] - Y[:k].mean()) / Y[:k].std()
            model = scorebo.fit_gp(X[:k], y, sampler=sampler, carry=carry, **settings)
        fitted = time.process_time()
        optima = sample_optima(model, box, NUM_OPTIMA, features) if kind == "SCoreBO-HR" else None
        drawn = time.process_time()
        maximize(SAL(model) if optima is None else SCoreBO(model, *optima), box, raw_samples, around=X[Y.argmax()])
        ended = time.process_time()
        return {
            "sampling": (fitted - began) / (count - first + 1),
            "optima": drawn - fitted,
            "maximization": ended - drawn,
        }

    iteration(8, 64, 32, warmup=8, thinning=1, num_mcmc_samples=2)  # loads the compiled code
    return iteration(n, FEATURES, 1024, warmup=256, thinning=16, num_mcmc_samples=NUM_MCMC_SAMPLES)


def botorch_iteration(kind: str, n: int, D: int) -> dict[str, float]:
    """The phases of BoTorch and botorch_community, with the paper's priors and numbers."""
    from botorch.acquisition.utils import get_optimal_samples
    from botorch.optim import optimize_acqf
    from botorch_community.acquisition.bayesian_active_learning import qStatisticalDistanceActiveLearning
    from botorch_community.acquisition.scorebo import qSelfCorrectingBayesianOptimization
    from peer import fit_botorch

    from scorebo.search.box import unit_box

    X, Y = data(n, D)
    box = unit_box(D)
    began = time.process_time()
    model, _, _ = fit_botorch(X, Y, 256, NUM_MCMC_SAMPLES)
    fitted = time.process_time()
    optima = get_optimal_samples(model, box, NUM_OPTIMA, 1024, 20) if kind == "SCoreBO-HR" else None
    drawn = time.process_time()
    if optima is None:
        acquisition = qStatisticalDistanceActiveLearning(model, distance_metric="hellinger")
    else:
        inputs, outputs = optima
        acquisition = qSelfCorrectingBayesianOptimization(model, outputs, inputs, distance_metric="hellinger")
    # All raw points at once would take 21 GB for SAL at n = 400.
    batch = max(1, int(PEER_BYTES / (8.0 * n**2 * NUM_MCMC_SAMPLES * (1 if optima is None else NUM_OPTIMA))))
    limits = {"init_batch_limit": min(1024, batch), "batch_limit": min(20, batch)}
    optimize_acqf(acquisition, box, q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100, **limits})
    ended = time.process_time()
    return {"sampling": fitted - began, "optima": drawn - fitted, "maximization": ended - drawn}


def along(table: pd.DataFrame, kind: str, name: str, axis: str) -> pd.DataFrame:
    """The points of one implementation along n (at D = 6) or D (at n = 50)."""
    other, value = ("D", FIXED_DIMENSION) if axis == "n" else ("n", FIXED_SIZE)
    which = (table["iteration"] == kind) & (table["implementation"] == name) & (table[other] == value)
    return table[which].sort_values(axis)


def exponents(table: pd.DataFrame) -> list[str]:
    """A line for each curve: the power that fits its upper end, by least squares in logarithms."""
    lines = []
    for kind, name, (axis, start) in itertools.product(KINDS, IMPLEMENTATIONS, POWER_FROM.items()):
        line = along(table, kind, name, axis)
        line = line[(line[axis] >= start) & (line["finished"] == 1)]
        if len(line) >= 2:
            power = np.polyfit(np.log(line[axis]), np.log(line["seconds"]), 1)[0]
            values = ", ".join(str(value) for value in line[axis])
            lines.append(f"{kind}, {name}: seconds ~ {axis}^{power:.2f} over {axis} = {values}")
    return lines


def draw(table: pd.DataFrame, file: Path) -> None:
    """Seconds against n and against D; a point that was given up is an open triangle at the limit."""
    figure, panels = plt.subplots(2, 2, figsize=(8, 6), sharex="col", sharey=True, layout="constrained")
    for (row, kind), (column, axis) in itertools.product(enumerate(KINDS), enumerate(("n", "D"))):
        panel = panels[row, column]
        for name, color in zip(IMPLEMENTATIONS, ("C1", "C2", "C3", "C0"), strict=True):
            line = along(table, kind, name, axis)
            ended, given_up = line[line["finished"] == 1], line[line["finished"] == 0]
            panel.plot(ended[axis], ended["seconds"], marker="o", color=color, label=name)
            panel.plot(given_up[axis], given_up["seconds"], marker="^", markerfacecolor="none", ls="", color=color)
        fixed = f"D = {FIXED_DIMENSION}" if axis == "n" else f"n = {FIXED_SIZE}"
        panel.set(title=f"{kind} iteration, {fixed}", xscale="log", yscale="log")
        panel.set_xticks(SIZES if axis == "n" else DIMENSIONS)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.minorticks_off()
    for panel, label in zip(panels[1], ("observations n", "dimensions D"), strict=True):
        panel.set_xlabel(label)
    for panel in panels[:, 0]:
        panel.set_ylabel("seconds of one core")
    panels[0, 0].legend(frameon=False)
    if (table["finished"] == 0).any():
        panels[1, 1].annotate("△ given up", (0.98, 0.02), xycoords="axes fraction", ha="right")
    figure.savefig(file, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
