"""Random points of the cosmology task: how many CAMB can do, their values, and the time of each.

    python scripts/validation/cosmology_points.py --points 100

Nothing is written. The data are looked for as in runs (`scorebo data check sdss_lrg_dr7`).
"""

from __future__ import annotations

import argparse
import time

import torch

import scorebo
from scorebo.seeds import generator


def main() -> None:
    """Evaluate the points one by one and tell of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100)
    options = parser.parse_args()
    task = scorebo.load_benchmark("cosmology")
    unit = torch.from_numpy(generator("cosmology", "random points").random((options.points, task.dim)))
    X = task.bounds[0] + (task.bounds[1] - task.bounds[0]) * unit
    task.evaluate_true(X[:1])  # the child starts
    values, seconds = [], []
    for x in X:
        began = time.perf_counter()
        values.append(float(task.evaluate_true(x.unsqueeze(0))))
        seconds.append(time.perf_counter() - began)
    found = torch.tensor(values, dtype=torch.float64)
    taken = torch.tensor(seconds, dtype=torch.float64)
    done = found[found < 300.0]
    print(f"{len(done)} of {len(found)} points have a spectrum, the others score 300")
    if len(done):
        print(f"minimum {done.min():.1f}, median {done.median():.1f}, maximum {done.max():.1f}")
    print(f"seconds: median {taken.median():.2f}, longest {taken.max():.2f}")


if __name__ == "__main__":
    main()
