"""Checks of what was compared with what: budgets and other settings, and the models that methods were run under."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from scorebo.report.audit.base import NOTE, SERIOUS, WARNING, Check, Finding, listed
from scorebo.report.audit.study import Study, config_content

# Of runs on the same task these must agree whatever the model; of those under the same model the others.
_OF_TASK, _OF_MODEL = ("benchmark", "acquisition_optimizer"), ("model", "mcmc")
_OVERRIDDEN_MODEL = re.compile(r"override /?model")


def unequal_settings(study: Study) -> Iterator[Finding]:
    """Settings besides the method's own that differ between methods, or between the runs of one method."""
    settings = study.settings
    names = [name for name in map(str, settings) if not name.endswith(".version")]
    runs = study.runs[["benchmark", "model", "acquisition", "seed"]].join(settings[names])
    for _, of_task in runs.groupby("benchmark", sort=False):
        for node in _OF_TASK:
            yield from _unequal(study, of_task, node)
        for _, of_model in of_task.groupby("model", sort=False):
            for node in _OF_MODEL:
                yield from _unequal(study, of_model, node)
            for _, of_method in of_model.groupby("acquisition", sort=False):
                yield from _unequal(study, of_method, "acquisition")


def _unequal(study: Study, runs: pd.DataFrame, node: str) -> Iterator[Finding]:
    """The findings on one node of runs in which it should be the same."""
    varied = [name for name in map(str, runs) if name.startswith(f"{node}.") and runs[name].nunique() > 1]
    if not varied:
        return
    key = runs[varied].agg("\n".join, axis=1)
    values = {str(method): frozenset(part) for method, part in key.groupby(runs["acquisition"], sort=False)}
    if len(set(values.values())) > 1:
        yield _between_methods(study, runs, varied, node)
    else:
        yield _within_methods(runs, varied, key)


def _between_methods(study: Study, runs: pd.DataFrame, varied: list[str], node: str) -> Finding:
    # What an experiment's own configuration says of models and samplers is part of its methods; a budget is not.
    chosen = study.experiment is not None and node != "benchmark"
    words = listed(_values_by_method(runs, name) for name in varied)
    return Finding(
        NOTE if chosen else SERIOUS,
        f"Compared methods have different settings: {words}.",
        "Say so where the methods are compared: it is the experiment's configuration."
        if chosen
        else "Run one of them again with the other's settings, or compare only runs with the same (in folders of their "
        "own, or chosen by filters).",
        frozenset(runs.index),
    )


def _within_methods(runs: pd.DataFrame, varied: list[str], key: pd.Series) -> Finding:
    """Runs of one name have several settings: for every seed each, or some seeds one and some another."""
    per_seed = key.groupby([runs["acquisition"], runs["seed"]]).nunique()
    split = per_seed.max() == 1
    words = listed(f"{name}={' and '.join(map(_shown, sorted(runs[name].unique())))}" for name in varied)
    return Finding(
        SERIOUS if split else WARNING,
        f"Runs of one name on one task have different settings{' from seed to seed' if split else ''}: {words}. Their "
        "average means nothing.",
        "Keep runs with different settings in separate folders, or give the variants names of their own.",
        frozenset(runs.index),
    )


def _values_by_method(runs: pd.DataFrame, name: str) -> str:
    """`benchmark.total=50 (nei, mes), 60 (jes)`."""
    methods: dict[str, list[str]] = {}
    for method, part in runs.groupby("acquisition", sort=False)[name]:
        methods.setdefault(" and ".join(map(_shown, part.unique())), []).append(str(method))
    return f"{name}={', '.join(f'{value} ({listed(names)})' for value, names in methods.items())}"


def _shown(value: str) -> str:
    return value.strip('"') or "absent"


def confounded_models(study: Study) -> Iterator[Finding]:
    """Methods that share no model with the others on a task: differences are of method and model together."""
    for _, runs in study.runs.groupby("benchmark", sort=False):
        models = {str(m): set(part) for m, part in runs.groupby("acquisition", sort=False)["model"]}
        usual, *others = _connected(models)
        for apart in others:
            own = set().union(*(models[method] for method in apart))
            meant = study.experiment is not None or _have_own_model(apart, models, study.query.config_dir)
            yield Finding(
                NOTE if meant else SERIOUS,
                f"All runs of {listed(apart)} are under model {listed(sorted(own))}, those of {listed(usual)} under "
                f"{listed(sorted(set().union(*(models[method] for method in usual))))}: their differences are those of "
                "method and model together.",
                f"None if the model is part of what {listed(apart)} is, as its configuration says; say so in the text."
                if meant
                else f"Run {listed(apart)} under the others' model, or the others under its own, on the same tasks.",
                frozenset(runs.index[runs["acquisition"].isin([*apart, *usual])]),
            )


def _connected(models: Mapping[str, set[str]]) -> list[list[str]]:
    """Methods in groups linked by common models, the largest first."""
    groups: list[tuple[set[str], list[str]]] = []
    for method, own in models.items():
        linked = [group for group in groups if group[0] & own]
        groups = [group for group in groups if group not in linked]
        joined = own.union(*(group[0] for group in linked))
        groups.append((joined, [*(name for group in linked for name in group[1]), method]))
    return [names for _, names in sorted(groups, key=lambda group: -len(group[1]))]


def _have_own_model(methods: Iterable[str], models: Mapping[str, set[str]], config_dir: Path | None) -> bool:
    """Whether the configuration of each method chooses the model that all its runs are under."""
    return all(models[method] == {_own_model(method, config_dir)} for method in methods)


def _own_model(method: str, config_dir: Path | None) -> str | None:
    defaults = config_content("acquisition", method, config_dir).get("defaults", [])
    chosen = [entry for entry in defaults if isinstance(entry, Mapping)]
    return next((str(v) for entry in chosen for k, v in entry.items() if _OVERRIDDEN_MODEL.fullmatch(str(k))), None)


CHECKS = (
    Check("unequal-settings", "budgets, noise and other settings that differ", unequal_settings, compares=True),
    Check("confounded-models", "methods that share no model with the others", confounded_models, compares=True),
)
