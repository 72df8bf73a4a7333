"""Compositions for many runs: Hydra takes a tenth of a second for each, so what provably stays the same is kept."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from scorebo.config import LEAST, as_dict, check_required, config_file, explained, hydra_compose, resolve
from scorebo.errors import InputError, check_integer
from scorebo.scales import apply_scale

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

    def compose(self, overrides: Sequence[str], seeds: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The resolved, checked configuration for each seed (None: the configuration's own), in plain containers."""
        with explained(overrides, self.config_dir):
            check_required(overrides, self.config_dir)
            # The scale is applied after composing: one composition serves all.
            scale = [override.partition("=")[2] for override in overrides if override.startswith("scale=")]
            config = self._unresolved([override for override in overrides if not override.startswith("scale=")])
            if scale:
                config.scale = scale[-1]
            apply_scale(config, {override.lstrip("+").partition("=")[0] for override in overrides})
            seeds = [config.seed] if seeds is None else seeds
            if not _independent_of_seed(config):
                return [as_dict(resolve(OmegaConf.merge(config, {"seed": seed}))) for seed in seeds]  # type: ignore[arg-type]
            config.seed = seeds[0]
            plain = as_dict(resolve(config))
            return [{**copy.deepcopy(plain), "seed": check_integer("seed", seed, LEAST["seed"])} for seed in seeds]

    def experiment(self, name: str) -> DictConfig:
        """The experiment's own node: what it runs, at which scales."""
        # Any task and acquisition will do, since an experiment is composed over them.
        overrides = [f"experiment={name}", "benchmark=gramacy1", f"acquisition={REFERENCE}"]
        with explained(overrides, self.config_dir):
            node = self._kept(overrides).get("experiment")
        if not isinstance(node, DictConfig):
            raise InputError(f"The experiment config '{name}' has no node 'experiment'.")
        return node

    def _unresolved(self, overrides: Sequence[str]) -> DictConfig:
        """A copy of the composed configuration, interpolations and all.

        A file of an acquisition that has no defaults and no package of its own contributes the node `acquisition` and
        nothing else. If nothing else contributes to that node, which the reference's shows, it is the file's content.
        """
        chosen = [override for override in overrides if override.startswith("acquisition=")]
        own = self._plain_acquisition(chosen, overrides)
        if own is not None:
            base = self._kept([o if o not in chosen else f"acquisition={REFERENCE}" for o in overrides])
            if base.acquisition == OmegaConf.load(config_file("acquisition", REFERENCE)):
                config = copy.deepcopy(base)
                config.acquisition = own
                return config
        return copy.deepcopy(self._kept(overrides))

    def _plain_acquisition(self, chosen: list[str], overrides: Sequence[str]) -> DictConfig | None:
        """The content of the acquisition's file, if it is all there is to the choice of that acquisition."""
        if len(chosen) != 1 or any(override.lstrip("+~").startswith("acquisition.") for override in overrides):
            return None
        name = chosen[0].partition("=")[2].strip("'")
        path = config_file("acquisition", name, self.config_dir)
        content = OmegaConf.load(path)
        if "@package" in path.read_text(encoding="utf-8") or not isinstance(content, DictConfig):
            return None
        return content if content.keys() >= _OWN and "defaults" not in content else None

    def _kept(self, overrides: Sequence[str]) -> DictConfig:
        key = tuple(overrides)
        if key not in self._composed:
            self._composed[key] = hydra_compose(overrides, self.config_dir)
        return self._composed[key]


def _independent_of_seed(config: DictConfig) -> bool:
    """Whether no interpolation can depend on the seed: each is plain, and does not name it."""
    values = [OmegaConf.to_container(config, resolve=False)]
    for value in values:  # grows while it is read
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    interpolations = [value for value in values if isinstance(value, str) and "${" in value]
    return all(_PLAIN_INTERPOLATION.fullmatch(text) and "seed" not in text for text in interpolations)
