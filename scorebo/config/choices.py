"""The names that each config group accepts, and the files behind them."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from scorebo.errors import InputError, check_choice

GROUPS = ("benchmark", "model", "mcmc", "mcmc/draws", "acquisition", "experiment", "launcher")


def config_root() -> Path:
    """Folder of the configs: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def available(group: str, config_dir: Path | None = None) -> list[str]:
    """Names that `group=` accepts, the user's own from `config_dir` included."""
    return sorted({*config_files(group, config_dir), *installed(group)})


def config_file(group: str, name: str, config_dir: Path | None = None) -> Path:
    """The file behind a name of a group."""
    files = config_files(group, config_dir)
    return files[check_choice(group, name, files)]


def config_files(group: str, config_dir: Path | None) -> dict[str, Path]:
    """The file behind each name of a group; a name must not stand in both places, or one would be ignored."""
    check_choice("config group", group, GROUPS)
    files = {path.stem: path for path in (config_root() / group).glob("*.yaml")}
    if config_dir is None:
        return files
    if not config_dir.is_dir():
        raise InputError(f"--config-dir: there is no folder '{config_dir}'.")
    own = {path.stem: path for path in (config_dir / group).glob("*.yaml")}
    twice = sorted(files.keys() & own.keys())
    if twice:
        raise InputError(f"{own[twice[0]]} has the name of one of the project's own configs: give it another.")
    return files | own


def describe_choice(group: str, name: str, config_dir: Path | None = None) -> str:
    """The first comment line of a config file: what it is, in a sentence."""
    for line in config_file(group, name, config_dir).read_text(encoding="utf-8").splitlines():
        if line.startswith("#") and "@package" not in line:
            return line.lstrip("# ")
    return ""


def installed(group: str) -> dict[str, metadata.EntryPoint]:
    """The entry points of installed packages that add to a config group (launchers alone), by name."""
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
