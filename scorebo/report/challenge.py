"""A new method against reference runs: what it is to be run on, and what it is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.config import available
from scorebo.config.compose_many import Composer
from scorebo.config.overrides import check_scale, key_of
from scorebo.config.scale import at_scale
from scorebo.config.sweep import AXES, SHARED, parse_sweep, sweep_configs
from scorebo.errors import InputError, check_choice
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES
from scorebo.report.query import Query
from scorebo.report.reference import archives_on, held, outdated_runs, refusals
from scorebo.report.selection import Selection, different_settings, experiment_runs, select
from scorebo.report.statistics.comparison import Comparison, compare
from scorebo.store.checksummed import canonical_json
from scorebo.store.collect import describe_runs
from scorebo.store.identity import identity_nodes
from scorebo.store.reference import reference_archives
from scorebo.store.sources import Reference, sources_text

Config = dict[str, Any]
_OPTIONS = {"seed": "--seeds N, the first N seeds of the reference,", "scale": "--scale", "experiment": "--suite"}


@dataclass(frozen=True)
class Suite:
    """An experiment to challenge: what methods are compared by (by default the metrics of its figures), and figures."""

    experiment: str
    metrics: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


# By short names; any experiment that has reference runs can be challenged by its own.
SUITES = {
    "al": Suite("al_mll", ("negative_mll", "rmse"), ("al-rmse",)),
    "bo": Suite("bo_regret", ("inference_regret", "simple_regret")),
    "saas": Suite("saas_final", ("best_noiseless",)),
    "gp8": Suite("gp8_regret", ("inference_regret",)),
    "additive": Suite("addgp", ("best_noiseless",)),
    "warped": Suite("pd1", ("best_noiseless",)),
}


@dataclass(frozen=True)
class Challenge:
    """A method against the reference runs of a suite.

    Args:
        method: its name.
        suite: which experiment.
        query: chooses its runs and those of the reference.
        configs: its runs: one for each task, model and seed of which there is a reference run.
        opponents: the methods of the reference.
        notes: what the reader must know of pairs that cannot be made.
    """

    method: str
    suite: Suite
    query: Query
    configs: list[Config]
    opponents: list[str]
    notes: list[str]

    def __str__(self) -> str:
        tasks = list(dict.fromkeys(config["benchmark"]["name"] for config in self.configs))
        seeds = len({config["seed"] for config in self.configs})
        return (
            f"{self.method} against {', '.join(self.opponents)}: {', '.join(tasks)}, {seeds} seeds "
            f"(experiment {self.suite.experiment} at scale {self.query.scale})"
        )

    @property
    def results(self) -> Path:
        """The folder of its runs."""
        return Path(self.configs[0]["results"])


def comparisons(evidence: Evidence, suite: Suite, metrics: Sequence[str] | None = None) -> list[Comparison]:
    """The challenger with each other method, by the metrics given or those of the suite of which there are values."""
    table = evidence.selection().table
    if not metrics:
        own = suite.metrics or _figure_metrics(evidence, suite)
        metrics = [m for m in own if m in table and table[m].notna().any()] or own
    return [compare(table, metric, challenger=evidence.query.challenger) for metric in metrics]


def _figure_metrics(evidence: Evidence, suite: Suite) -> tuple[str, ...]:
    found = [FIGURES[name].metric for name in evidence.figures(suite.experiment)]
    return tuple(dict.fromkeys(metric for metric in found if metric)) or ("inference_regret", "negative_mll")


def suite_named(name: str, config_dir: Path | None = None) -> Suite:
    """The suite of a short name, or of an experiment's."""
    found = {suite.experiment: suite for suite in SUITES.values()} | SUITES
    experiments = available("experiment", config_dir)
    return found.get(name) or Suite(check_choice("suite", name, [*SUITES, *experiments]))


