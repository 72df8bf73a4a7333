"""Does either sampler weigh the modes right? Runs of `sequential_runs.py` on gramacy1 against a grid over all of θ.

    python scripts/validation/sequential_modes.py --first 101 --seeds 60 [--results results/sequential]

The posterior of that task has a mode of short lengthscales and one of long ones, which comes and goes with the data. It
has three parameters, so that its mass below a lengthscale is a sum over a grid. For the data of each run at n
observations the fraction of the sets below that lengthscale is compared with the exact mass.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
from scipy import linalg  # noqa: E402
from sequential_runs import SAMPLERS, TASKS, configuration  # noqa: E402

from scorebo.store import RunStore, read_records  # noqa: E402

TASK = next(task for task in TASKS if task.benchmark == "gramacy1")
LOWER, WIDTH = 0.5, 2.0  # of the task's box
SIZES = (12, 18, 24, 30)
# Between the modes, 10^-0.8 of the box.
SHORT = -0.8 * math.log(10.0)
# Natural logarithms of lengthscale, outputscale and noise variance, each LN(0, 3).
LENGTHSCALE, OUTPUTSCALE, NOISE = np.linspace(-5.5, 4.5, 121), np.linspace(-4.0, 6.0, 36), np.linspace(-9.0, 3.0, 49)
PRIOR_VARIANCE, NOISE_FLOOR = 3.0, 1e-6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=Path("results/sequential"), help="of sequential_runs.py")
    options = parser.parse_args()
    print("| sampler | n | sets with short lengthscales | exact | difference | standard error |")
    print("|---|---|---|---|---|---|")
    seeds = range(options.first, options.first + options.seeds)
    for sampler in SAMPLERS:
        stores = [RunStore(options.results, configuration(TASK, sampler, seed, options.results)) for seed in seeds]
        runs = [shares(store.folder) for store in stores if store.is_finished()]
        for n, (found, exact) in zip(SIZES, np.mean(runs, axis=0), strict=True):
            difference = np.array(runs)[:, SIZES.index(n)] @ [1.0, -1.0]
            error = difference.std(ddof=1) / math.sqrt(len(runs))
            print(f"| {sampler} | {n} | {found:.3f} | {exact:.3f} | {found - exact:+.3f} | {error:.3f} |", flush=True)


def shares(folder: Path) -> list[tuple[float, float]]:
    """At each of `SIZES`: the fraction of a run's sets with short lengthscales, and the exact mass for its data."""
    records = read_records(folder / "records.jsonl").records
    observed = records[: TASK.total]
    x = (np.array([record["x"][0] for record in observed]) - LOWER) / WIDTH
    y = np.array([record["y"] for record in observed])
    found = []
    for n in SIZES:
        record = records[n]
        assert record["num_observations"] == n
        lengthscale = np.array(record["hyperparameters"]["lengthscale"])[:, 0]
        outputs = (y[:n] - y[:n].mean()) / y[:n].std(ddof=1)
        found.append((float(np.mean(np.log(lengthscale) < SHORT)), short_mass(x[:n], outputs)))
    return found


def short_mass(x: np.ndarray, y: np.ndarray) -> float:
    """Posterior mass of lengthscales below `SHORT` for inputs and standardized outputs `n`."""
    distance = np.abs(x[:, None] - x)
    log_density = np.empty((len(LENGTHSCALE), len(OUTPUTSCALE), len(NOISE)))
    for i, lengthscale in enumerate(np.exp(LENGTHSCALE)):
        r = math.sqrt(5.0) * distance / lengthscale
        # With the correlations diagonal once, every outputscale and noise is a sum over eigenvalues.
        eigenvalue, vector = linalg.eigh((1.0 + r + r**2 / 3.0) * np.exp(-r))
        noise = np.exp(NOISE)[:, None] + NOISE_FLOOR
        variance = np.exp(OUTPUTSCALE)[:, None, None] * np.maximum(eigenvalue, 0.0) + noise
        log_density[i] = -0.5 * ((vector.T @ y) ** 2 / variance + np.log(variance)).sum(axis=-1)
    squares = LENGTHSCALE[:, None, None] ** 2 + OUTPUTSCALE[:, None] ** 2 + NOISE**2
    log_density -= squares / (2.0 * PRIOR_VARIANCE)
    mass = np.exp(log_density - log_density.max()).sum(axis=(1, 2))
    # The cells end half-way between the points of the grid; the one with the bound in it counts in part.
    ends = LENGTHSCALE + 0.5 * (LENGTHSCALE[1] - LENGTHSCALE[0])
    return float(np.interp(SHORT, ends, np.cumsum(mass) / mass.sum()))


if __name__ == "__main__":
    main()
