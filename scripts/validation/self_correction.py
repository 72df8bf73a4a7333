"""What SCoreBO and noisy EI find out about the structure of a task on the way, iteration by iteration.

    python scripts/validation/self_correction.py ackley4_25 --seeds 3 --total 45
    python scripts/validation/self_correction.py addgp6 --seeds 5 --total 40

On `ackley4_25` how far the lengthscales of the inputs that matter are from the others (median log10 ratio); on
`addgp6` how many true pairs of inputs the sampled partitions split. Runs that are finished are not made again.
Prints a Markdown table and draws a figure: every seed thin, their mean thick.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from scorebo.threads import limit_threads

limit_threads(1)

import matplotlib as mpl  # noqa: E402

mpl.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import pandas as pd  # noqa: E402

from scorebo.benchmarks.sparse import Ackley4In25  # noqa: E402
from scorebo.config import as_dict, compose  # noqa: E402
from scorebo.report.style import label, method_styles  # noqa: E402
from scorebo.run.loop import execute  # noqa: E402
from scorebo.store import active_inputs, collect, collect_hyperparameters, separation  # noqa: E402

ACQUISITIONS = ("scorebo_hr", "nei")
MEASURES = {"ackley4_25": "log10 ratio of lengthscales", "addgp6": "split pairs"}
ROWS = 8  # of the table, iterations spread over the run


def main() -> None:
    """Make the runs that are missing, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=MEASURES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--total", type=int, default=45, help="observations of a run")
    parser.add_argument("--results", type=Path, default=Path("results/self-correction"))
    parser.add_argument("--out", type=Path, default=Path("results/reference"), help="folder of the figure")
    options = parser.parse_args()
    for seed in range(1, options.seeds + 1):
        for acquisition in ACQUISITIONS:
            settings = [f"benchmark={options.task}", f"acquisition={acquisition}", f"seed={seed}"]
            settings += [f"benchmark.total={options.total}", "mcmc.num_features=2048", f"results={options.results}"]
            execute(as_dict(compose(settings)))
    traces = measure(options.task, options.results)
    traces = traces[(traces["seed"] <= options.seeds) & (traces["iteration"] <= options.total + 1)]
    print(table(traces))
    draw(traces, MEASURES[options.task], options.out / f"self-correction-{options.task}.png")


def measure(task: str, results: Path) -> pd.DataFrame:
    """Columns acquisition, seed, iteration and `value`, one row per model."""
    if task == "addgp6":
        records = collect(results).rename(columns={"decomposition_error": "value"})
    else:
        sets = collect_hyperparameters(results)
        inputs = active_inputs(pd.DataFrame(sets[sets["benchmark"] == task]))
        records = separation(inputs, Ackley4In25.num_active).rename(columns={"log10_ratio": "value"})
    chosen = records[records["benchmark"] == task].dropna(subset="value")
    return pd.DataFrame(chosen[["acquisition", "seed", "iteration", "value"]])


def table(traces: pd.DataFrame) -> str:
    """Mean over the seeds, with the least and the largest, at iterations spread over the run."""
    iterations = sorted(traces["iteration"].unique())
    steps = sorted({iterations[round(k * (len(iterations) - 1) / (ROWS - 1))] for k in range(ROWS)})
    lines = [f"| iteration | {' | '.join(ACQUISITIONS)} |", "|---" * (1 + len(ACQUISITIONS)) + "|"]
    for step in steps:
        cells = []
        for acquisition in ACQUISITIONS:
            values = traces[(traces["iteration"] == step) & (traces["acquisition"] == acquisition)]["value"]
            cells.append(f"{values.mean():.2f} ({values.min():.2f} … {values.max():.2f})" if len(values) else "–")
        lines.append(f"| {step} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(traces: pd.DataFrame, measure: str, file: Path) -> None:
    """One line for every run, and their mean."""
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for acquisition, style in method_styles(ACQUISITIONS).items():
        wide = traces[traces["acquisition"] == acquisition].pivot_table("value", "iteration", "seed")
        axes.plot(wide.index, wide.to_numpy(), color=style.color, linewidth=0.5, alpha=0.6)
        axes.plot(wide.index, wide.mean(axis=1).to_numpy(), color=style.color, linewidth=2, label=label(acquisition))
    axes.set(xlabel="Iteration", ylabel=measure)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
