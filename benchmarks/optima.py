"""Optima of functions drawn at random: searched hard, and searched once.

The optima of the paper's seeds come with the package (`data/<task>_optima.json`, `scripts/maintenance/task_optima.py`);
others are kept in a cache folder, `$SCOREBO_CACHE` or else `~/.cache/scorebo`. A stored optimum is not taken on trust:
it names its point, and the function must have the stored value there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError
from scorebo.files import storage_errors, write_atomically
from scorebo.search.ascent import Array, ascend
from scorebo.search.starts import covering_points

logger = logging.getLogger(__name__)

DATA = Path(__file__).parent / "data"
RAW_POINTS = 2**17
STARTS = 1024  # half of them the best raw points, half the best of as many parts of the raw points
CLIMB = 128  # starts that climb together, and among which those left behind are given up
POLISHED = 16
# Between machines values differ by rounding alone, stored and computed ones by no more than this.
SAME = 1e-9


@dataclass(frozen=True)
class Optimum:
    """The maximum of a function over the unit box and where it is."""

    x: list[float]
    value: float


def maximize(frequencies: Tensor, phases: Tensor, weights: Tensor, seed: int = 0) -> Optimum:
    """Maximize Σ_i weights_i cos(frequencies_iᵀx + phases_i) over the unit box; about two seconds at D = 8, F = 2048.

    Args:
        frequencies: `D x F`.
        phases: `F`.
        weights: `F`.
        seed: of the raw points; the search should not depend on it, and the tests see that it does not.
    """
    raw = covering_points(len(frequencies), RAW_POINTS, seed)
    single = [tensor.float() for tensor in (phases, frequencies, weights)]  # only ranks the raw points
    values = torch.cat([torch.addmm(single[0], part, single[1]).cos_() @ single[2] for part in raw.float().split(512)])
    parts = values.view(STARTS // 2, -1).argmax(-1) + torch.arange(STARTS // 2) * (2 * RAW_POINTS // STARTS)
    chosen = torch.cat([values.topk(STARTS // 2).indices, parts]).unique()
    starts = raw[chosen[values[chosen].argsort(descending=True)]].numpy()

    def function(x: Array) -> tuple[Array, Array]:
        phase = torch.addmm(phases, torch.from_numpy(x), frequencies)
        return (phase.cos() @ weights).numpy(), -((phase.sin() * weights) @ frequencies.T).numpy()

    climbs = [
        ascend(function, starts[i : i + CLIMB], maxiter=200, first_step=0.05) for i in range(0, len(starts), CLIMB)
    ]
    reached, height = (np.concatenate(part) for part in zip(*climbs, strict=True))
    best = reached[np.argsort(-height)[:POLISHED]]
    polished = [_polish(torch.from_numpy(x), frequencies, phases, weights) for x in best]
    return max(polished, key=lambda optimum: optimum.value)


def _polish(x: Tensor, frequencies: Tensor, phases: Tensor, weights: Tensor) -> Optimum:
    """Newton steps in the coordinates that are free, as long as they rise: the value to the last digits."""
    value = float((x @ frequencies + phases).cos() @ weights)
    for _ in range(20):
        phase = x @ frequencies + phases
        gradient = -frequencies @ (weights * phase.sin())
        free = ~(((x <= 0) & (gradient < 0)) | ((x >= 1) & (gradient > 0)))
        if not free.any():
            break
        hessian = -(frequencies * (weights * phase.cos())) @ frequencies.T
        step = torch.zeros_like(x)
        step[free] = -torch.linalg.lstsq(hessian[free][:, free], gradient[free]).solution
        trial = (x + step).clamp(0.0, 1.0)
        higher = float((trial @ frequencies + phases).cos() @ weights)
        if not higher > value:
            break
        x, value = trial, higher
    return Optimum(x.tolist(), value)


def stored_optimum(
    definition: Mapping[str, Any], evaluate: Callable[[Tensor], Tensor], search: Callable[[], Optimum]
) -> Optimum:
    """The optimum of a function: the package's, the cache's, or the result of a search, which is then cached.

    Args:
        definition: all that determines the function, `name` and `seed` among it, as JSON can hold it.
        evaluate: the function, `n x D` -> `n`.
        search: finds the optimum.
    """
    key = hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]
    cached = cache_folder() / "optima" / f"{definition['name']}-{definition['seed']}-{key}.json"
    for found in (_from_table(definition), _read(cached)):
        if found is not None and (checked := _checked(found, evaluate)) is not None:
            return checked
    if cached.exists():
        logger.warning("%s does not hold this function's optimum; it is searched again.", cached)
    logger.info("Searching the optimum of %s, seed %s.", definition["name"], definition["seed"])
    optimum = search()
    value = float(evaluate(torch.tensor([optimum.x], dtype=torch.float64)))
    optimum = Optimum(optimum.x, value)
    try:
        with storage_errors(cached.parent):
            cached.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(cached, json.dumps({"x": optimum.x, "value": optimum.value, "of": dict(definition)}))
    except InputError as error:  # A run does not need the cache; the next one will search again.
        logger.warning("The optimum is not kept: %s", error)
    return optimum


def cache_folder() -> Path:
    """Where what is expensive to compute is kept between runs."""
    chosen = os.environ.get("SCOREBO_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "scorebo"


def _from_table(definition: Mapping[str, Any]) -> Any:
    """The entry of this definition among the package's optima."""
    table = _read(DATA / f"{definition['name']}_optima.json")
    same = table is not None and table["of"] == {key: value for key, value in definition.items() if key != "seed"}
    return table["optima"].get(str(definition["seed"])) if same else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _checked(found: Any, evaluate: Callable[[Tensor], Tensor]) -> Optimum | None:
    """What was stored, if the function has the stored value at the stored point."""
    try:
        x, value = [float(coordinate) for coordinate in found["x"]], float(found["value"])
        here = float(evaluate(torch.tensor([x], dtype=torch.float64)))
    except (KeyError, TypeError, ValueError):
        return None
    return Optimum(x, here) if abs(here - value) <= SAME * max(1.0, abs(value)) else None
