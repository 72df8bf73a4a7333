"""Small tidy tables for the tests of the reports."""

import numpy as np
import pandas as pd

COLUMNS = ["benchmark", "model", "acquisition", "seed", "iteration", "num_observations", "negative_mll", "nlpd", "rmse"]
AL_TASKS = ["gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al"]
AL_METHODS = ["qbmgp", "bqbc", "bald", "sal_ws", "sal_hr"]


def run(benchmark, acquisition, seed, negative_mll, *, rmse=None, first=2, model="al_lognormal"):
    """One run: `first` initial points, then a model for each value of `negative_mll`."""
    rmse = [1.0] * len(negative_mll) if rmse is None else rmse
    who = (benchmark, model, acquisition, seed)
    rows = [(*who, k, None, np.nan, np.nan, np.nan) for k in range(1, first + 1)]
    for k, (mll, error) in enumerate(zip(negative_mll, rmse, strict=True), first):
        rows.append((*who, k + 1, k, mll, mll, error))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"num_observations": "Int64"})


def join(*runs):
    return pd.concat(runs, ignore_index=True)


def suite(tasks=AL_TASKS, methods=AL_METHODS, seeds=range(1, 4), length=15):
    """Falling curves with random wiggles for every task, method and seed."""
    rng = np.random.default_rng(0)
    runs = []
    for benchmark in tasks:
        for method in methods:
            for seed in seeds:
                trend = np.exp(-np.arange(length) / length * 3)
                wiggle = rng.normal(0, 0.05, length)
                runs.append(run(benchmark, method, seed, 2 * trend - 1 + wiggle, rmse=trend * np.exp(wiggle)))
    return join(*runs)
