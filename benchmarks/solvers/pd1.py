"""The XGBoost surrogates of PD1 in the files of mf-prior-bench."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from scorebo.benchmarks.spaces import Parameter, decode
from scorebo.errors import InputError

Array = np.ndarray
FIDELITY = "epoch"


def accuracy(file: str, space: Sequence[Parameter], epoch: int) -> Callable[[Array], Array]:
    """The function of points in the unit box, `n x D` -> `n`: one less the error predicted after `epoch` epochs."""
    import xgboost  # here, and not where the parent process would load it too

    names = [*(parameter.name for parameter in space), FIDELITY]
    booster = xgboost.Booster()
    try:
        booster.load_model(file)
    except xgboost.core.XGBoostError as error:
        # Its first line, without the time and the place in XGBoost's code; what follows is a stack trace.
        reason = re.sub(r"^\[[\d:]+\] \S+: ", "", str(error).strip().splitlines()[0])
        raise InputError(f"{file} is no XGBoost model ({reason}).") from error
    columns = booster.feature_names or names
    if sorted(columns) != sorted(names) or booster.num_features() != len(names):
        found = ", ".join(booster.feature_names or [f"{booster.num_features()} without names"])
        raise InputError(f"{file} must be a model of {', '.join(names)}; its columns are {found}.")
    order = [names.index(column) for column in columns]

    def solve(points: Array) -> Array:
        table = np.column_stack([decode(tuple(space), points), np.full(len(points), float(epoch))])[:, order]
        error = booster.predict(xgboost.DMatrix(table, feature_names=booster.feature_names))
        return 1.0 - np.clip(error.astype(np.float64), 0.0, 1.0)

    return solve
