"""Many runs from one line: lists and ranges in Hydra's grammar, or the runs behind a figure of the paper."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scorebo.config.choices import GROUPS, available
from scorebo.config.compose_many import Composer
from scorebo.config.composition import explained
from scorebo.config.overrides import of_experiment, parse
from scorebo.config.scale import at_scale
from scorebo.errors import InputError, check_integer
from scorebo.store.identity import run_id

# What all runs of a sweep share. A run is what it is whatever these are, so that of several values all but one would
# silently be left out.
SHARED = ("results", "launcher", "workers", "threads", "metrics_every", "on_failure")
# A run's place in a sweep: all methods advance together, seed by seed. What is varied beyond these comes last.
AXES = {"benchmark": "benchmarks", "model": "models", "acquisition": "acquisitions"}
# What chooses the runs, also when it is given as `++seed=1`.
CHOICES = (*AXES, "seed", "experiment", "scale")
WHAT_TO_GIVE = (
    "Give settings with lists or ranges, e.g. benchmark=gramacy1 acquisition=sal_hr,bald seed=range(1,6), "
    "or the runs of a figure, e.g. experiment=al_mll scale=small"
)

Config = dict[str, Any]


def sweep_configs(
    overrides: Sequence[str], config_dir: Path | None = None, *, composer: Composer | None = None
) -> list[Config]:
    """The resolved, checked configurations of a sweep in plain containers, without repeats, seed by seed.

    Args:
        overrides: in Hydra's sweep grammar: `seed=range(1,26)`, `acquisition=sal_hr,bald`, `benchmark=glob(*)`. With
            `experiment=NAME`, and `scale=smoke`, `small` or `paper`, its runs, which `experiment.acquisitions=[…]`,
            `experiment.seeds=…` and so on change; benchmark, model, acquisition and seed then choose among them, and
            any other setting changes them.
        config_dir: a folder with the user's own config groups.
        composer: of an earlier sweep, whose compositions are used again; it has its own `config_dir`.
    """
    composer = composer or Composer(config_dir)
    runs: dict[str, Config] = {}
    for settings, seeds in _combinations(overrides, composer):
        for config in composer.compose(settings, seeds):
            runs.setdefault(run_id(config), config)
    place: dict[int, int] = {}
    for config in runs.values():
        place.setdefault(config["seed"], len(place))
    return sorted(runs.values(), key=lambda config: place[config["seed"]])


def has_union(names: Sequence[str], composer: Composer) -> bool:
    """Whether one of these experiments is a union of others."""
    return any(composer.experiment(name).get("experiments") for name in names if name != "null")


def sweep_ids(overrides: Sequence[str], composer: Composer) -> set[str]:
    """The ids of the runs of `sweep_configs`, many times as fast: those that differ in the seed only are not made."""
    combinations = _combinations(overrides, composer)
    return {identity for settings, seeds in combinations for identity in composer.run_ids(settings, seeds)}


def _combinations(overrides: Sequence[str], composer: Composer) -> Iterator[tuple[list[str], list[Any] | None]]:
    """The settings of every combination of a sweep, and the seeds they are run with (None: the settings' own)."""
    given = parse_sweep(overrides, composer.config_dir)
    if not given:
        raise InputError(f"Nothing to sweep. {WHAT_TO_GIVE}.")
    experiments = [None if name == "null" else name for name in given.pop("experiment", [None])]
    scales = given.pop("scale", ["paper"])
    changes = [[f"{key}={value}" for value in given.pop(key)] for key in [*given] if of_experiment(key)]
    for name, scale, *changed in itertools.product(experiments, scales, *changes):
        if name is None:
            yield from _product([f"scale={scale}", *changed], dict(given))
            continue
        for member, chosen in _members(str(name), str(scale), changed, given, composer):
            _check_tasks(member, chosen["benchmark"], composer.config_dir)
            yield from _product([f"experiment={member}", f"scale={scale}", *changed], chosen)


def _product(fixed: list[str], chosen: dict[str, list[Any]]) -> Iterator[tuple[list[str], list[Any] | None]]:
    """The settings of every combination of what is chosen, each with the seeds."""
    seeds = chosen.pop("seed", None)
    order = [axis for axis in AXES if axis in chosen] + [key for key in chosen if key not in AXES]
    for values in itertools.product(*(chosen[key] for key in order)):
        yield [*fixed, *(f"{key}={value}" for key, value in zip(order, values, strict=True))], seeds


def _members(
    name: str, scale: str, changed: list[str], given: dict[str, list[Any]], composer: Composer
) -> list[tuple[str, dict[str, list[Any]]]]:
    """The experiment, or those of a union that have what was asked for, each with what it runs."""
    node = at_scale(composer.experiment(name, changed), scale)
    if not node.get("experiments"):
        return [(name, _narrow(node, given))]
    if changed or "model" in given:
        what = changed[0] if changed else f"model={given['model'][0]}"
        raise InputError(f"{what}: experiment={name} is a union; change one of its experiments.")
    members = {member: at_scale(composer.experiment(member), scale) for member in node["experiments"]}
    _narrow(_joined(name, members.values()), given)  # refuses what none of them has
    found = []
    for member, own in members.items():
        axes = _own_axes(member, own)
        kept = {axis: [v for v in given[axis] if _plain(v) in axes[axis]] for axis in given.keys() & axes.keys()}
        if all(kept.values()):
            found.append((member, _narrow(own, given | kept)))
    return found


def _joined(name: str, members: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """One experiment with all that the members run."""
    joined: dict[str, Any] = {"name": name, "seeds": max(member.get("seeds") or 0 for member in members)}
    for key in ("benchmarks", "acquisitions"):
        joined[key] = list(dict.fromkeys(value for member in members for value in member.get(key) or []))
    return joined


def parse_sweep(overrides: Sequence[str], config_dir: Path | None = None) -> dict[str, list[Any]]:
    """What each setting is to be, in the order given: texts as on the command line, the seed's as they are read."""
    from hydra.core.override_parser.types import Glob

    given: dict[str, list[Any]] = {}
    with explained():
        for override in parse(overrides):
            key = override.get_key_element()
            if key.lstrip("+") in CHOICES:
                key = key.lstrip("+")
            value = override.value()
            if key in given:
                raise InputError(f"'{key}' is given twice. Give all its values at once, e.g. {key}=A,B.")
            if isinstance(value, Glob):
                if key not in GROUPS:
                    raise InputError(f"{key}=glob(…) can only choose among configs: {', '.join(GROUPS)}.")
                given[key] = value.filter(available(key, config_dir))
            elif not override.is_sweep_override():
                given[key] = [value if key == "seed" else override.get_value_element_as_str()]
            elif not override.is_discrete_sweep():
                raise InputError(f"{override.input_line}: a sweep needs values one by one, e.g. {key}=1,2,4.")
            else:
                given[key] = list(override.sweep_iterator() if key == "seed" else override.sweep_string_iterator())
            if key in GROUPS:  # where `true` is a name
                given[key] = [text.lower() if text in ("True", "False") else text for text in given[key]]
            if len(given[key]) > 1 and key.lstrip("+").partition(".")[0] in SHARED:
                raise InputError(f"A sweep has one '{key}', got {override.input_line}: it cannot be swept over.")
            if not given[key]:
                raise InputError(f"Nothing to sweep: {override.input_line} stands for no value. {WHAT_TO_GIVE}.")
    return given


def _narrow(experiment: Mapping[str, Any], given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The experiment's own tasks, models, methods and seeds, or those of them that were asked for; then the rest."""
    name = str(experiment.get("name"))
    if not experiment.get("benchmarks"):
        raise InputError(f"experiment={name} has no runs: its figure is drawn from small fits of its own.")
    chosen = {}
    for axis, values in _own_axes(name, experiment).items():
        chosen[axis] = [_plain(value) for value in given.get(axis, values)]
        outside = [value for value in chosen[axis] if value not in values]
        if outside:
            has = f"1 to {len(values)}" if axis == "seed" else ", ".join(values)
            raise InputError(f"experiment={name} has no {axis} {outside[0]!r}. It has: {has}.")
    return chosen | {key: values for key, values in given.items() if key not in chosen}


def _own_axes(name: str, experiment: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The tasks, models, methods and seeds of an experiment, as far as it names them."""
    own = {axis: experiment[key] for axis, key in AXES.items() if experiment.get(key)}
    own["seed"] = list(range(1, check_integer(f"seeds of experiment '{name}'", experiment.get("seeds"), 1) + 1))
    return own


def _plain(value: Any) -> Any:
    """A value as it is meant, which may be quoted on the command line."""
    return value.strip("'") if isinstance(value, str) else value


def _check_tasks(experiment: str, tasks: list[str], config_dir: Path | None) -> None:
    """Refuse an experiment on tasks that are not there."""
    known = available("benchmark", config_dir)
    missing = [task for task in tasks if task not in known]
    if missing:
        there = [task for task in tasks if task in known]
        hint = f" Of its tasks there are: benchmark={','.join(there)}." if there else ""
        raise InputError(f"experiment={experiment} needs tasks that are not available: {', '.join(missing)}.{hint}")
