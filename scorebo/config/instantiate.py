"""Objects of config nodes, made by `_target_`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from scorebo.config.choices import available
from scorebo.config.composition import as_dict, compose, initialized_hydra
from scorebo.errors import InputError, check_choice
from scorebo.store.identity import passed

if TYPE_CHECKING:
    from scorebo.benchmarks.base import Benchmark
    from scorebo.gp import Surrogate

_PLAIN = (bool, int, float, str, list, tuple, dict, type(None))


def load_model(model: str | Mapping[str, Any], **overrides: Any) -> Surrogate:
    """The surrogate of a model config, by name or as a config node."""
    from scorebo.gp import Surrogate

    node = _model_node(model) if isinstance(model, str) else model
    return instantiate("model", node, overrides, expected=Surrogate)


@lru_cache
def _model_node(name: str) -> DictConfig:
    from hydra import compose as hydra_compose

    check_choice("model", name, available("model"))
    with initialized_hydra():
        return hydra_compose(f"model/{name}").model


def load_benchmark(name: str, **overrides: Any) -> Benchmark:
    """The task of a benchmark config, e.g. `load_benchmark("gramacy1", noise_std=0.2)`."""
    from scorebo.benchmarks.base import Benchmark

    check_choice("benchmark", name, available("benchmark"))
    node = compose([f"benchmark={name}", "acquisition=random"]).benchmark
    return instantiate("benchmark", node, overrides, expected=Benchmark)


def instantiate(
    what: str, node: Mapping[str, Any], overrides: Mapping[str, Any] | None = None, *, expected: type = object
) -> Any:
    """The object a config node describes by `_target_`, with a message of one sentence when it cannot be made.

    Args:
        what: the node's group, for messages.
        node: `_target_` and the settings of the class.
        overrides: settings that differ from the node's.
        expected: the class the object must belong to.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate as hydra_instantiate

    settings: dict[str, Any] = passed(as_dict(node) if isinstance(node, DictConfig) else node)
    if "_target_" not in settings:
        raise InputError(f"The {what} config '{settings.get('name')}' names no class: _target_ is missing.")
    where = f"{what} '{settings.get('name')}'"
    overrides = overrides or {}
    unknown = set(overrides) - set(settings)
    # Objects (a kernel, a prior) go straight to the class: Hydra would take them apart as structured configs.
    objects = {key: value for key, value in overrides.items() if not isinstance(value, _PLAIN)}
    settings = {key: value for key, value in (settings | dict(overrides)).items() if key not in objects}
    missing = [key for key, value in settings.items() if isinstance(value, str) and value == "???"]
    if missing:
        raise InputError(f"{where} needs a value for {', '.join(missing)}.")
    try:
        made = hydra_instantiate(settings, _partial_=True, _convert_="all")(**objects)
    except (InstantiationException, TypeError) as error:
        cause = error if isinstance(error, TypeError) else error.__cause__
        if isinstance(cause, InputError):
            raise cause from error
        if unknown and isinstance(cause, TypeError):
            check_choice(f"setting of {where}", min(unknown), set(settings) - unknown - {"_target_"})
        reason = str(error).splitlines()[0] if cause is None else f"{type(cause).__name__}: {cause}"
        raise InputError(f"{where} ({settings['_target_']}) cannot be made: {reason}") from error
    if not isinstance(made, expected):
        name = f"{expected.__module__}.{expected.__name__}"
        raise InputError(f"{where} ({settings['_target_']}) is not a {name}.")
    return made
