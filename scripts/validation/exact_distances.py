"""Exact distances against mpmath in hostile cases, and what they cost beside moment matching and Monte Carlo.

    python scripts/validation/exact_distances.py --write results/reference/exact-distances.md

Conditionals are extended skew normals with thresholds γ from −50 to 50 and variances of the noise from 1e-4 to 1e4
times that of the truncated part; mixtures have a single component, nearly equal ones, ones far apart and such of very
different width; and conditionals are as wide as the mixture, and a thousand times narrower or wider. References of
three distances are integrated with mpmath's 25 digits; that of Wasserstein over scipy's densities on a grid of some 1e5
nodes. Errors are absolute where the distance is below 1, and relative above.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import mpmath  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from mpmath import mpf  # noqa: E402
from scipy.special import log_ndtr, ndtr, ndtri  # noqa: E402

import scorebo  # noqa: E402
from scorebo.acquisition import SCoreBO, maximize  # noqa: E402
from scorebo.acquisition.distances import DISTANCES  # noqa: E402
from scorebo.acquisition.mixture import Mixture, Normals  # noqa: E402
from scorebo.acquisition.skew_normal import SkewNormals  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402
from scorebo.optima import sample_optima  # noqa: E402
from scorebo.search.box import unit_box  # noqa: E402

THRESHOLDS = (-50.0, -5.0, 0.0, 3.0, 50.0)
NOISES = (1e-4, 1.0, 1e4)  # variance of the noise by that of the part that is truncated
WIDTHS = (1e-3, 1.0, 1e3)  # standard deviation of the conditional by that of the mixture
MIXTURES = {
    "one component": [(0.2, 1.0)],
    "nearly equal": [(0.0, 1.0), (1e-5, 1.0), (0.0, 1.0 + 1e-5)],
    "far apart": [(-20.0, 1.0), (0.5, 0.7), (30.0, 1.5)],
    "wide and narrow": [(0.0, 1.0), (0.3, 0.01), (-1.0, 0.1)],
}
STEPS = (-9, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 9)
GAUSS = np.polynomial.legendre.leggauss(24)


class Case(NamedTuple):
    """A conditional m, d, R, α and the components (mean, standard deviation) of a mixture."""

    conditional: tuple[float, float, float, float]
    components: list[tuple[float, float]]


def cases() -> Iterator[Case]:
    """All combinations, the conditional near the first component, with its edge on either side by turns."""
    numbered = enumerate(itertools.product(THRESHOLDS, NOISES, WIDTHS, MIXTURES.values()))
    for number, (threshold, noise, width, components) in numbered:
        size = width / (1.0 + noise) ** 0.5
        d = size if number % 2 else -size
        # A deep truncation takes the conditional far from its parameter m.
        m = components[0][0] - d * max(-threshold, 0.0)
        yield Case((m, d, noise * size * size, threshold), components)


def places(case: Case) -> np.ndarray:
    """Points between which both densities are smooth."""
    m, d, noise, threshold = case.conditional
    edge, tail = m - threshold * d, d / max(1.0, -threshold)
    found = [edge + step * noise**0.5 for step in STEPS] + [edge + step * tail for step in (1, 2, 4, 8, 16, 32)]
    if threshold > -5.0:
        found += [m + step * (d * d + noise) ** 0.5 for step in STEPS]
    for mean, std in case.components:
        found += [mean + step * std for step in STEPS]
    return np.unique(found)


def references(case: Case) -> dict[str, float]:
    """Hellinger and both KL with mpmath, Wasserstein on a fine grid."""
    sums = dict.fromkeys(("hellinger", "kl", "reverse_kl"), mpf(0))
    with mpmath.workdps(25):
        m, d, noise, threshold = (mpf(number) for number in case.conditional)
        variance = d * d + noise
        constant = -mpmath.log(mpmath.ncdf(threshold)) - mpmath.log(variance) / 2
        ends = places(case)
        cuts = np.concatenate([np.linspace(a, b, 3)[:-1] for a, b in itertools.pairwise(ends)] + [ends[-1:]])
        for low, high in itertools.pairwise(cuts):
            for node, weight in zip(*GAUSS, strict=True):
                y = (mpf(high) + mpf(low) + node * (mpf(high) - mpf(low))) / 2
                g = (threshold * variance + d * (y - m)) / mpmath.sqrt(noise * variance)
                log_q = constant - (y - m) ** 2 / (2 * variance) + mpmath.log(mpmath.erfc(-g / mpmath.sqrt(2)) / 2)
                parts = (mpmath.exp(-(((y - mean) / std) ** 2) / 2) / std for mean, std in case.components)
                p = sum(parts) / len(case.components)
                q, log_p, step = mpmath.exp(log_q), mpmath.log(p), (mpf(high) - mpf(low)) / 2 * weight
                sums["hellinger"] += step * (mpmath.sqrt(q) - mpmath.sqrt(p)) ** 2 / 2
                sums["kl"] += step * q * (log_q - log_p)
                sums["reverse_kl"] += step * p * (log_p - log_q)
        scale = mpmath.sqrt(2 * mpmath.pi)
        found = {name: float(total / scale) for name, total in sums.items()}
    found["hellinger"] = found["hellinger"] ** 0.5
    return found | {"wasserstein": wasserstein(case)}


def wasserstein(case: Case) -> float:
    """Over the levels of the mixture's points, with quantiles of the conditional from a table of its CDF."""
    m, d, noise, threshold = case.conditional
    variance = d * d + noise
    grid, at, weight = fine_grid(places(case))
    g = (threshold * variance + d * (at - m)) / (noise * variance) ** 0.5
    log_q = log_ndtr(g) - log_ndtr(threshold) - 0.5 * (at - m) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    mass = (weight * np.exp(log_q)).sum(axis=1)
    below, above = mass.cumsum(), mass[::-1].cumsum()[::-1]
    lower, upper = np.append(0.0, below), np.append(above, 0.0)
    score = np.where(lower < upper, ndtri(np.minimum(lower, upper)), -ndtri(np.minimum(lower, upper)))
    means, stds = (np.array(column)[:, None, None] for column in zip(*case.components, strict=True))
    z = (at - means) / stds
    p = (np.exp(-0.5 * z * z) / stds).mean(axis=0) / (2 * np.pi) ** 0.5
    tails = ndtr(z).mean(axis=0), ndtr(-z).mean(axis=0)
    wanted = np.where(tails[0] < tails[1], ndtri(tails[0]), -ndtri(tails[1]))
    usable = np.isfinite(score) & np.append(True, score[1:] > score[:-1])
    quantile = np.interp(wanted, score[usable], grid[usable])
    return float((weight * p * (at - quantile) ** 2).sum() ** 0.5)


