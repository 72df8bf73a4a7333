"""Which settings of NUTS need the fewest evaluations of the log density per effective draw.

Every combination of tree depth, target acceptance, mass matrix and start draws chains of 256 + 256 draws on data of
several tasks: half of the points of a Sobol design, half around the best of these, as optimization has them. The
effective size is the smallest bulk effective size over the parameters, of the 256 draws kept; evaluations are those of
the warm-up and of finding the start, too. The best settings are run again with more chains. Prints Markdown, best
first: evaluations per effective draw (and the worst chain's effective size) of each data set and their geometric mean,
evaluations of a chain, and divergences in all. A setting is only as good as its worst chain: of those that the second
round cannot tell from the best, within a tenth, the one with the best worst chain is chosen.
"""

from __future__ import annotations

import argparse
import itertools
from typing import NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.quasirandom import SobolEngine  # noqa: E402

from scorebo.config import load_benchmark, load_model  # noqa: E402
from scorebo.gp import LogDensity  # noqa: E402
from scorebo.inference import maximum, nuts, posterior  # noqa: E402
from scorebo.inference.diagnostics import bulk_ess  # noqa: E402
from scorebo.transforms.standardize import DataTransform  # noqa: E402

WARMUP = DRAWS = 256
# Differences in evaluations smaller than this are noise: the rounds differ by as much.
TOLERANCE = 1.1
# Task, model, number of points, number of further inputs without any influence.
DATA = (
    ("gramacy2", "al_lognormal", 20, 0),
    ("branin", "bo_lognormal", 50, 0),
    ("hartmann6_al", "al_lognormal", 20, 0),
    ("hartmann6", "bo_lognormal", 50, 0),
    ("hartmann6_al", "botorch", 100, 0),
    ("hartmann6", "bo_lognormal", 50, 19),
)


class Setting(NamedTuple):
    """One way to run NUTS."""

    max_tree_depth: int
    target_acceptance: float
    mass_matrix: str
    start: str


GRID = [
    *(Setting(*choice, "prior") for choice in itertools.product((3, 4, 5, 6), (0.8, 0.9), ("diagonal", "low rank"))),
    *(Setting(depth, 0.95, "low rank", "prior") for depth in (4, 6)),
    *(Setting(depth, 0.9, "low rank", "maximum") for depth in (4, 6)),
]


class Outcome(NamedTuple):
    """What one chain cost and brought."""

    evaluations: int
    effective_size: float
    divergences: int


Table = dict[Setting, list[list[Outcome]]]


def main() -> None:
    """Print the tables of both rounds and what was chosen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=4, help="chains of every setting on every data set")
    parser.add_argument("--finalists", type=int, default=7, help="settings that are run again")
    parser.add_argument("--final-chains", type=int, default=12, help="chains of these on every data set")
    options = parser.parse_args()
    densities = [make_density(*data) for data in DATA]
    first = {s: [[run(d, s, seed) for seed in range(options.chains)] for d in densities] for s in GRID}
    print(f"First round: {options.chains} chains of every setting on every data set.\n")
    ordered = report(first, densities)
    # Other seeds, so that a setting does not profit twice from the luck that made it a finalist.
    seeds = range(1000, 1000 + options.final_chains)
    final = {s: [[run(d, s, seed) for seed in seeds] for d in densities] for s in ordered[: options.finalists]}
    print(f"\nSecond round: the best {options.finalists}, {options.final_chains} other chains each.\n")
    ordered = report(final, densities)
    chosen = max(
        (s for s in ordered if cost(final[s]) <= TOLERANCE * cost(final[ordered[0]])), key=lambda s: worst(final[s])
    )
    print(f"\nThe best worst chain among those within {TOLERANCE - 1:.0%} of the fewest evaluations: {chosen}.")


def cost(outcomes: list[list[Outcome]]) -> float:
    """Evaluations per effective draw; every data set counts the same, however hard it is."""
    return float(np.exp(np.mean([np.log(per_draw(chains)) for chains in outcomes])))


def worst(outcomes: list[list[Outcome]]) -> float:
    """The smallest effective size of all chains."""
    return min(chain.effective_size for chains in outcomes for chain in chains)


def report(table: Table, densities: list[LogDensity]) -> list[Setting]:
    """Print the table; its settings, best first."""
    heads = [f"{name}, n = {n}, D = {d.dim_inputs}" for (name, _, n, _), d in zip(DATA, densities, strict=True)]
    print("| depth | acceptance | mass matrix | start | mean | evaluations | divergences | " + " | ".join(heads) + " |")
    print("|" + "---|" * (7 + len(heads)))
    ordered = sorted(table, key=lambda setting: cost(table[setting]))
    for setting in ordered:
        chains = [outcome for outcomes in table[setting] for outcome in outcomes]
        cells = [f"{per_draw(o):.0f} ({min(c.effective_size for c in o):.0f})" for o in table[setting]]
        evaluations = np.mean([chain.evaluations for chain in chains])
        divergences = sum(chain.divergences for chain in chains)
        settings = " | ".join(str(value) for value in setting)
        print(
            f"| {settings} | {cost(table[setting]):.0f} | {evaluations:.0f} | {divergences} | "
            + " | ".join(cells)
            + " |"
        )
    return ordered


def make_density(name: str, model: str, n: int, further: int) -> LogDensity:
    """The posterior of a task's data, concentrated as those of a run."""
    task = load_benchmark(name).for_seed(1)
    low, high = task.bounds
    unit = SobolEngine(task.dim, scramble=True, seed=n).draw(n, dtype=torch.float64)
    rng = torch.Generator().manual_seed(n)
    values: list[float] = []
    for i in range(n):
        if i >= n // 2:
            best = unit[int(np.argmax(values) if task.maximize else np.argmin(values))]
            step = 0.1 * torch.randn(task.dim, generator=rng, dtype=torch.float64)
            unit[i] = (best + step).clamp(0.0, 1.0)
        values.append(task.observe(low + unit[i] * (high - low), 1, i + 1)[0])
    y = torch.tensor(values, dtype=torch.float64)
    y = DataTransform.of(task.bounds, y, maximize=task.maximize, standardize=True).to_model(y)
    X = torch.cat([unit, torch.rand(n, further, generator=rng, dtype=torch.float64)], dim=1)
    return LogDensity(X.numpy(), y.numpy(), load_model(model))


def run(density: LogDensity, setting: Setting, seed: int) -> Outcome:
    """One chain."""
    before = density.evaluations
    if setting.start == "maximum":
        start = maximum.maximize(density, noise_lower_bound=0.0, seed=seed)
    else:
        start = posterior.start(density, seed)
    chain = nuts.sample(
        density,
        start,
        warmup=WARMUP,
        draws=DRAWS,
        seed=seed,
        max_tree_depth=setting.max_tree_depth,
        target_acceptance=setting.target_acceptance,
        low_rank=setting.mass_matrix == "low rank",
    )
    return Outcome(density.evaluations - before, bulk_ess(chain.theta) or 1.0, chain.divergences)


def per_draw(outcomes: list[Outcome]) -> float:
    """Evaluations of some chains per effective draw of theirs."""
    return sum(chain.evaluations for chain in outcomes) / sum(chain.effective_size for chain in outcomes)


if __name__ == "__main__":
    main()
