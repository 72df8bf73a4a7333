"""`config.yaml` of a run: the nodes that make its identity and how they are displayed; OmegaConf and YAML read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.store.identity import IDENTITY_NODES, NEUTRAL, run_id, stored_nodes


def config_text(nodes: dict[str, Any]) -> str:
    """The YAML of the stored nodes, checked to read back as the same run."""
    from omegaconf import OmegaConf

    # OmegaConf quotes whatever it, or YAML itself, would otherwise read as something else than text.
    body = OmegaConf.to_yaml(OmegaConf.create(nodes))
    text = f"# Run {run_id(nodes)}: its configuration. Do not edit it: the run would be refused.\n{body}"
    if run_id(_parse(text)) != run_id(nodes):
        raise InputError("The configuration does not survive being written as YAML; simplify its texts.")
    return text


def read_config(path: Path) -> dict[str, Any]:
    """The nodes in a run's `config.yaml`."""
    with storage_errors(path, "read"):
        data = path.read_bytes()
    try:
        config = _parse(data.decode())
        if not isinstance(config, dict) or not set(config) <= {*IDENTITY_NODES, *NEUTRAL["run"]}:
            raise InputError(f"it must have {', '.join(IDENTITY_NODES)} and nothing else")
        return stored_nodes(config)
    except ValueError as error:  # of the encoding, of YAML, or of what it holds
        raise InputError(f"{path} is damaged or was edited: {error}") from error


def _parse(text: str) -> Any:
    import yaml

    try:
        # The compiled loader is about seven times as fast, which matters when thousands of runs are collected.
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).replace("\n", " ")) from error
