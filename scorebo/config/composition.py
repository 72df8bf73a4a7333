"""Configuration: composed by Hydra, checked in one place, instantiated by `_target_`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from scorebo.config.display import check_display
from scorebo.config.installed import installed, store_config
from scorebo.config.overrides import key_of, names_class, of_experiment, override_experiment, replace_nodes
from scorebo.config.scale import apply_scale
from scorebo.errors import InputError, check_choice, check_integer, check_number
from scorebo.inference.samplers import check_settings
from scorebo.store.identity import passed

if TYPE_CHECKING:
    from scorebo.benchmarks.base import Benchmark
    from scorebo.gp import Surrogate

GROUPS = ("benchmark", "model", "mcmc", "mcmc/draws", "acquisition", "experiment", "launcher")
TOP_LEVEL = (
    *("benchmark", "model", "mcmc", "acquisition", "experiment", "acquisition_optimizer"),
    *("seed", "scale", "results", "threads", "metrics_every", "on_failure", "launcher", "workers"),
)
# Least value of every setting that is a whole number.
LEAST = {
    "seed": 0,
    "threads": 1,
    "metrics_every": 1,
    "workers": 1,
    "mcmc.warmup": 1,
    "mcmc.thinning": 1,
    "mcmc.num_mcmc_samples": 1,
    "mcmc.num_optima": 1,
    "mcmc.num_features": 1,
    "acquisition_optimizer.raw_samples": 1,
    "acquisition_optimizer.num_restarts": 1,
    "acquisition_optimizer.maxiter": 1,
}
OPTIONAL = ("workers", "mcmc.num_optima", "mcmc.num_features")
# Settings of an mcmc node that are not the sampler's.
NOT_OF_SAMPLER = ("num_optima", "num_features", "version")
ACQUISITION_OPTIMIZER_SETTINGS = ("raw_samples", "num_restarts", "maxiter", "sample_around_best_sigma", "version")
_PLAIN = (bool, int, float, str, list, tuple, dict, type(None))
# What a run does when an evaluation fails.
ON_FAILURE = ("stop", "avoid")
# Nodes that carry the name of their file.
NAMED = ("benchmark", "model", "acquisition", "launcher")


def config_root() -> Path:
    """Folder of the configs: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def available(group: str, config_dir: Path | None = None) -> list[str]:
    """Names that `group=` accepts, the user's own from `config_dir` included."""
    return sorted({*_config_files(group, config_dir), *installed(group)})


def config_file(group: str, name: str, config_dir: Path | None = None) -> Path:
    """The file behind a name of a group."""
    files = _config_files(group, config_dir)
    return files[check_choice(group, name, files)]


def _config_files(group: str, config_dir: Path | None) -> dict[str, Path]:
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


def compose(overrides: Sequence[str], config_dir: Path | None = None) -> DictConfig:
    """The resolved configuration of one run, checked.

    Args:
        overrides: as on the command line, in Hydra's grammar: `benchmark=gramacy1`, `mcmc.warmup=64`.
        config_dir: a folder with the user's own config groups, searched after the project's.
    """
    with explained(overrides, config_dir):
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

    given = [_quote_choice(override) for override in overrides if not of_experiment(override)]
    _check_choices(given, config_dir)
    replaced = [override for override in given if names_class(override)]
    merged = [override for override in given if override not in replaced]
    search = [] if config_dir is None else [f"hydra.searchpath=['file://{config_dir.resolve()}']"]
    with _hydra():
        config = compose("config", overrides=merged + search, return_hydra_config=True)
    config = without_hydra(config, config.hydra.runtime.choices)
    replace_nodes(config, replaced)
    override_experiment(config, overrides)
    return config


def without_hydra(config: DictConfig, choices: Mapping[str, str]) -> DictConfig:
    """The configuration itself without Hydra's own node, those nodes named that are to be, after the files chosen."""
    OmegaConf.set_struct(config, False)
    config.pop("hydra", None)
    for group in NAMED:
        if isinstance(config.get(group), DictConfig) and "name" not in config[group]:
            config[group].name = choices[group]
    return config


def resolve(config: DictConfig) -> DictConfig:
    """The configuration itself with its interpolations resolved, checked."""
    OmegaConf.resolve(config)
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise InputError(f"No value for {', '.join(missing)}: give one, e.g. {missing[0]}=VALUE.")
    _check(config)
    return config


@contextmanager
def explained(overrides: Sequence[str], config_dir: Path | None) -> Iterator[None]:
    """What Hydra, OmegaConf and YAML raise within, as an `InputError` of one sentence."""
    from hydra.errors import HydraException

    try:
        yield
    except InputError:
        raise
    except YAMLError as error:
        raise InputError(f"A config file is not valid YAML: {' '.join(str(error).split())}") from error
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise InputError(_explain(error, overrides, config_dir)) from error


def load_model(model: str | Mapping[str, Any], **overrides: Any) -> Surrogate:
    """The surrogate of a model config, by name or as a config node."""
    from scorebo.gp import Surrogate

    node = _model_node(model) if isinstance(model, str) else model
    return instantiate("model", node, overrides, expected=Surrogate)


@lru_cache
def _model_node(name: str) -> DictConfig:
    from hydra import compose

    check_choice("model", name, available("model"))
    with _hydra():
        return compose(f"model/{name}").model


