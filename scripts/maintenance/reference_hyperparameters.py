"""Reference hyperparameters of the active-learning tasks, to which figures and claims compare (EXPERIMENTS.md §4).

300 random noiseless points, MCMC, averaged in log space; the noise is known. One such design does not determine them
(on Hartmann-6 log10 ℓ3 moves by more than 1), so that they are averaged over several; their standard deviation over the
designs is kept beside. Writes the table that the package reads.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import scorebo.report.claims
from scorebo import fit_gp
from scorebo.config import compose, instantiate
from scorebo.report.claims.reference import REFERENCE_FILE
from scorebo.seeds import derive, generator
from scorebo.store import in_task_units
from scorebo.transforms.standardize import DataTransform

TASKS = (
    ("ishigami", "al_lognormal"),
    ("ishigami", "al_lognormal_no_outputscale"),
    ("hartmann6_al", "al_lognormal"),
)
POINTS = 300


def main() -> None:
    """Fit, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(scorebo.report.claims.__file__).parent / REFERENCE_FILE)
    parser.add_argument("--designs", type=int, default=12, help="how many random designs are averaged")
    options = parser.parse_args()
    table = {f"{task} {model}": reference(task, model, options.designs) for task, model in TASKS}
    options.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def reference(task: str, model: str, designs: int) -> dict[str, Any]:
    """Mean and standard deviation over the designs of log10 of the hyperparameters."""
    found = pd.DataFrame([of_design(task, model, number) for number in range(1, designs + 1)])
    noise = 2.0 * math.log10(float(compose([f"benchmark={task}", "acquisition=random"]).benchmark.noise_std))
    table = pd.DataFrame({"mean": found.mean(), "standard_deviation": found.std(ddof=1)})
    table.loc["noise"] = [noise, 0.0]
    print(f"{task} under {model}:\n{table}", flush=True)
    return {"designs": designs, **{str(name): column.to_dict() for name, column in table.items()}}


def of_design(task: str, model: str, number: int) -> dict[str, float]:
    """log10 of the hyperparameters in the task's units, from the design of this number."""
    config = compose([f"benchmark={task}", "acquisition=random", f"model={model}"])
    benchmark = instantiate("benchmark", config.benchmark)
    points = torch.from_numpy(generator(task, "reference points", number).random((POINTS, benchmark.dim)))
    bounds = benchmark.bounds
    X = bounds[0] + (bounds[1] - bounds[0]) * points
    y = benchmark.evaluate_true(X)
    transform = DataTransform.of(bounds, y, maximize=benchmark.maximize, standardize=True)
    fit = fit_gp(points, transform.to_model(y), model, seed=derive(task, "reference", "mcmc", number))
    sets = {name: getattr(fit, name).tolist() for name in ("lengthscale", "outputscale")}
    units = in_task_units(sets, transform.output_mean, transform.output_std, transform.sign)
    logs = {f"lengthscale_{k}": float(v.mean()) for k, v in enumerate(torch.tensor(units["lengthscale"]).log10().T, 1)}
    logs["outputscale"] = float(torch.tensor(units["outputscale"]).log10().mean())
    print(f"{task} under {model}, design {number}: {fit.diagnostics}\n{logs}", flush=True)
    return logs


if __name__ == "__main__":
    main()