def fine_grid(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of panels, and their nodes and weights."""
    grid = np.concatenate([np.linspace(a, b, 401)[:-1] for a, b in itertools.pairwise(ends)] + [ends[-1:]])
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = 0.5 * np.diff(grid)[:, None]
    return grid, grid[:-1, None] + half * (1.0 + nodes), half * weights


def exact(case: Case, distance: str) -> float:
    """By the estimator."""
    conditional = SkewNormals(*(torch.tensor([[number]], dtype=torch.float64) for number in case.conditional))
    means, stds = (torch.tensor([column], dtype=torch.float64) for column in zip(*case.components, strict=True))
    return DISTANCES[distance]().exact(conditional, Mixture(Normals(means, stds.square()))).item()


def errors(every: int) -> str:
    """The largest errors over every so many of the cases, as a table."""
    chosen = list(cases())[::every]
    largest = dict.fromkeys(DISTANCES, 0.0)
    for case in chosen:
        for distance, expected in references(case).items():
            error = abs(exact(case, distance) - expected) / max(1.0, expected)
            largest[distance] = max(largest[distance], error)
    rows = [f"| {distance} | {error:.1e} |" for distance, error in largest.items()]
    return "\n".join([f"| distance | largest error of {len(chosen)} cases |", "|---|---|", *rows])


def seconds(repeats: int) -> str:
    """Processor seconds of a proposal of SCoreBO: building and maximizing, the optima drawn before."""
    model = hartmann()
    box, around = unit_box(6), model.train_X[model.train_Y.argmax()]
    drawn = sample_optima(model, box, 8, 8192, seed=1)
    rows = ["| distance | moment matching | exact | Monte Carlo, 256 samples |", "|---|---|---|---|"]
    for distance in DISTANCES:
        cells = []
        for estimator in ("moment_matching", "exact", "monte_carlo"):
            maximize(SCoreBO(model, *drawn, distance, estimator), box, 32, 2, maxiter=2)  # loads the compiled code
            least = float("inf")
            for _ in range(repeats):
                began = time.process_time()
                maximize(SCoreBO(model, *drawn, distance, estimator), box, around=around, seed=1)
                least = min(least, time.process_time() - began)
            cells.append(f"{least:.3f}")
        rows.append(f"| {distance} | {' | '.join(cells)} |")
    return "\n".join(rows)


def hartmann() -> FullyBayesianGP:
    """Hartmann-6 at the 50 points of a Sobol design, 16 hyperparameter samples."""
    benchmark = scorebo.load_benchmark("hartmann6", initial=50, total=50)
    X = benchmark.initial_design(1)
    Y = torch.tensor([benchmark.observe(x, 1, i + 1)[0] for i, x in enumerate(X)], dtype=torch.float64)
    Y = (Y.mean() - Y) / Y.std()
    return scorebo.fit_gp(X, Y, "bo_lognormal", warmup=256, thinning=16, num_mcmc_samples=16, seed=1)


PAGE = """# Exact distances

`estimator=exact` integrates a distance to the mixture by quadrature. `scripts/validation/exact_distances.py` makes this
page.

## Errors

In hostile cases: thresholds γ from −50 to 50, noise of 1e-4 to 1e4 times the variance of the truncated part,
conditionals as wide as the mixture and a thousand times narrower or wider, mixtures of one component, of nearly equal
ones, of ones far apart and of ones a hundred times narrower than others. References are integrated by mpmath
(Wasserstein: on a fine grid). Errors are absolute where the distance is below 1, and relative above.

{errors}

## Seconds

Of a whole proposal of SCoreBO, building and maximizing the acquisition in the box, the optima drawn before:
Hartmann-6, n = 50, 16 hyperparameter samples with 8 optima each. The least of {repeats} processor times on one core of
a machine with other work, in one run; only their ratios mean something.

{seconds}
"""


def main() -> None:
    """Measure; print, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="one case in so many")
    parser.add_argument("--repeats", type=int, default=3, help="proposals of each kind")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there")
    options = parser.parse_args()
    page = PAGE.format(errors=errors(options.every), seconds=seconds(options.repeats), repeats=options.repeats)
    print(page)
    if options.write:
        options.write.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
