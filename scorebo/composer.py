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
        self._resolved: dict[tuple[str, ...], dict[str, Any] | None] = {}
        self._acquisitions: dict[str, dict[str, Any] | None] = {}

    def compose(self, overrides: Sequence[str], seeds: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The resolved, checked configuration for each seed (None: the configuration's own), in plain containers.

        A file of an acquisition that has no defaults and no package of its own contributes the node `acquisition` and
        nothing else. If nothing else contributes to that node, which the reference's shows, it is the file's content.
        """
        with explained(overrides, self.config_dir):
            check_required(overrides, self.config_dir)
            own = self._own_acquisition(overrides)
            if own is not None:
                base = self._plain([_reference(override) for override in overrides])
                if base is not None and base["acquisition"] == self._acquisition(REFERENCE):
                    return _with_seeds({**base, "acquisition": own}, seeds)
            plain = self._plain(overrides)
            if plain is not None:
                return _with_seeds(plain, seeds)
            config = self._scaled(overrides)
            seeds = [config.seed] if seeds is None else seeds
            return [as_dict(resolve(OmegaConf.merge(config, {"seed": seed}))) for seed in seeds]  # type: ignore[arg-type]

    def experiment(self, name: str) -> DictConfig:
        """The experiment's own node: what it runs, at which scales."""
        # Any task and acquisition will do, since an experiment is composed over them.
        overrides = [f"experiment={name}", "benchmark=gramacy1", f"acquisition={REFERENCE}"]
        with explained(overrides, self.config_dir):
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
            path = config_file("acquisition", name, self.config_dir)
            content = OmegaConf.to_container(OmegaConf.load(path))
            text = path.read_text(encoding="utf-8")
            plain = isinstance(content, dict) and content.keys() >= _OWN and "defaults" not in content
            alone = plain and "@package" not in text and "${" not in text and "???" not in text
            self._acquisitions[name] = content if alone else None  # type: ignore[assignment]
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
        apply_scale(config, {override.lstrip("+").partition("=")[0] for override in overrides})
        return config

    def _unscaled(self, overrides: Sequence[str]) -> DictConfig:
        key = tuple(overrides)
        if key not in self._composed:
            self._composed[key] = hydra_compose(overrides, self.config_dir)
        return self._composed[key]


def _reference(override: str) -> str:
    return f"acquisition={REFERENCE}" if override.startswith("acquisition=") else override


def _with_seeds(plain: dict[str, Any], seeds: Sequence[Any] | None) -> list[dict[str, Any]]:
    checked = [plain["seed"]] if seeds is None else [check_integer("seed", seed, LEAST["seed"]) for seed in seeds]
    return [{**copy.deepcopy(plain), "seed": seed} for seed in checked]


def _stands_alone(config: DictConfig) -> bool:
    """Whether no interpolation can depend on the seed or the acquisition: each is plain, and names neither."""
    values = [OmegaConf.to_container(config, resolve=False)]
    for value in values:  # grows while it is read
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    texts = [value for value in values if isinstance(value, str) and "${" in value]
    return all(_PLAIN_INTERPOLATION.fullmatch(t) and "seed" not in t and "acquisition" not in t for t in texts)