def prepare(
    overrides: Sequence[str],
    suite: Suite,
    *,
    scale: str | None = None,
    seeds: int | None = None,
    config_dir: Path | None = None,
) -> Challenge:
    """What is to be run, and what it is compared with.

    Args:
        overrides: `acquisition=NAME`, a choice among the suite's tasks and models, and settings that change no run.
        suite: which experiment.
        scale: smoke, small or paper; by default the one of which the reference has most runs.
        seeds: only so many; by default all that the reference has.
        config_dir: a folder with the user's own config groups.
    """
    composer = Composer(config_dir)
    given = parse_sweep(overrides, config_dir)
    method = _method(given)
    _refuse_changes(given, suite, composer)
    query = Query(
        (),
        scale=scale,
        experiment=suite.experiment,
        seeds=None if seeds is None else f"1-{seeds}",
        config_dir=config_dir,
        reference=_archives(suite, composer),
        benchmark=_texts(given, "benchmark"),
        model=_texts(given, "model"),
    )
    chosen, notes = _reference_runs(query, composer)
    query = chosen.query
    _check_size(composer.experiment(suite.experiment), query, method, seeds)
    configs = _own_runs(method, chosen, overrides, composer)
    check_scale([f"scale={scale}"] if scale else [], configs)
    notes += [*_other_nodes(configs, chosen, _axes_of(chosen, composer)), *_missing(chosen, composer)]
    opponents = list(dict.fromkeys(chosen.table["acquisition"]))
    query = replace(query, results=(configs[0]["results"],), challenger=method)
    return Challenge(method, suite, query, configs, opponents, notes)


def _texts(given: Mapping[str, list[Any]], axis: str) -> tuple[str, ...]:
    return tuple(str(name).strip("'") for name in given.get(axis, ()))


def _method(given: Mapping[str, list[Any]]) -> str:
    methods = _texts(given, "acquisition")
    if len(methods) != 1:
        raise InputError(f"Name the one method that is the challenger: acquisition=NAME, got {len(methods)}.")
    return methods[0]


def _refuse_changes(given: Mapping[str, list[Any]], suite: Suite, composer: Composer) -> None:
    """Refuse settings with which the runs could not be paired with those of the reference."""
    node = composer.experiment(suite.experiment)
    for setting, values in given.items():
        name = setting.lstrip("+~")
        if name in _OPTIONS:
            raise InputError(f"Give {_OPTIONS[name]} in place of {name}=….")
        if name.partition(".")[0] in SHARED or name in ("acquisition", "benchmark"):
            continue
        if name == "model" and any(at.get("models") for at in (node, *(node.get("scales") or {}).values())):
            continue
        raise InputError(
            f"{name}={','.join(map(str, values))} would change the runs, and the reference has none with it to "
            "pair them with: leave it out. What belongs to the method itself (its settings, its model) is set in the "
            "file of its acquisition. Allowed: acquisition, benchmark (some tasks of the suite), model (of a suite "
            f"with several), {', '.join(SHARED)}."
        )


def _archives(suite: Suite, composer: Composer) -> tuple[Reference, ...]:
    """Those with runs on the suite's tasks."""
    everything = reference_archives()
    found = archives_on(everything, _tasks(suite.experiment, composer))
    if not found:
        there = ", ".join(sorted({task for each in held(everything, []) for task in each.tasks}))
        raise InputError(
            f"{sources_text(everything)} has no run on a task of experiment={suite.experiment}. Tasks there: {there}. "
            "`scorebo reference list` shows all of it; $SCOREBO_REFERENCE names another."
        )
    return found


def _tasks(experiment: str, composer: Composer) -> set[str]:
    """The tasks of an experiment at any scale."""
    node = composer.experiment(experiment)
    return {task for at in (node, *(node.get("scales") or {}).values()) for task in at.get("benchmarks") or []}


def _reference_runs(query: Query, composer: Composer) -> tuple[Selection, list[str]]:
    """The reference runs that new ones can be paired with, and why others cannot."""
    problems: list[str] = []
    tasks = _tasks(str(query.experiment), composer)
    runs = [run for run in describe_runs(query.folders, problems) if run["benchmark"] in tasks]
    if not runs:
        raise InputError(f"No run on a task of experiment={query.experiment} can be read. {' '.join(problems)}")
    outdated = outdated_runs(runs, query.config_dir)
    problems += refusals(outdated)
    kept = [run for run in runs if run["run_id"] not in outdated]
    if not kept:
        raise InputError(f"No run of the reference can be paired. {' '.join(problems)}")
    return select(query.narrow(pd.DataFrame(kept)), query, composer=composer), problems


