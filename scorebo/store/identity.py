"""What makes a run the run it is: a hash of the resolved nodes that decide its numbers, and of nothing else."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorebo.errors import InputError, check_integer
from scorebo.store.checksummed import canonical_json

IDENTITY_NODES = ("benchmark", "model", "mcmc", "acquisition", "acquisition_optimizer", "seed")


def run_id(config: Mapping[str, Any]) -> str:
    """SHA-256 (64 hexadecimal digits) of the canonical JSON of the identity nodes.

    Numbers count by their value: a float without a fraction is hashed as the integer it equals (`1.0` as `1`, `-0.0` as
    `0`), which is exact at any size, whereas a large seed would lose digits as a float. `true` is not `1`.
    """
    return hashlib.sha256(canonical_json(_by_value(identity_nodes(config))).encode()).hexdigest()


def run_ids(config: Mapping[str, Any], seeds: Sequence[int]) -> list[str]:
    """`run_id` for each seed of configurations that differ in nothing else; the rest is written as JSON once."""
    nodes = _by_value(identity_nodes({**config, "seed": 0}))
    # The seed comes last in canonical JSON, whose keys are sorted.
    head = canonical_json(nodes).removesuffix("0}").encode()
    begun = hashlib.sha256(head)
    ids = []
    for seed in seeds:
        whole = begun.copy()
        whole.update(f"{run_seed({'seed': seed})}}}".encode())
        ids.append(whole.hexdigest())
    return ids


def identity_nodes(config: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes that make the identity, in plain containers, interpolations resolved; `config` may be OmegaConf's."""
    missing = [node for node in IDENTITY_NODES if node not in config]
    if missing:
        raise InputError(f"The configuration has no {', '.join(missing)}; a run needs {', '.join(IDENTITY_NODES)}.")
    return {node: _plain(config[node], node) for node in IDENTITY_NODES}


def run_folder(results: Path | str, config: Mapping[str, Any]) -> Path:
    """`results/<benchmark>/<model>/<acquisition>/seed-<seed>-<first 12 digits of the id>`."""
    names = [node_name(config, node) for node in ("benchmark", "model", "acquisition")]
    return Path(results, *names, f"seed-{run_seed(config)}-{run_id(config)[:12]}")


def run_seed(config: Mapping[str, Any]) -> int:
    """The seed node as an integer (`1.0` is 1)."""
    return check_integer("seed", _by_value(config["seed"]), 0)


def node_name(config: Mapping[str, Any], node: str) -> str:
    """The `name` of a node, which becomes a folder's name."""
    content = config[node]
    name = content.get("name") if isinstance(content, Mapping) else None
    usable = isinstance(name, str) and name.isprintable() and not name.startswith(".") and "/" not in name
    if not usable or not 0 < len(str(name).encode()) <= 200 or name != str(name).strip():
        raise InputError(f"{node}.name must be a text that can be a folder's name, got {name!r}.")
    return str(name)


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} must be a finite number, got {value}.")
        return value
    if isinstance(value, str):
        if value == "???" or "${" in value:
            raise InputError(f"{where} is not resolved: '{value}'.")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"The keys of {where} must be text, got {key!r}.")
        return {key: _plain(value[key], f"{where}.{key}") for key in value}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InputError(f"{where} cannot be part of a run's identity: a {type(value).__name__}, {value!r}.")


def _by_value(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _by_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    return value
