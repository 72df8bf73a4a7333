"""Small tidy tables for the tests of the reports."""

import numpy as np
import pandas as pd

COLUMNS = ["benchmark", "model", "acquisition", "seed", "iteration", "num_observations", "negative_mll", "nlpd", "rmse"]
REGRETS = ["inference_regret", "simple_regret"]
AL_TASKS = ["gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al"]
AL_METHODS = ["qbmgp", "bqbc", "bald", "sal_ws", "sal_hr"]
BO_TASKS = ["branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6"]
BO_METHODS = ["jes", "mes", "pes", "nei", "nei_map", "scorebo_hr"]


def run(benchmark, acquisition, seed, negative_mll, *, rmse=None, first=2, model="al_lognormal"):
    """One run: `first` initial points, then a model for each value of `negative_mll`."""
    rmse = [1.0] * len(negative_mll) if rmse is None else rmse
    who = (benchmark, model, acquisition, seed)
    rows = [(*who, k, None, np.nan, np.nan, np.nan) for k in range(1, first + 1)]
    for k, (mll, error) in enumerate(zip(negative_mll, rmse, strict=True), first):
        rows.append((*who, k + 1, k, mll, mll, error))
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"num_observations": "Int64"})
    return table.assign(**dict.fromkeys(REGRETS, table["rmse"]), best_observed=table["negative_mll"])


def bo_run(benchmark, acquisition, seed, regret, *, simple=None, best=None, model="bo_lognormal", first=2):
    """One run that optimizes: a model for each value of `regret`."""
    best = [0.0] * len(regret) if best is None else best
    table = run(benchmark, acquisition, seed, best, rmse=regret, model=model, first=first)
    if simple is not None:
        table.loc[table["num_observations"].notna(), "simple_regret"] = simple
    return table.assign(rmse=np.nan, negative_mll=np.nan, nlpd=np.nan)


def join(*runs):
    return pd.concat(runs, ignore_index=True)


def bo_suite(tasks=BO_TASKS, methods=BO_METHODS, seeds=range(1, 4), length=15):
    """Falling regrets with random wiggles; the MAP reference has its own model."""
    rng = np.random.default_rng(1)
    return join(
        *(
            bo_run(task, method, seed, 10 ** (0.5 - np.arange(length) / 6 + rng.normal(0, 0.2, length)), model=model)
            for task in tasks
            for method in methods
            for model in ["map" if method == "nei_map" else "bo_lognormal"]
            for seed in seeds
        )
    )


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
