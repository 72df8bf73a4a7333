"""Search a good value of a task whose optimum is not known, and keep it if it is better than the one that is kept.

    python scripts/maintenance/best_known.py svm_ct757 --evaluations 3000

A modest search, not a proof: random points, or the point that is kept if there is one, then steps from the best so far
in a random share of the coordinates, longer while they succeed and shorter while they fail.
"""

from __future__ import annotations

import argparse
import json

import torch
from torch import Tensor

from scorebo.benchmarks.base import Benchmark
from scorebo.benchmarks.outside.task import BEST_KNOWN, best_known
from scorebo.config import load_benchmark
from scorebo.files import write_atomically
from scorebo.seeds import generator

# Of the budget, how much goes to random points; of a step, the length in the unit box at first, and how it changes.
RANDOM_SHARE, FIRST_STEP, LONGER, SHORTER = 0.2, 0.2, 1.5, 0.9
DECIMALS = 6


def search(task: Benchmark, evaluations: int, batch: int, seed: int) -> Tensor:
    """The best point found (`D`, in the unit box), among the kept one and so many others."""
    rng = generator(task.name, "best known", seed)
    lower, width = task.bounds[0], task.bounds[1] - task.bounds[0]
    sign = 1.0 if task.maximize else -1.0

    def scored(unit: Tensor) -> tuple[float, Tensor]:
        values = sign * task.evaluate_true(lower + width * unit)
        i = int(values.argmax())
        return float(values[i]), unit[i]

    kept = best_known(task.name)
    middle = torch.full_like(lower, 0.5)
    start = middle if kept is None else ((lower.new_tensor(kept.x) - lower) / width).clamp(0.0, 1.0)
    best, x = scored(start.unsqueeze(0))
    num_random = 0 if kept is not None else int(RANDOM_SHARE * evaluations)
    for _ in range(num_random // batch):
        best, x = max((best, x), scored(torch.from_numpy(rng.random((batch, task.dim)))), key=lambda found: found[0])
    step = FIRST_STEP
    for _ in range((evaluations - num_random) // batch):
        share = 2.0 ** -rng.integers(0, max(1, task.dim.bit_length() - 1), (batch, 1))
        moved = torch.from_numpy((rng.random((batch, task.dim)) < share) * rng.standard_normal((batch, task.dim)))
        value, there = scored((x + step * moved).clamp(0.0, 1.0))
        step *= LONGER if value > best else SHORTER ** (1 if step > 1e-4 else 0)
        best, x = max((best, x), (value, there), key=lambda found: found[0])
    return x


def main() -> None:
    """Search, tell, and write the table if something better was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=1, help="points evaluated at once; many for a cheap surrogate")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    task = load_benchmark(options.task)
    kept = best_known(options.task)
    unit = torch.round(search(task, options.evaluations, options.batch, options.seed), decimals=DECIMALS)
    x = task.bounds[0] + (task.bounds[1] - task.bounds[0]) * unit
    value = float(task.evaluate_true(x.unsqueeze(0)))
    print(f"{options.task}: {value:.8g}, kept so far: {'nothing' if kept is None else f'{kept.value:.8g}'}")
    if kept is not None and (value <= kept.value if task.maximize else value >= kept.value):
        return
    table = json.loads(BEST_KNOWN.read_text(encoding="utf-8")) if BEST_KNOWN.exists() else {}
    how = f"a search of {options.evaluations} evaluations (scripts/maintenance/best_known.py)"
    table[options.task] = {"value": value, "how": how, "x": x.tolist()}
    lines = (f'"{name}": {json.dumps(entry)}' for name, entry in sorted(table.items()))
    write_atomically(BEST_KNOWN, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
