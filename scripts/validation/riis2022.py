"""Published active-learning curves beside ours: Figure 4 of Riis et al. (NeurIPS 2022), whose setup the paper copies.

From the digitized figure (columns task, metric, method, iteration, value; `iteration` counts queries after the three
initial points) it writes a file for `--overlay` of `scorebo plot al-rmse` and `scorebo compare --metric rmse`. With
`--runs` it prints the RMSE of stored runs, by model and method, beside the published curve of the same acquisition
function; `results/reference/riis2022.md` says which runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from scorebo.report.statistics.curves import curves
from scorebo.store import collect

SOURCE = "Riis et al. (2022)"
INITIAL = 3
TASKS = {"branin": "branin_al", "hartmann6": "hartmann6_al"}
METHODS = {"ALM": "alm", "B-ALM": "balm", "BALD": "bald", "B-QBC": "bqbc", "QB-MGP": "qbmgp"}
METRICS = {"nlml": "negative_mll"}


def main() -> None:
    """Convert, and print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", type=Path, help="the digitized figure, a CSV file")
    parser.add_argument("--out", type=Path, help="the file for --overlay")
    parser.add_argument("--runs", type=Path, help="results folder whose runs are tabulated beside")
    parser.add_argument("--at", type=int, nargs="+", default=[15, 23, 33, 42], help="numbers of observations")
    options = parser.parse_args()
    published = overlay(pd.read_csv(options.figure))
    if options.out:
        published.to_csv(options.out, index=False)
        print(f"{len(published)} points: {options.out}")
    if options.runs:
        print(beside(collect([options.runs]), published, options.at).to_string(index=False))


def overlay(figure: pd.DataFrame) -> pd.DataFrame:
    """The digitized figure in the columns and names of `scorebo.report.overlay`."""
    names = {"task": TASKS, "method": METHODS, "metric": METRICS}
    named = figure.assign(**{column: figure[column].replace(to) for column, to in names.items()})
    return named.assign(n=named.pop("iteration") + INITIAL, source=SOURCE)


def beside(table: pd.DataFrame, published: pd.DataFrame, at: list[int]) -> pd.DataFrame:
    """Mean RMSE ± standard error of the runs under each model and the published one, a row a method, a column an n."""
    table = table.assign(acquisition=table["model"] + " " + table["acquisition"])
    points = curves(table.dropna(subset="rmse"), "rmse")
    rows = []
    for names, own in points.groupby(["benchmark", "acquisition"]):
        task, name = map(str, names)
        own = own.set_index("num_observations").reindex(at)
        cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(own["mean"], own["standard_error"], strict=True)]
        model, _, named = name.partition(" ")
        rows.append([task, model, named, *cells])
        method = named.partition("_")[0]
        curve = published[published[["task", "metric", "method"]].eq([task, "rmse", method]).all(axis=1)]
        if len(curve):
            values = np.interp(at, curve["n"], curve["value"])
            rows.append([task, SOURCE, method, *(f"{value:.2f}" for value in values)])
    return pd.DataFrame(rows, columns=["task", "model", "method", *(f"n = {n}" for n in at)])


if __name__ == "__main__":
    main()
