"""Settings as they are given on the command line: what they change in an experiment, and which would have no effect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from scorebo.config.scale import EXPERIMENT_SETTINGS, SCALES
from scorebo.errors import InputError, check_choice

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# What an experiment says of each of its runs. All else that it says chooses them.
OF_EACH_RUN = ("total", "settings")
NAMES = ("benchmarks", "models", "acquisitions")


def key_of(override: str) -> str:
    """The name of the setting: `mcmc.warmup` of `++mcmc.warmup=64`."""
    return override.lstrip("+~").partition("=")[0]


def of_experiment(override: str) -> bool:
    """Whether the setting is one of the experiment's own, `experiment.NAME`."""
    return key_of(override).startswith("experiment.")


def parse(overrides: Sequence[str]) -> list[Override]:
    """The overrides as Hydra reads them."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import OverrideParseException

    try:
        return OverridesParser.create().parse_overrides(list(overrides))
    except OverrideParseException as error:
        raise InputError(
            f"Cannot read '{error.override}': a setting is given as NAME=VALUE, e.g. seed=2 or mcmc.warmup=64; in a "
            "sweep several values as NAME=A,B or NAME=range(1,26)."
        ) from error


def names_class(override: str) -> bool:
    """Whether the value is a node of another class, `model.noise={_target_: …}`: it replaces the node that is there.

    Hydra would merge both and keep the settings of the former class.
    """
    return re.fullmatch(r"\w+\.[\w.]+=\{.*\b_target_\b.*\}", override) is not None


def replace_nodes(config: DictConfig, overrides: Sequence[str]) -> None:
    """Put every value that names a class in the place of the former one."""
    for override in parse(overrides):
        path, _, name = override.key_or_group.rpartition(".")
        node = OmegaConf.select(config, path)
        check_choice(f"setting in '{path}'", name, [key for key in node or () if key != "_target_"])
        node[name] = override.value()


def override_experiment(config: DictConfig, overrides: Sequence[str]) -> None:
    """Put every `experiment.NAME=VALUE` in the experiment's node and take NAME out of its scales, so that it wins."""
    given = [override for override in overrides if of_experiment(override)]
    if not given:
        return
    if not isinstance(config.get("experiment"), DictConfig):
        raise InputError(f"{given[0]} changes an experiment, but none is given: add experiment=NAME.")
    node: dict[str, Any] = OmegaConf.to_container(config.experiment)  # type: ignore[assignment]
    for override in parse(given):
        if override.is_delete():
            raise InputError(f"{override.input_line}: a setting of an experiment is changed by experiment.NAME=VALUE.")
        _put(node, override.key_or_group.partition(".")[2], override.value())
    config.experiment = node


def _put(node: dict[str, Any], path: str, value: Any) -> None:
    name, _, below = path.partition(".")
    check_choice(f"setting of experiment '{node.get('name')}'", name, EXPERIMENT_SETTINGS)
    scales: dict[str, Any] = node.get("scales") or {}
    if name == "scales" and below:
        scale, _, inner = below.partition(".")
        check_choice("scale", scale, SCALES)
        own = dict(scales.get(scale) or {})
        if inner:
            _put(own, inner, value)
        node["scales"] = {**scales, scale: own if inner else value}
    elif name == "settings" and below:
        node[name] = {**(node.get(name) or {}), below: value}
        for scale in scales.values():
            (scale.get(name) or {}).pop(below, None)
    elif below:
        raise InputError(f"experiment.{path}: give the whole of it, experiment.{name}=VALUE.")
    else:
        node[name] = _names(name, value) if name in NAMES else value
        for scale in scales.values():
            scale.pop(name, None)


def _names(what: str, value: Any) -> list[str]:
    """A list of config names; one name is a list of one, and `true` is the name of a model."""
    given = value if isinstance(value, list) else [value]
    names = [str(name).lower() if isinstance(name, bool) else name for name in given]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"experiment.{what} must be a list of names, e.g. 'experiment.{what}=[A,B]', got {value!r}.")
    return names


def check_effect(overrides: Sequence[str], configs: Sequence[Mapping[str, Any]], *, sweep: bool) -> None:
    """Refuse settings that have no effect on the runs that were composed with them.

    Args:
        overrides: as given on the command line.
        configs: the resolved configurations of the runs.
        sweep: whether they are the runs of a sweep; otherwise there is one.
    """
    for override in overrides:
        if key_of(override).startswith(("hydra.", "hydra/")):
            raise InputError(f"Only Hydra's own multirun reads {key_of(override)}: `scorebo run -m {override} …`.")
    if not sweep:
        check_one_run(overrides)
        check_once(overrides)
    check_scale(overrides, configs)
    scales = {config["scale"] for config in configs}
    for override in overrides:
        head, scale, *_ = [*key_of(override).split(".")[1:], "", ""]
        if of_experiment(override) and head == "scales" and scale and scale not in scales:
            raise InputError(f"{override} has no effect at scale={','.join(sorted(scales))}: add scale={scale}.")


def check_one_run(overrides: Sequence[str]) -> None:
    """Refuse settings that concern many runs."""
    for override in overrides:
        key = key_of(override)
        if key.partition(".")[0] in ("launcher", "workers"):
            raise InputError(f"{override} says where a sweep is run: use `scorebo sweep`, or leave it out.")
        parts = key.split(".")[1:]
        if of_experiment(override) and not {*parts[:1], *parts[2:3]} & set(OF_EACH_RUN):
            raise InputError(
                f"{override} chooses the runs of a sweep: use `scorebo sweep`, or leave it out and choose one run by "
                "benchmark, model, acquisition and seed."
            )


def check_once(overrides: Sequence[str]) -> None:
    """Refuse a setting that is given twice: one of its values would be ignored."""
    for key, times in Counter(map(key_of, overrides)).items():
        if times > 1:
            raise InputError(f"'{key}' is given twice: leave one of them out.")


def check_scale(overrides: Sequence[str], configs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a reduced scale if there is no experiment, or none that distinguishes scales."""
    given = [o for o in overrides if key_of(o) == "scale" and o.partition("=")[2] != SCALES[-1]]
    experiments = [config["experiment"] for config in configs if config.get("experiment")]
    if given and not experiments:
        raise InputError(f"{given[0]} is the size of an experiment, but none is given: add experiment=NAME.")
    if given and not any(experiment.get("scales") for experiment in experiments):
        raise InputError(f"experiment={experiments[0].get('name')} has no scales: leave out {given[0]}.")
