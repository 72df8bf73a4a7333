"""What hyperparameters ought to be: those a function was drawn with, or those of a fit to many noiseless points."""

from __future__ import annotations

import functools
import json
import math
from importlib import resources

from omegaconf import OmegaConf

from scorebo.config import config_file
from scorebo.report.claims.base import MissingRunsError

REFERENCE_FILE = "reference_hyperparameters.json"


def drawn_with(task: str) -> dict[str, float]:
    """log10 of the hyperparameters of a GP sample, from its config."""
    node = OmegaConf.load(config_file("benchmark", task, None)).benchmark
    values = {f"lengthscale_{k}": float(value) for k, value in enumerate(node.lengthscale, start=1)}
    values |= {"outputscale": float(node.outputscale), "noise": float(node.noise_std) ** 2}
    return {name: math.log10(value) for name, value in values.items()}


def fitted(task: str, model: str) -> dict[str, float]:
    """log10 of the reference hyperparameters of a task (`scripts/maintenance/reference_hyperparameters.py`)."""
    return _of_task(task, model)["mean"]


def spread(task: str, model: str) -> dict[str, float]:
    """Standard deviation of `fitted` from one random design to another; `fitted` is the mean over several."""
    return _of_task(task, model)["standard_deviation"]


def _of_task(task: str, model: str) -> dict[str, dict[str, float]]:
    stored = _stored()
    if f"{task} {model}" not in stored:
        raise MissingRunsError(f"no reference hyperparameters of {task} under {model}")
    return stored[f"{task} {model}"]


@functools.cache
def _stored() -> dict[str, dict[str, dict[str, float]]]:
    file = resources.files("scorebo.report.claims").joinpath(REFERENCE_FILE)
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
