"""Compositions for many runs: Hydra takes a tenth of a second for each, so what provably stays the same is kept."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from scorebo.config.choices import config_file
from scorebo.config.composition import as_dict, check_required, explained, hydra_compose, resolve
from scorebo.config.overrides import key_of, of_experiment, override_experiment
from scorebo.config.scale import apply_scale
from scorebo.config.schema import check_node, check_seed
from scorebo.errors import InputError
from scorebo.store.identity import run_id, run_ids

# Of the reference acquisition, and what a file must say for itself to take its place.
REFERENCE = "random"
_OWN = {"name", "_target_"}
# One path, or a function of OmegaConf's own of one: not composed of others, and no resolver that could look elsewhere.
_PLAIN_INTERPOLATION = re.compile(r"\$\{(oc\.\w+:)?[^${}]*\}")


class Composer:
    """As `compose`, for the configurations of one sweep; files that change meanwhile are not read again."""

    def __init__(self, config_dir: Path | None = None) -> None:
        self.config_dir = config_dir
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._resolved: dict[tuple[str, ...], dict[str, Any] | None] = {}
        self._acquisitions: dict[str, dict[str, Any] | None] = {}
        self._experiments: dict[str, DictConfig | None] = {}

    def compose(self, overrides: Sequence[str], seeds: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The resolved, checked configuration for each seed (None: the configuration's own), in plain containers.

        A file of an acquisition that has no defaults and no package of its own contributes the node `acquisition` and
        nothing else. If nothing else contributes to that node, which the reference's shows, it is the file's content.
        """
        with explained():
            same = self._same_for_all_seeds(overrides)
            config = self._scaled(overrides) if same is None else same
            seeds = [config["seed"]] if seeds is None else seeds
            if same is not None:
                return [{**copy.deepcopy(same), "seed": check_seed("seed", seed)} for seed in seeds]
            return [as_dict(resolve(OmegaConf.merge(config, {"seed": seed}))) for seed in seeds]  # type: ignore[arg-type]

    def run_ids(self, overrides: Sequence[str], seeds: Sequence[Any] | None = None) -> list[str]:
        """The ids of the runs that `compose` gives, without a configuration for each."""
        with explained():
            same = self._same_for_all_seeds(overrides)
        if same is not None and seeds is not None:
            return run_ids(same, [check_seed("seed", seed) for seed in seeds])
        return [run_id(config) for config in self.compose(overrides, seeds)]

    def _same_for_all_seeds(self, overrides: Sequence[str]) -> dict[str, Any] | None:
        """The resolved configuration, if nothing in it but the seed depends on the seed; not to be changed."""
        check_required(overrides, self.config_dir)
        own = self._own_acquisition(overrides)
        if own is not None:
            reference = f"acquisition={REFERENCE}"
            base = self._plain([reference if o.startswith("acquisition=") else o for o in overrides])
            if base is not None and base["acquisition"] == self._acquisition(REFERENCE):
                return {**base, "acquisition": own}
        return self._plain(overrides)

    def experiment(self, name: str, given: Sequence[str] = ()) -> DictConfig:
        """The experiment's own node: what it runs, at which scales, as `given` by `experiment.NAME=VALUE`."""
        own = self._own_experiment(name)
        if own is not None and not given:
            return own
        # Any task and acquisition will do, since an experiment is composed over them.
        overrides = [f"experiment={name}", "benchmark=gramacy1", f"acquisition={REFERENCE}", *given]
        with explained():
            node = self._unscaled(overrides).get("experiment")
        if not isinstance(node, DictConfig):
            raise InputError(f"The experiment config '{name}' has no node 'experiment'.")
        return node

    def _own_acquisition(self, overrides: Sequence[str]) -> dict[str, Any] | None:
        """The content of the acquisition's file, if it is all there is to the choice of that acquisition."""
        chosen = [override for override in overrides if override.startswith("acquisition=")]
        if len(chosen) != 1 or any(override.lstrip("+~").startswith("acquisition.") for override in overrides):
            return None
        return self._acquisition(chosen[0].partition("=")[2].strip("'"))

    def _acquisition(self, name: str) -> dict[str, Any] | None:
        if name not in self._acquisitions:
            package, content = _load(config_file("acquisition", name, self.config_dir))
            check_node("acquisition", content)
            alone = package is None and content.keys() >= _OWN and "defaults" not in content
            alone = alone and not _interpolations(content) and not OmegaConf.missing_keys(content)
            self._acquisitions[name] = as_dict(content) if alone else None
        return self._acquisitions[name]

    def _plain(self, overrides: Sequence[str]) -> dict[str, Any] | None:
        """The resolved configuration for its own seed; None if more may change with seed or acquisition than these."""
        key = tuple(overrides)
        if key not in self._resolved:
            config = self._scaled(overrides)
            self._resolved[key] = as_dict(resolve(config)) if _stands_alone(config) else None
        return self._resolved[key]

    def _scaled(self, overrides: Sequence[str]) -> DictConfig:
        # The scale is applied after composing: one composition serves all.
        scale = [override.partition("=")[2] for override in overrides if override.startswith("scale=")]
        config = copy.deepcopy(self._unscaled([o for o in overrides if not o.startswith("scale=")]))
        if scale:
            config.scale = scale[-1]
        apply_scale(config, set(map(key_of, overrides)))
        return config

    def _unscaled(self, overrides: Sequence[str]) -> DictConfig:
        key = tuple(overrides)
        if key in self._composed:
            return self._composed[key]
        chosen = [override for override in overrides if override.startswith("experiment=")]
        own = self._own_experiment(chosen[0].partition("=")[2].strip("'")) if len(chosen) == 1 else None
        if own is not None:
            others = [override for override in overrides if override not in chosen and not of_experiment(override)]
            config = copy.deepcopy(self._unscaled(others))
            config.experiment = own
            override_experiment(config, overrides)
        else:
            config = hydra_compose(overrides, self.config_dir)
        self._composed[key] = config
        return config

    def _own_experiment(self, name: str) -> DictConfig | None:
        """The node of an experiment whose files contribute that node and nothing else; None for any other."""
        if name not in self._experiments:
            self._experiments[name] = _node_of_experiment(config_file("experiment", name, self.config_dir))
        return self._experiments[name]