def _check_size(experiment: Mapping[str, Any], query: Query, method: str, seeds: int | None) -> None:
    node = at_scale(experiment, str(query.scale))
    if method in (node.get("acquisitions") or []):
        raise InputError(
            f"{method} is one of the methods of experiment={query.experiment}: `scorebo compare --reference "
            f"--experiment {query.experiment} --baseline {method}` compares the others with it."
        )
    if seeds is not None and seeds > int(node.get("seeds") or 0):
        raise InputError(
            f"--seeds {seeds}: experiment={query.experiment} has {node.get('seeds')} seeds at scale {query.scale}."
        )


def _own_runs(method: str, chosen: Selection, overrides: Sequence[str], composer: Composer) -> list[Config]:
    """The method's runs on each task, model and seed of which there is a reference run."""
    axes = _axes_of(chosen, composer)
    pairs = set(chosen.table[[*axes, "seed"]].itertuples(index=False, name=None))
    values = {axis: dict.fromkeys(chosen.table[axis]) for axis in (*axes, "seed")}
    sweep = [f"experiment={chosen.experiment}", f"scale={chosen.scale}", f"experiment.acquisitions=[{method}]"]
    sweep += [f"{axis}={','.join(map(str, listed))}" for axis, listed in values.items()]
    sweep += [override for override in overrides if key_of(override) not in AXES]
    configs = sweep_configs(sweep, composer=composer)
    return [c for c in configs if (*(c[axis]["name"] for axis in axes), c["seed"]) in pairs]


def _axes_of(chosen: Selection, composer: Composer) -> list[str]:
    """By which axes, seeds apart, runs of different methods belong together: the task, and the model if it is given."""
    node = at_scale(composer.experiment(str(chosen.experiment)), str(chosen.scale))
    return ["benchmark", *(["model"] if node.get("models") else [])]


def _other_nodes(configs: Sequence[Config], chosen: Selection, axes: Sequence[str]) -> list[str]:
    """In which settings the method's runs differ from most of the reference; refuses other tasks."""
    kinds = chosen.table.drop_duplicates(["benchmark", "model", "acquisition"])
    stored = {names: [run.config() for run in runs] for names, runs in kinds.groupby(list(axes))["stored"]}
    ours = {tuple(config[axis]["name"] for axis in axes): config for config in configs}
    notes: dict[str, list[str]] = {}
    for names, config in ours.items():
        differ = different_settings(config, _usual(stored[names]))
        changed = [each for each in differ if each.startswith("benchmark.")]
        if changed:
            raise InputError(
                f"The file of acquisition={config['acquisition']['name']} changes the task {names[0]}, so that runs "
                f"cannot be paired with the reference: {', '.join(changed)}. Leave that out."
            )
        others = [each for each in differ if not each.startswith(("acquisition.", "seed="))]
        if others:
            words = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
            notes.setdefault(words, []).append(" under ".join(names))
    return [f"The method has other settings than the reference on {', '.join(on)}: {w}." for w, on in notes.items()]


def _usual(configs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """One of the largest group that is alike, the acquisition apart: a method may have a model of its own."""
    kinds = [canonical_json({**identity_nodes(config), "acquisition": None, "seed": None}) for config in configs]
    return configs[kinds.index(Counter(kinds).most_common(1)[0][0])]


def _missing(chosen: Selection, composer: Composer) -> list[str]:
    """Which tasks and methods of the experiment the reference has no run of."""
    tasks = available("benchmark", composer.config_dir)
    one = replace(chosen.query, seeds=str(chosen.table["seed"].min()))
    node = at_scale(composer.experiment(str(chosen.experiment)), str(chosen.scale))
    there = set(chosen.table["benchmark"])
    absent = [task for task in node["benchmarks"] if task not in there and chosen.query.takes("benchmark", task)]
    notes = [f"Left out, since the reference has no run of it at scale {chosen.scale}: {t}." for t in absent]
    found = set(chosen.table[["benchmark", "acquisition"]].itertuples(index=False, name=None))
    lacking: dict[str, list[str]] = {}
    wanted = experiment_runs(str(chosen.experiment), str(chosen.scale), composer, [t for t in tasks if t in there], one)
    for config in wanted.values():
        names = config["benchmark"]["name"], config["acquisition"]["name"]
        if names not in found and names[0] not in lacking.setdefault(names[1], []):
            lacking[names[1]].append(names[0])
    return notes + [f"The reference has no run of {m} on {', '.join(on)}." for m, on in lacking.items() if on]
