"""How large an experiment is run: `scale=smoke` takes minutes, `small` hours on two cores, `paper` is the paper's."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from scorebo.errors import InputError, check_choice, check_integer

SCALES = ("smoke", "small", "paper")
# What an experiment's node, and each of its scales, may say. A union names its `experiments` and nothing else;
# `paper_core_hours` are what the paper spent on each task.
EXPERIMENT_SETTINGS = (
    *("name", "figures", "scales", "experiments", "paper_core_hours"),
    *("benchmarks", "models", "acquisitions", "seeds", "total", "settings"),
    "shown_acquisitions",  # not run by it, but shown beside the others where there are runs
)


def at_scale(experiment: Mapping[str, Any], scale: str) -> dict[str, Any]:
    """An experiment's node in plain containers, with what it says of the scale in place of what it says of all.

    An experiment that does not distinguish scales is the same at each.
    """
    check_choice("scale", scale, SCALES)
    node = OmegaConf.to_container(experiment) if isinstance(experiment, DictConfig) else experiment
    own: dict[str, Any] = dict(node)  # type: ignore[arg-type]
    scales = own.pop("scales", None)
    if scales:
        if scale not in scales:
            raise InputError(f"experiment={own.get('name')} has no scale '{scale}'. It has: {', '.join(scales)}.")
        own |= {**scales[scale], "settings": {**own.get("settings", {}), **scales[scale].get("settings", {})}}
    for name in own:
        check_choice(f"setting of experiment '{own.get('name')}'", name, EXPERIMENT_SETTINGS)
    return own


def apply_scale(config: DictConfig, given: Collection[str]) -> None:
    """Put the settings that the experiment has at the configuration's scale in it, but for those `given` by hand.

    Done after all groups are composed: only then is it known which task's budget is to be reduced.
    """
    if not isinstance(config.get("experiment"), DictConfig):
        check_choice("scale", config.get("scale"), SCALES)
        return
    experiment = at_scale(config.experiment, config.get("scale"))
    if experiment.get("experiments"):
        raise InputError(
            f"experiment={experiment.get('name')} is a union of experiments, for sweeps alone: name one of them, e.g. "
            f"experiment={experiment['experiments'][0]}."
        )
    settings = dict(experiment.get("settings", {}))
    total = _total(experiment, config.benchmark)
    if total is not None:
        settings["benchmark.total"] = total
    for name, value in settings.items():
        if OmegaConf.select(config, name, default=config) is config:
            raise InputError(f"experiment '{experiment.get('name')}' sets {name}, which no setting has as its name.")
        if name not in given:
            OmegaConf.update(config, name, value)


def _total(experiment: Mapping[str, Any], benchmark: DictConfig) -> int | None:
    """The number of evaluations an experiment wants of a task: a part of the task's own, or given for the task."""
    where = f"total of experiment '{experiment.get('name')}'"
    total = experiment.get("total")
    if isinstance(total, Mapping):
        total = total.get(benchmark.get("name"))
    if total is None:
        return None
    if isinstance(total, float) and 0.0 < total <= 1.0:
        # At least one model that has seen a query, so that there is something to look at.
        own = {name: check_integer(f"benchmark.{name}", benchmark.get(name), 1) for name in ("initial", "total")}
        return max(own["initial"] + 2, math.ceil(total * own["total"]))
    return check_integer(f"{where} (or a fraction up to 1)", total, 2)