def _node_of_experiment(path: Path) -> DictConfig | None:
    """What a file says of its experiment over what the files of its scales say, which lie beside it."""
    package, content = _load(path)
    if package != "_global_" or not isinstance(content.get("experiment"), DictConfig) or _interpolations(content):
        return None
    scales = [path.parent / f"{name}.yaml" for name in content.get("defaults", [])]
    if not content.keys() <= {"defaults", "experiment"} or not all(file.is_file() for file in scales):
        return None
    loaded = [_load(file) for file in scales]
    if any(where != "experiment.scales" or "defaults" in node or _interpolations(node) for where, node in loaded):
        return None
    below = [OmegaConf.create({"scales": node}) for _, node in loaded]
    return OmegaConf.merge(*below, content.experiment)  # type: ignore[return-value]


def _load(path: Path) -> tuple[str | None, DictConfig]:
    """The package that a config file names in its header, as Hydra reads it, and its content."""
    from hydra.core.plugins import Plugins
    from hydra.plugins.config_source import ConfigSource

    sources: list[Any] = Plugins.instance().discover(ConfigSource)
    files = next(source for source in sources if source.scheme() == "file")
    found = files("scorebo", f"file://{path.parent.resolve()}").load_config(path.name)
    return found.header["package"], found.config


def _stands_alone(config: DictConfig) -> bool:
    """Whether no interpolation can depend on the seed or the acquisition: each is plain, and names neither."""
    texts = _interpolations(config)
    return all(_PLAIN_INTERPOLATION.fullmatch(t) and "seed" not in t and "acquisition" not in t for t in texts)


def _interpolations(config: DictConfig) -> list[str]:
    """The values of a node that refer to others, at any depth."""
    values = [OmegaConf.to_container(config, resolve=False)]
    for value in values:  # grows while it is read
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value for value in values if isinstance(value, str) and "${" in value]
