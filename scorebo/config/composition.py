"""The configuration of one run, composed by Hydra and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from scorebo.config.choices import GROUPS, available, config_files, config_root, store_config
from scorebo.config.overrides import key_of, names_class, of_experiment, override_experiment, parse, replace_nodes
from scorebo.config.scale import apply_scale
from scorebo.config.schema import TOP_LEVEL, check_config
from scorebo.errors import InputError, check_choice
from scorebo.store.schema import NAMES


def compose(overrides: Sequence[str], config_dir: Path | None = None) -> DictConfig:
    """The resolved configuration of one run, checked.

    Args:
        overrides: as on the command line, in Hydra's grammar: `benchmark=gramacy1`, `mcmc.warmup=64`.
        config_dir: a folder with the user's own config groups, searched after the project's.
    """
    with explained():
        check_required(overrides, config_dir)
        config = hydra_compose(overrides, config_dir)
        apply_scale(config, set(map(key_of, overrides)))
        return resolve(config)


def check_required(overrides: Sequence[str], config_dir: Path | None) -> None:
    """See that a benchmark and an acquisition are given."""
    for group in ("benchmark", "acquisition"):
        if not any(override.lstrip("+").startswith(f"{group}=") for override in overrides):
            raise InputError(f"No {group} given: {group}=NAME with one of {', '.join(available(group, config_dir))}.")


def hydra_compose(overrides: Sequence[str], config_dir: Path | None) -> DictConfig:
    """What Hydra composes, with its interpolations; each group that is to be named is."""
    from hydra import compose

    parse(overrides)
    given = [_quote_choice(override) for override in overrides if not of_experiment(override)]
    _check_choices(given, config_dir)
    replaced = [override for override in given if names_class(override)]
    merged = [override for override in given if override not in replaced]
    search = [] if config_dir is None else [f"hydra.searchpath=['file://{config_dir.resolve()}']"]
    with initialized_hydra():
        config = compose("config", overrides=merged + search, return_hydra_config=True)
    config = without_hydra(config, config.hydra.runtime.choices)
    replace_nodes(config, replaced)
    override_experiment(config, overrides)
    return config


def without_hydra(config: DictConfig, choices: Mapping[str, str]) -> DictConfig:
    """The configuration itself without Hydra's own node, those nodes named that are to be, after the files chosen."""
    OmegaConf.set_struct(config, False)
    config.pop("hydra", None)
    for group in (*NAMES, "launcher"):
        if isinstance(config.get(group), DictConfig) and "name" not in config[group]:
            config[group].name = choices[group]
    return config


def resolve(config: DictConfig) -> DictConfig:
    """The configuration itself with its interpolations resolved, checked."""
    OmegaConf.resolve(config)
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise InputError(f"No value for {', '.join(missing)}: give one, e.g. {missing[0]}=VALUE.")
    check_config(config)
    return config


@contextmanager
def explained() -> Iterator[None]:
    """What Hydra, OmegaConf and YAML raise within, as an `InputError` of one sentence."""
    from hydra.errors import HydraException

    try:
        yield
    except InputError:
        raise
    except YAMLError as error:
        raise InputError(f"A config file is not valid YAML: {' '.join(str(error).split())}") from error
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        if isinstance(error.__cause__, ConfigAttributeError | ConfigKeyError):
            _refuse_setting(error.__cause__)
        told = str(error) or str(error.__cause__) or type(error).__name__
        raise InputError(told.splitlines()[0]) from error


def _refuse_setting(error: OmegaConfBaseException) -> None:
    """Say of a setting that does not exist which ones do at its place."""
    place = str(error.full_key).rpartition(".")[0]
    allowed = TOP_LEVEL if not place else [str(name) for name in error.parent_node or () if name != "_target_"]
    if not allowed:
        raise InputError(f"{place} is one value and has no settings of its own: give {place}=VALUE.")
    check_choice(f"setting in '{place or 'the configuration'}'", str(error.key), allowed)


def _check_choices(overrides: Sequence[str], config_dir: Path | None) -> None:
    for override in overrides:
        group, _, choice = override.lstrip("+").partition("=")
        if group in GROUPS and choice and (group, choice) != ("experiment", "null"):
            name = check_choice(group, choice.strip("'"), available(group, config_dir))
            if name not in config_files(group, config_dir):
                store_config(group, name)


def _quote_choice(override: str) -> str:
    """`model=true` with its choice quoted: Hydra's grammar reads the bare word as a truth value."""
    group, equals, choice = override.partition("=")
    return f"{group}='{choice}'" if equals and group in GROUPS and choice in ("true", "false") else override


@contextmanager
def initialized_hydra() -> Iterator[None]:
    """Hydra on the project's configs, whatever Hydra state the caller has; it is given back afterwards."""
    from hydra import initialize_config_dir, version
    from hydra.core.global_hydra import GlobalHydra
    from packaging.version import Version

    caller, base = GlobalHydra.instance().hydra, version.getbase()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(config_root()), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = caller
        if isinstance(base, Version):  # unless the caller never set one
            # Not `version.setbase`, which warns of a base that Hydra's parser sets by itself where none is set.
            version.VersionBase.instance().setbase(base)


def as_dict(node: DictConfig | ListConfig) -> Any:
    """Plain containers of a resolved node."""
    return OmegaConf.to_container(node, resolve=True)
