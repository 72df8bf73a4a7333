"""The configuration of a run, typed once: its settings, and the values that are allowed for each.

Checks, messages and completion follow from the types. The settings of a benchmark, a model or an acquisition are those
of its class, which checks them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType
from typing import Annotated, Any, TypedDict, get_args, get_type_hints, is_typeddict

from scorebo.errors import InputError, check_choice, check_integer, check_number
from scorebo.inference.samplers import check_settings

Check = Callable[[str, Any], Any]
ON_FAILURE = ("stop", "avoid")
# How the name of a benchmark, a model or an acquisition is shown; stored, but not in the identity. `unit` is that of a
# task's values, e.g. accuracy; the others are those of a method's line.
DISPLAY = ("label", "unit", "color", "marker", "linestyle")
LINESTYLES = ("-", "--", "-.", ":")


def check_node(name: str, node: Any) -> None:
    """Refuse what is no node of settings, or has a display that figures could not be drawn with."""
    if not isinstance(node, Mapping):
        raise InputError(f"{name} must be a node of settings, got {node!r}.")
    check_display(name, node.get("display", {}))


def check_display(node: str, display: Any) -> None:
    """Refuse a display that figures could not be drawn with."""
    if not isinstance(display, Mapping):
        raise InputError(f"{node}.display must be a node of settings ({', '.join(DISPLAY)}), got {display!r}.")
    for key, value in display.items():
        check_choice(f"setting in '{node}.display'", str(key), DISPLAY)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{node}.display.{key} must be a text, got {value!r}.")
    if not re.fullmatch("#[0-9a-fA-F]{6}", display.get("color", "#000000")):
        raise InputError(f"{node}.display.color must be a color such as '#0072B2', got {display['color']!r}.")
    check_choice(f"{node}.display.linestyle", display.get("linestyle", "-"), LINESTYLES)


def check_folder(name: str, value: Any) -> None:
    """Refuse what is no path."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be the path of a folder, got {value!r}.")


check_seed: Check = partial(check_integer, minimum=0)
count: Check = partial(check_integer, minimum=1)


class Optima(TypedDict, total=False):
    """The settings of the node `mcmc` that are not the sampler's: how optima are drawn; None takes the defaults."""

    num_optima: Annotated[int | None, count]
    num_features: Annotated[int | None, count]
    version: Annotated[int | None, count]


class Mcmc(Optima, total=False):
    """What every node `mcmc` has; `sampler` and what else is there are checked by the sampler's class."""

    warmup: Annotated[int, count]
    thinning: Annotated[int, count]
    num_mcmc_samples: Annotated[int, count]


def check_mcmc(name: str, node: Any) -> None:
    """Check the settings of `mcmc`, those of the sampler by its class."""
    check_node(name, node)
    _check({key: value for key, value in node.items() if key in get_type_hints(Mcmc)}, Mcmc, name)
    check_settings(**sampler_settings(node))


class AcquisitionOptimizer(TypedDict, total=False):
    """How an acquisition is maximized."""

    raw_samples: Annotated[int, count]
    num_restarts: Annotated[int, count]
    maxiter: Annotated[int, count]
    sample_around_best_sigma: Annotated[float, partial(check_number, minimum=0.0)]
    version: Annotated[int | None, count]


class RunConfig(TypedDict, total=False):
    """One run, and how it is carried out; of a stored run the nodes of its identity."""

    benchmark: Annotated[dict[str, Any], check_node]
    model: Annotated[dict[str, Any], check_node]
    mcmc: Annotated[dict[str, Any], check_mcmc]
    acquisition: Annotated[dict[str, Any], check_node]
    experiment: dict[str, Any] | None
    acquisition_optimizer: AcquisitionOptimizer
    seed: Annotated[int, check_seed]
    scale: str
    results: Annotated[str, check_folder]
    threads: Annotated[int, count]
    metrics_every: Annotated[int, count]
    on_failure: Annotated[str, partial(check_choice, allowed=ON_FAILURE)]
    launcher: Annotated[dict[str, Any], check_node]
    workers: Annotated[int | None, count]


TOP_LEVEL = tuple(get_type_hints(RunConfig))


def check_config(config: Mapping[str, Any]) -> None:
    """Check what no class checks before a run starts; every setting a run needs is there."""
    _check(config, RunConfig)


def sampler_settings(mcmc: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an mcmc node that concern the sampler, as `fit_gp` takes them; the others concern optima."""
    return {str(name): value for name, value in mcmc.items() if name not in get_type_hints(Optima)}


def _check(node: Mapping[str, Any], kind: Any, where: str = "") -> None:
    """Check the names and the values of a node's settings; one whose type allows None may be missing."""
    types = get_type_hints(kind, include_extras=True)
    for name in node:
        check_choice(f"setting in '{where or 'the configuration'}'", name, types)
    for name, hint in types.items():
        path, value = f"{where}.{name}" if where else name, node.get(name)
        if is_typeddict(hint):
            check_node(path, value)
            _check(value, hint, path)  # type: ignore[arg-type]
        elif value is not None or NoneType not in get_args(get_args(hint)[0]):
            for check in getattr(hint, "__metadata__", ()):
                check(path, value)
