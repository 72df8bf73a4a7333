"""The surrogates of PD1 (XGBoost, in the files of mf-prior-bench) and of LCBench (ONNX, in those of YAHPO Gym)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scorebo.benchmarks.spaces import Parameter, decode
from scorebo.errors import InputError

Array = np.ndarray
TASK = "OpenML_task_id"
# The columns of LCBench's model, in its own order, and the one of its outputs that is wanted: val_accuracy.
COLUMNS = (
    *("epoch", "batch_size", "learning_rate", "momentum", "weight_decay"),
    *("num_layers", "max_units", "max_dropout"),
)
VAL_ACCURACY = 1
# What the model takes, by name, type and number of columns, and the type and number of columns of what it gives.
INPUTS = [("x_cat", "tensor(int32)", 1), ("x_cont", "tensor(float)", len(COLUMNS))]
OUTPUT = ("tensor(float)", 6)


def pd1(file: str, space: Sequence[Parameter], epoch: int) -> Callable[[Array], Array]:
    """The function of points in the unit box, `n x D` -> `n`: one less the error predicted after `epoch` epochs."""
    import xgboost  # here, and not where the parent process would load it too

    names = [*(parameter.name for parameter in space), "epoch"]
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


def lcbench(
    model: str, encoding: str, task_id: str, space: Sequence[Parameter], epoch: int
) -> Callable[[Array], Array]:
    """The function of points in the unit box, `n x D` -> `n`: validation accuracy in per cent."""
    names = [parameter.name for parameter in space]
    if sorted(names) != sorted(COLUMNS[1:]):
        raise InputError(f"LCBench has the parameters {', '.join(COLUMNS[1:])}, got {', '.join(names)}.")
    code = _code(encoding, task_id)
    session = _session(model)
    order = [["epoch", *names].index(column) for column in COLUMNS]

    def solve(points: Array) -> Array:
        rows = len(points)
        table = np.column_stack([np.full(rows, float(epoch)), decode(tuple(space), points)])[:, order]
        inputs = {"x_cat": np.full((rows, 1), code, dtype=np.int32), "x_cont": table.astype(np.float32)}
        (output,) = session.run(None, inputs)
        return output[:, VAL_ACCURACY].astype(np.float64)

    return solve


def _code(encoding: str, task_id: str) -> int:
    """The number by which the model knows a task."""
    try:
        codes = dict(json.loads(Path(encoding).read_text(encoding="utf-8"))[TASK])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{encoding} holds no codes of '{TASK}' ({type(error).__name__}: {error}).") from error
    known = sorted((name for name in codes if name.isdigit()), key=int)
    if str(task_id) not in known:
        raise InputError(f"LCBench has no task '{task_id}'. It has: {', '.join(known)}.")
    return int(codes[str(task_id)])


def _session(model: str) -> Any:
    import onnxruntime  # here, and not where the parent process would load it too

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes have no common base
        raise InputError(f"{model} is no model in the ONNX format ({type(error).__name__}).") from error
    takes, gives = (
        sorted((node.name, node.type, *node.shape[1:]) for node in nodes)
        for nodes in (session.get_inputs(), session.get_outputs())
    )
    if takes != INPUTS:
        raise InputError(f"{model} is another version: it takes {_told(takes)}, not {_told(INPUTS)}.")
    if [what[1:] for what in gives] != [OUTPUT]:
        raise InputError(f"{model} is another version: it gives {_told(gives)}, not {_told([('output', *OUTPUT)])}.")
    return session


def _told(tensors: Sequence[Sequence[Any]]) -> str:
    return " and ".join(f"{name} ({', '.join(map(str, what))})" for name, *what in tensors)
