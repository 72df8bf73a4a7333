"""Launchers of installed packages: entry points of the group `scorebo.launchers`, in place of a YAML file."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from omegaconf import OmegaConf

from scorebo.errors import InputError


def installed(group: str) -> dict[str, metadata.EntryPoint]:
    """The entry points that add to a config group, by name."""
    points = metadata.entry_points(group="scorebo.launchers") if group == "launcher" else ()
    return {point.name: point for point in points}


def store_config(group: str, name: str) -> None:
    """Give Hydra the config of an entry point: the `_target_` and the defaults of the fields of its dataclass."""
    from hydra.core.config_store import ConfigStore

    point = installed(group)[name]
    try:
        settings: Any = OmegaConf.to_container(OmegaConf.structured(point.load()))
    except (ImportError, AttributeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{group} '{name}' ({point.value}) cannot be loaded: {reason}") from error
    ConfigStore.instance().store(name, {"_target_": point.value.replace(":", "."), **settings}, group=group)
