"""How a whole SCoreBO-HR iteration grows with the number of observations and of dimensions, ours and BoTorch's.

Every point is measured in a process of its own on one core, in seconds of the processor, and given up after `--limit`.
Compiled code of this project is cached on disk and not counted; BoTorch compiles for every number of observations, as
it must in a run. The outputs depend on the first six inputs. Prints and stores the table, draws the figure, and fits
exponents: seconds ~ n^a for n ≥ 100, seconds ~ D^b for D ≥ 6. Implementations not measured this time keep their rows.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from pathlib import Path
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

SIZES = (10, 20, 50, 100, 200, 400)
DIMENSIONS = (1, 2, 6, 12, 25, 100, 388)
FIXED_SIZE, FIXED_DIMENSION = 50, 6
NUM_SETS, NUM_OPTIMA, FEATURES = 16, 8, 2048
IMPLEMENTATIONS = ("scorebo, nuts", "scorebo, sequential", "BoTorch")
# From here on a power of n, or of D, is a fair description.
POWER_FROM = {"n": 100, "D": 6}
# Fits of the sequential sampler that are averaged, a cold chain first.
FITS = 20


def main() -> None:
    """Measure what is asked for, print, store, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--implementations", nargs="+", default=list(IMPLEMENTATIONS), choices=IMPLEMENTATIONS)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of observations, D = 6")
    parser.add_argument("--dimensions", type=int, nargs="+", default=list(DIMENSIONS), help="dimensions, n = 50")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which a point is given up")
    parser.add_argument("--out", type=Path, default=Path("results/growth"), help="folder of the table and the figure")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "growth.csv"
    table = pd.read_csv(file) if file.exists() else pd.DataFrame()
    points = {(n, FIXED_DIMENSION) for n in options.sizes} | {(FIXED_SIZE, D) for D in options.dimensions}
    for name in options.implementations:
        for n, D in sorted(points):
            row = {"implementation": name, "n": n, "D": D, **measure(name, n, D, options.limit)}
            print(
                "  ".join(
                    f"{key} {value:.3g}" if isinstance(value, float) else f"{value}" for key, value in row.items()
                )
            )
            if len(table):
                table = table[~((table["implementation"] == name) & (table["n"] == n) & (table["D"] == D))]
            table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
            table.sort_values(["implementation", "n", "D"]).to_csv(file, index=False)
    for line in exponents(table):
        print(line)
    draw(table, options.out / "growth.png")