def sampler_settings(mcmc: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an mcmc node that concern the sampler, as `fit_gp` takes them; the others concern optima."""
    return {str(name): value for name, value in mcmc.items() if name not in NOT_OF_SAMPLER}


def load_benchmark(name: str, **overrides: Any) -> Benchmark:
    """The task of a benchmark config, e.g. `load_benchmark("gramacy1", noise_std=0.2)`."""
    from scorebo.benchmarks.base import Benchmark

    check_choice("benchmark", name, available("benchmark"))
    node = compose([f"benchmark={name}", "acquisition=random"]).benchmark
    return instantiate("benchmark", node, overrides, expected=Benchmark)


def instantiate(
    what: str, node: Mapping[str, Any], overrides: Mapping[str, Any] | None = None, *, expected: type = object
) -> Any:
    """The object a config node describes by `_target_`, with a message of one sentence when it cannot be made.

    Args:
        what: the node's group, for messages.
        node: `_target_` and the settings of the class.
        overrides: settings that differ from the node's.
        expected: the class the object must belong to.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate as hydra_instantiate

    settings: dict[str, Any] = passed(as_dict(node) if isinstance(node, DictConfig) else node)
    if "_target_" not in settings:
        raise InputError(f"The {what} config '{settings.get('name')}' names no class: _target_ is missing.")
    overrides = overrides or {}
    unknown = set(overrides) - set(settings)
    # Objects (a kernel, a prior) go straight to the class: Hydra would take them apart as structured configs.
    objects = {key: value for key, value in overrides.items() if not isinstance(value, _PLAIN)}
    settings = {key: value for key, value in (settings | dict(overrides)).items() if key not in objects}
    missing = [key for key, value in settings.items() if isinstance(value, str) and value == "???"]
    if missing:
        raise InputError(f"{what} '{settings.get('name')}' needs a value for {', '.join(missing)}.")
    try:
        made = hydra_instantiate(settings, _partial_=True, _convert_="all")(**objects)
    except (InstantiationException, TypeError) as error:
        cause = error if isinstance(error, TypeError) else error.__cause__
        if isinstance(cause, InputError):
            raise cause from error
        if unknown and isinstance(cause, TypeError):
            check_choice(
                f"setting of {what} '{settings.get('name')}'", min(unknown), set(settings) - unknown - {"_target_"}
            )
        reason = str(error).splitlines()[0] if cause is None else f"{type(cause).__name__}: {cause}"
        raise InputError(
            f"{what} '{settings.get('name')}' ({settings['_target_']}) cannot be made: {reason}"
        ) from error
    if not isinstance(made, expected):
        name = f"{expected.__module__}.{expected.__name__}"
        raise InputError(f"{what} '{settings.get('name')}' ({settings['_target_']}) is not a {name}.")
    return made


def _check(config: DictConfig) -> None:
    """Types and ranges that no class checks before a run starts; every setting a run needs is there."""
    for name in config:
        check_choice("setting in 'the configuration'", name, TOP_LEVEL)
    for node in (*NAMED, "mcmc", "acquisition_optimizer"):
        if not isinstance(config.get(node), DictConfig):
            raise InputError(f"{node} must be a node of settings, got {config.get(node)!r}.")
    for node in NAMED:
        check_display(node, config[node].get("display", {}))
    for name in config.acquisition_optimizer:
        check_choice("setting in 'acquisition_optimizer'", name, ACQUISITION_OPTIMIZER_SETTINGS)
    for name, minimum in LEAST.items():
        value = OmegaConf.select(config, name)
        if value is not None or name not in OPTIONAL:
            check_integer(name, value, minimum)
    check_choice("on_failure", config.get("on_failure"), ON_FAILURE)
    check_settings(**sampler_settings(config.mcmc))
    check_number(
        "acquisition_optimizer.sample_around_best_sigma",
        config.acquisition_optimizer.get("sample_around_best_sigma"),
        0.0,
    )
    if not isinstance(config.get("results"), str) or not config.results:
        raise InputError(f"results must be the path of a folder, got {config.get('results')!r}.")


def _check_choices(overrides: Sequence[str], config_dir: Path | None) -> None:
    for override in overrides:
        group, _, choice = override.lstrip("+").partition("=")
        if group in GROUPS and choice and (group, choice) != ("experiment", "null"):
            name = check_choice(group, choice.strip("'"), available(group, config_dir))
            if name not in _config_files(group, config_dir):
                store_config(group, name)


def _quote_choice(override: str) -> str:
    """`model=true` with its choice quoted: Hydra's grammar reads the bare word as a truth value."""
    group, equals, choice = override.partition("=")
    return f"{group}='{choice}'" if equals and group in GROUPS and choice in ("true", "false") else override


def _explain(error: Exception, overrides: Sequence[str], config_dir: Path | None) -> str:
    """One sentence for a mistake in the overrides, with the settings that exist at that place."""
    from hydra.errors import OverrideParseException

    text = str(error).splitlines()[0]
    if isinstance(error, OverrideParseException):
        return f"Cannot read '{error.override}': a setting is given as NAME=VALUE, e.g. seed=2 or mcmc.warmup=64."
    for override in overrides:
        key = key_of(override)
        if f"'{key}'" in text and "Could not override" in text:
            group, _, setting = key.rpartition(".")
            try:
                place: Any = compose([o for o in overrides if o != override], config_dir)
                place = OmegaConf.select(place, group) if group else place
                check_choice(
                    f"setting in '{group or 'the configuration'}'",
                    setting,
                    [str(name) for name in place if name != "_target_"],
                )
            except InputError as nearer:
                return str(nearer)
    return text


@contextmanager
def _hydra() -> Iterator[None]:
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
