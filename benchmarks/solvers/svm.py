"""Support-vector regression on the CT slices: the test error as a function of a scale per feature, and ε, γ and C.

Eriksson, Jankowiak. High-Dimensional Bayesian Optimization with Sparse Axis-Aligned Subspaces. UAI 2021.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from scorebo.benchmarks.solvers.reading import Array, minmax, read
from scorebo.errors import InputError

ROWS, FEATURES = 53_500, 385  # patientId among the features
FEW_ROWS = 757
SEED = 388
DRAWN, TRAIN = 500, 250
# Of the 53500 targets in units of 1e-6, as little-endian 64-bit integers.
TARGETS_SHA256 = "315ac5620a92bd6010ddbafb9dfc412a0d52dfa967d9d2adbfa03d7fb81f2928"


def ct_slice(file: str) -> Callable[[Array], Array]:
    """The function on the full table: the CSV file, or CT_slice_X.npy[.gz] with CT_slice_y.npy[.gz] beside it."""
    path = Path(file)
    if path.name.startswith("CT_slice_X.npy"):
        targets = _beside(path)
        X = read(path, _npy, (ROWS, FEATURES))
        y = read(targets, lambda p: np.ravel(_npy(p)), (ROWS,))
    else:
        targets = path
        table = read(path, _csv, (ROWS, FEATURES + 1))
        X, y = table[:, :-1], table[:, -1]
    if digest(y) != TARGETS_SHA256:
        raise InputError(f"{targets} does not hold the targets of the CT slices: its {ROWS} values are others.")
    return objective(X, y)


def ct_slice_757(file: str, rows: int = FEW_ROWS) -> Callable[[Array], Array]:
    """The function on the rows of the small file."""
    table = read(file, _csv, (rows, FEATURES + 1))
    return objective(table[:, :-1], table[:, -1])


def objective(X: Array, y: Array) -> Callable[[Array], Array]:
    """The function x in [0, 1]^388 -> test root mean squared error, `n x D` -> `n`.

    Features are divided by exp(4x − 2); ε = 0.01·100^x₃₈₆, γ = 0.1·30^x₃₈₇, C = 0.01·500^x₃₈₈.

    Args:
        X: `N x 385`; scaled to [0, 1] over all rows, of which 500 are drawn.
        y: `N`, scaled likewise.
    """
    from sklearn.svm import SVR  # here, and not where the parent process would load it too

    X, y = minmax(X), minmax(y)
    rows = np.random.RandomState(SEED).choice(len(X), DRAWN, replace=False)
    train, test = rows[:TRAIN], rows[TRAIN:]

    def error(x: Array) -> float:
        scale = np.exp(4.0 * x[:-3] - 2.0)
        epsilon, gamma, penalty = 0.01 * 100.0 ** x[-3], 0.1 * 30.0 ** x[-2], 0.01 * 500.0 ** x[-1]
        machine = SVR(epsilon=epsilon, gamma=gamma, C=penalty).fit(X[train] / scale, y[train])
        return float(np.sqrt(np.square(machine.predict(X[test] / scale) - y[test]).mean()))

    return lambda points: np.array([error(x) for x in points])


def digest(targets: Array) -> str:
    """The SHA-256 of targets to six decimals, whichever file format they came in."""
    return hashlib.sha256(np.round(targets * 1e6).astype("<i8").tobytes()).hexdigest()


def _csv(path: Path) -> Array:
    import pandas as pd

    return pd.read_csv(path).to_numpy()


def _npy(path: Path) -> Array:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return np.load(file, allow_pickle=False)


def _beside(path: Path) -> Path:
    candidates = [path.with_name(name) for name in ("CT_slice_y.npy", "CT_slice_y.npy.gz")]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        raise InputError(f"{path} needs its targets beside it: there is no {candidates[0]}[.gz].")
    return found
