"""Does the search of an acquisition's maximum find it? Its value beside that of a much heavier search, on real models.

    OMP_NUM_THREADS=1 python scripts/validation/acquisition_search.py [--results results/trajectories]

For every fit each acquisition is searched with the settings of a run. The heavier search has eight times the raw points
(and points crossed from them), three times the restarts and twice the iterations, from another seed, and 100 climbs
from random points. The ratio is that of the value found to the highest of all; of EI itself for `nei`, whose value is
its logarithm; for `ucb`, which may be negative, of the rise above the median of the box. Least, mean, and the share of
at least 0.98, for each acquisition and dimension. Seconds: processor time of a search with the settings of a run, mean
over the fits.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from functools import partial
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from trajectories import SYNTHETIC, arguments, make_runs, stored_fits  # noqa: E402

from scorebo.acquisition import build_strategy, maximize  # noqa: E402
from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.search.ascent import ascend  # noqa: E402

ACQUISITIONS = ("sal_hr", "sal_ws", "bald", "bqbc", "qbmgp", "scorebo_hr", "scorebo_ws", "scorebo_kl")
BASELINES = ("jes", "mes", "pes", "nei", "ucb")
HEAVY: Any = {"raw_samples": 8192, "num_restarts": 60, "maxiter": 200}


def main() -> None:
    """Print a row for each fit as it comes, then the table."""
    parser = arguments(__doc__.splitlines()[0], tasks=(*SYNTHETIC, "gp8", "ackley4_25", "hartmann6_25"))
    parser.add_argument("--acquisitions", nargs="+", default=[*ACQUISITIONS, *BASELINES], help="that are searched")
    parser.add_argument("--runs", nargs="+", default=["scorebo_hr"], help="acquisitions of the runs")
    options = parser.parse_args()
    make_runs(options, options.runs)
    strategies = {name: strategy(name) for name in options.acquisitions}
    ratios, seconds = defaultdict(list), defaultdict(list)
    for fit in stored_fits(options, options.runs):
        context, line = fit.context, []
        best_observed = context.model.train_X[context.model.train_Y.argmax()]
        for name, searched in strategies.items():
            acquisition = searched.factory(context)
            search = partial(maximize, acquisition, context.bounds, around=best_observed)
            began = time.process_time()
            _, value = search(seed=context.stream("acquisition"), **searched.options)
            spent = time.process_time() - began
            heavy = max(float(search(seed=1, **HEAVY)[1]), from_random_points(acquisition))
            key = name, context.model.dim
            ratios[key].append(ratio(name, float(value), heavy, acquisition))
            seconds[key].append(spent)
            line.append(f"{name} {ratios[key][-1]:.3f} {spent:.2f}")
        print(f"{fit.task} {fit.acquisition} {fit.seed} {fit.n}: {', '.join(line)}", flush=True)
    print("| acquisition | D | fits | least | mean | share of at least 0.98 | s |")
    print("|---|---|---|---|---|---|---|")
    for (name, dim), found in sorted(ratios.items()):
        print(row(name, dim, found, seconds[name, dim]))
    print(row("all", "", *([x for part in table.values() for x in part] for table in (ratios, seconds))))


def row(name, dim, found, spent):  # type: ignore[no-untyped-def]
    """One row of the table."""
    good = np.mean(np.array(found) >= 0.98)
    counts = f"{len(found)} | {min(found):.3f} | {np.mean(found):.4f} | {good:.3f}"
    return f"| {name} | {dim} | {counts} | {np.mean(spent):.2f} |"


def strategy(name):  # type: ignore[no-untyped-def]
    """The strategy of a run with this acquisition."""
    config = as_dict(compose(["benchmark=branin", f"acquisition={name}"]))
    return build_strategy(config["acquisition"], config["acquisition_optimizer"])


def from_random_points(acquisition):  # type: ignore[no-untyped-def]
    """The highest value that climbs from 100 random points reach."""

    def evaluate(x):  # type: ignore[no-untyped-def]
        points = torch.from_numpy(x).requires_grad_()
        value = acquisition(points.unsqueeze(-2)).to(torch.float64)
        (gradient,) = torch.autograd.grad(value.sum(), points)
        return value.detach().numpy(), gradient.numpy()

    starts = np.random.default_rng(99).random((100, acquisition.model.dim))
    return float(np.nanmax(ascend(evaluate, starts, HEAVY["maxiter"], first_step=0.05)[1]))


def ratio(name, value, heavy, acquisition):  # type: ignore[no-untyped-def]
    """The value found by a search relative to the highest known."""
    best = max(value, heavy)
    if name.startswith("nei"):
        return math.exp(value - best)
    zero = 0.0
    if name == "ucb":
        generator = torch.Generator().manual_seed(0)
        box = torch.rand(512, 1, acquisition.model.dim, dtype=torch.float64, generator=generator)
        zero = float(acquisition(box).detach().median())
    return (value - zero) / (best - zero)


if __name__ == "__main__":
    main()