def measure(name: str, n: int, D: int, limit: float) -> dict[str, float]:
    """Seconds by phase, or the limit and `finished` 0 where it was reached."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(name, n, D, sender))
    process.start()
    done = receiver.poll(limit)
    phases = receiver.recv() if done else {}
    process.kill()
    process.join()
    return {**phases, "seconds": sum(phases.values()) if done else limit, "finished": float(done)}


def _measure(name: str, n: int, D: int, sender: Any) -> None:
    """In the child: one iteration at `n` observations in `D` dimensions."""
    sender.send(botorch_iteration(n, D) if name == "BoTorch" else our_iteration(name.rsplit(maxsplit=1)[-1], n, D))


def data(n: int, D: int) -> tuple[Any, Any]:
    """Inputs `n x D` and standardised noisy outputs `n x 1`."""
    import torch

    rng = np.random.default_rng(1000 * D + n)
    X = rng.random((n, D))
    active = X[:, :6]
    f = np.sin(2.0 * math.pi * active + np.arange(active.shape[1])).sum(axis=1)
    y = f + 0.3 * rng.standard_normal(n)
    return torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std(ddof=1)).unsqueeze(-1)


def our_iteration(sampler: str, n: int, D: int) -> dict[str, float]:
    """The phases of this project; the sequential sampler as the mean of fits in a row that end at n."""
    import scorebo
    from scorebo.acquisition import SCoreBO, maximize
    from scorebo.box import unit_box
    from scorebo.inference import Carry
    from scorebo.optima import sample_optima

    X, Y = data(n, D)
    box = unit_box(D)

    def iteration(count: int, features: int, raw_samples: int, **settings: Any) -> dict[str, float]:
        carry, first = Carry(), count if sampler == "nuts" else max(2, count - FITS + 1)
        began = time.process_time()
        for k in range(first, count + 1):
            y = (Y[:k] - Y[:k].mean()) / Y[:k].std()
            model = scorebo.fit_gp(X[:k], y, sampler=sampler, carry=carry, **settings)
        fitted = time.process_time()
        optima = sample_optima(model, box, NUM_OPTIMA, features)
        drawn = time.process_time()
        maximize(SCoreBO(model, *optima), box, raw_samples, around=X[Y.argmax()])
        ended = time.process_time()
        return {
            "sampling": (fitted - began) / (count - first + 1),
            "optima": drawn - fitted,
            "maximisation": ended - drawn,
        }

    iteration(8, 64, 32, warmup=8, thinning=1, num_sets=2)  # loads the compiled code
    return iteration(n, FEATURES, 1024, warmup=256, thinning=16, num_sets=NUM_SETS)


def botorch_iteration(n: int, D: int) -> dict[str, float]:
    """The phases of BoTorch and botorch_community, with the paper's priors and numbers."""
    from botorch.acquisition.utils import get_optimal_samples
    from botorch.optim import optimize_acqf
    from botorch_community.acquisition.scorebo import qSelfCorrectingBayesianOptimization
    from peer import fit_botorch

    from scorebo.box import unit_box

    X, Y = data(n, D)
    box = unit_box(D)
    began = time.process_time()
    model, _, _ = fit_botorch(X, Y, 256, NUM_SETS)
    fitted = time.process_time()
    inputs, outputs = get_optimal_samples(model, box, NUM_OPTIMA, 1024, 20)
    drawn = time.process_time()
    acquisition = qSelfCorrectingBayesianOptimization(model, outputs, inputs, distance_metric="hellinger")
    optimize_acqf(acquisition, box, q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100})
    ended = time.process_time()
    return {"sampling": fitted - began, "optima": drawn - fitted, "maximisation": ended - drawn}


def along(table: pd.DataFrame, name: str, axis: str) -> pd.DataFrame:
    """The points of one implementation along n (at D = 6) or D (at n = 50)."""
    other, value = ("D", FIXED_DIMENSION) if axis == "n" else ("n", FIXED_SIZE)
    return table[(table["implementation"] == name) & (table[other] == value)].sort_values(axis)


def exponents(table: pd.DataFrame) -> list[str]:
    """A line for each implementation and axis: the power that fits its upper end, by least squares in logarithms."""
    lines = []
    for name in IMPLEMENTATIONS:
        for axis, start in POWER_FROM.items():
            line = along(table, name, axis)
            line = line[(line[axis] >= start) & (line["finished"] == 1)]
            if len(line) >= 2:
                power = np.polyfit(np.log(line[axis]), np.log(line["seconds"]), 1)[0]
                values = ", ".join(str(value) for value in line[axis])
                lines.append(f"{name}: seconds ~ {axis}^{power:.2f} over {axis} = {values}")
    return lines


def draw(table: pd.DataFrame, file: Path) -> None:
    """Seconds against n and against D; a point that was given up is an arrow upwards from the limit."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    titles = {"n": f"D = {FIXED_DIMENSION}", "D": f"n = {FIXED_SIZE}"}
    labels = {"n": "observations n", "D": "dimensions D"}
    for panel, axis in zip(panels, ("n", "D"), strict=True):
        for name, colour in zip(IMPLEMENTATIONS, ("C1", "C0", "C2"), strict=True):
            line = along(table, name, axis)
            ended = line[line["finished"] == 1]
            panel.plot(ended[axis], ended["seconds"], marker="o", color=colour, label=name)
            given_up = line[line["finished"] == 0]
            panel.plot(given_up[axis], given_up["seconds"], marker="^", markerfacecolor="none", ls="", color=colour)
        panel.set(title=titles[axis], xlabel=labels[axis], xscale="log", yscale="log")
        panel.set_xticks(sorted(along(table, IMPLEMENTATIONS[0], axis)[axis]))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.minorticks_off()
    panels[0].set_ylabel("seconds of one core")
    panels[0].legend(frameon=False)
    if (table["finished"] == 0).any():
        panels[1].annotate("△ given up", (0.98, 0.02), xycoords="axes fraction", ha="right")
    figure.savefig(file, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
