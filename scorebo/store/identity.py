"""The identity of a run: a hash of the resolved nodes that decide its numbers, and of nothing else.

Not hashed are a node's `display`, which says how its name is shown, and settings at their neutral value. A node's
`version` is hashed unless it is 1, which is what it is where it is absent; it is raised when the numbers that the node
leads to change, so that old and new runs are never mixed.

`config.yaml` of a run holds these nodes and how they are displayed; OmegaConf and YAML read it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorebo.errors import InputError, check_integer
from scorebo.files import storage_errors
from scorebo.store.checksummed import canonical_json

IDENTITY_NODES = ("benchmark", "model", "mcmc", "acquisition", "acquisition_optimizer", "seed")
# By class, or by node where there is none, the value of a setting at which a run is what it was before there was such a
# setting ("run": whole nodes). A new setting enters here with the value that changes nothing, and no id changes.
NEUTRAL: dict[str, dict[str, Any]] = {
    "run": {},
    "scorebo.gp.Surrogate": {
        "estimate": "posterior",
        "standardize": True,
        "yeo_johnson": False,
        "concentration": None,
        "partitions": None,
    },
    "scorebo.acquisition.SAL": {"marginal_variance": "mixture", "observation_noise": True},
}


def run_id(config: Mapping[str, Any]) -> str:
    """SHA-256 (64 hexadecimal digits) of the canonical JSON of the identity nodes.

    Numbers count by their value: a float without a fraction is hashed as the integer it equals (`1.0` as `1`, `-0.0` as
    `0`), which is exact at any size, whereas a large seed would lose digits as a float. `true` is not `1`.
    """
    return hashlib.sha256(canonical_json(identity_nodes(config)).encode()).hexdigest()


def run_ids(config: Mapping[str, Any], seeds: Sequence[int]) -> list[str]:
    """`run_id` for each seed of configurations that differ in nothing else; the rest is written as JSON once."""
    nodes = identity_nodes({**config, "seed": 0})
    # The seed comes last in canonical JSON, whose keys are sorted.
    head = canonical_json(nodes).removesuffix("0}").encode()
    begun = hashlib.sha256(head)
    ids = []
    for seed in seeds:
        whole = begun.copy()
        whole.update(f"{run_seed({'seed': seed})}}}".encode())
        ids.append(whole.hexdigest())
    return ids


def stored_nodes(config: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes that are stored with a run, in plain containers, resolved; `config` may be OmegaConf's."""
    missing = [node for node in IDENTITY_NODES if node not in config]
    if missing:
        raise InputError(f"The configuration has no {', '.join(missing)}; a run needs {', '.join(IDENTITY_NODES)}.")
    nodes = (*IDENTITY_NODES, *NEUTRAL["run"])
    return {node: _plain(config[node], node) for node in nodes if node in config}


def identity_nodes(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is hashed: the stored nodes without `display` and without what is neutral, numbers by their value."""
    nodes = {
        name: {key: value for key, value in node.items() if key != "display"} if isinstance(node, dict) else node
        for name, node in stored_nodes(config).items()
    }
    return _hashed(nodes, "run")


def passed(node: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a node without what is not passed to its class."""
    return {key: value for key, value in node.items() if key not in ("display", "version")}


def run_folder(results: Path | str, config: Mapping[str, Any]) -> Path:
    """`results/<benchmark>/<model>/<acquisition>/seed-<seed>-<first 12 digits of the id>`."""
    names = [node_name(config, node) for node in ("benchmark", "model", "acquisition")]
    return Path(results, *names, f"seed-{run_seed(config)}-{run_id(config)[:12]}")


def run_seed(config: Mapping[str, Any]) -> int:
    """The seed node as an integer (`1.0` is 1)."""
    return check_integer("seed", _hashed(config["seed"], "seed"), 0)


def node_name(config: Mapping[str, Any], node: str) -> str:
    """The `name` of a node, which becomes a folder's name."""
    content = config[node]
    name = content.get("name") if isinstance(content, Mapping) else None
    usable = isinstance(name, str) and name.isprintable() and not name.startswith(".") and "/" not in name
    if not usable or not 0 < len(str(name).encode()) <= 200 or name != str(name).strip():
        raise InputError(f"{node}.name must be a text that can be a folder's name, got {name!r}.")
    return str(name)


def config_text(nodes: dict[str, Any]) -> str:
    """The YAML of the stored nodes, checked to read back as the same run."""
    from omegaconf import OmegaConf

    # OmegaConf quotes whatever it, or YAML itself, would otherwise read as something else than text.
    body = OmegaConf.to_yaml(OmegaConf.create(nodes))
    text = f"# Run {run_id(nodes)}: its configuration. Do not edit it: the run would be refused.\n{body}"
    if run_id(_parsed(text)) != run_id(nodes):
        raise InputError("The configuration does not survive being written as YAML; simplify its texts.")
    return text


def read_config(path: Path) -> dict[str, Any]:
    """The nodes in a run's `config.yaml`."""
    with storage_errors(path, "read"):
        data = path.read_bytes()
    return parse_config(data, path)


def parse_config(data: bytes, path: Path) -> dict[str, Any]:
    """As `read_config`, from the file's bytes; `path` is for messages."""
    try:
        config = _parsed(data.decode())
        if not isinstance(config, dict) or not set(config) <= {*IDENTITY_NODES, *NEUTRAL["run"]}:
            raise InputError(f"it must have {', '.join(IDENTITY_NODES)} and nothing else")
        return stored_nodes(config)
    except ValueError as error:  # of the encoding, of YAML, or of what it holds
        raise InputError(f"{path} is damaged or was edited: {error}") from error


def _parsed(text: str) -> Any:
    import yaml

    try:
        # The compiled loader is about seven times as fast, which matters when thousands of runs are collected.
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).replace("\n", " ")) from error


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


def _hashed(value: Any, where: str) -> Any:
    """A value as it is hashed: whole numbers as integers, without what is neutral."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_hashed(item, where) for item in value]
    if not isinstance(value, dict):
        return value
    if "version" in value:
        check_integer(f"{where}.version", value["version"], 1)
    neutral = {"version": 1} | NEUTRAL.get(str(value.get("_target_", where)), {})
    return {key: _hashed(item, key) for key, item in value.items() if key not in neutral or item != neutral[key]}
