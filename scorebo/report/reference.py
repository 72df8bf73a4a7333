"""Reference runs: which of them the present version would compute anew, and what there is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from scorebo.config.choices import available, config_file, config_root
from scorebo.errors import InputError
from scorebo.report.statistics.summary import aligned
from scorebo.store.archive.manage import seeds_text
from scorebo.store.archive.read import Archive
from scorebo.store.columns import phase_columns
from scorebo.store.identity import IDENTITY_NODES, parse_config
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.schema import NAMES
from scorebo.store.sources import Reference
from scorebo.store.stored_run import CONFIG, StoredRun

NODES = tuple(node for node in IDENTITY_NODES if node != "seed")
# What is another in the configuration of each run of a kind.
_OWN_LINES = re.compile(rb"^(# Run .*|seed: .*)$", re.MULTILINE)


def outdated_runs(runs: Iterable[Mapping[str, Any]], config_dir: Path | None = None) -> dict[str, str]:
    """Why runs, of `describe_runs`, cannot be paired with new ones: a node has another version today. By id."""
    known: dict[bytes, str] = {}
    found = {}
    for run in runs:
        stored: StoredRun = run["stored"]
        data = stored.read(CONFIG)
        kind = _OWN_LINES.sub(b"", data)
        if kind not in known:
            known[kind] = _other_versions(parse_config(data, stored.place / CONFIG), config_dir)
        if known[kind]:
            found[run["run_id"]] = known[kind]
    return found


def refusals(outdated: Mapping[str, str]) -> list[str]:
    """In words, each reason once."""
    return [
        f"{count} reference {'run is' if count == 1 else 'runs are'} left out, which this version would compute "
        f"differently: {reason}."
        for reason, count in Counter(outdated.values()).items()
    ]


def _other_versions(config: Mapping[str, Any], config_dir: Path | None) -> str:
    reasons = []
    for node in NODES:
        there, now = int(config[node].get("version", 1)), present_version(node, config[node], config_dir)
        if now not in (None, there):
            name = config[node].get("name") or config[node].get("sampler") or ""
            reasons.append(f"{f'{node} {name}'.strip()} has version {there} there and {now} now")
    return ", ".join(reasons)


def present_version(node: str, content: Mapping[str, Any], config_dir: Path | None = None) -> int | None:
    """The version of a node of a stored run as it would be composed today; None if there is no such node any more."""
    if node in NAMES:
        name = str(content.get("name"))
        return _version(node, config_file(node, name, config_dir)) if name in available(node, config_dir) else None
    if node != "mcmc":
        return _version(node, config_root() / "config.yaml")
    files = (config_file(node, name, config_dir) for name in available(node, config_dir))
    return next(
        (_version(node, path) for path in files if _node(node, path).get("sampler") == content.get("sampler")), None
    )


def _version(node: str, path: Path) -> int:
    return int(_node(node, path).get("version", 1))


@cache
def _node(node: str, path: Path) -> Mapping[str, Any]:
    """What a config file says of a node."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content.get(node) or content


def archives_on(archives: Sequence[Reference], tasks: Collection[str]) -> tuple[Reference, ...]:
    """The archives that have runs on any of the tasks, by their metadata; a damaged one may."""

    def may_have(path: Reference) -> bool:
        try:
            return any(folder.split("/")[0] in tasks for folder in Archive(path).folders)
        except InputError:
            return True

    return tuple(filter(may_have, archives))


class Held(NamedTuple):
    """The reference runs of an experiment at a scale."""

    experiment: str
    scale: str | None
    tasks: list[str]
    methods: list[str]
    seeds: str
    runs: int
    iterations: int
    core_hours: float
    commits: list[str]
    archives: list[str]


def held(archives: Sequence[Path], problems: list[str]) -> list[Held]:
    """What there is, by experiment and scale; what cannot be read is named in `problems`."""
    groups: dict[tuple[str, str | None], list[Archive]] = {}
    for path in archives:
        try:
            archive = Archive(path)
        except InputError as error:
            problems.append(f"{error} (left out)")
            continue
        about = archive.about
        groups.setdefault((about.get("experiment") or "–", about.get("scale")), []).append(archive)
    return [_held(*what, group, problems) for what, group in groups.items()]


def _held(experiment: str, scale: str | None, archives: Sequence[Archive], problems: list[str]) -> Held:
    runs = {run.head["run_id"]: run for archive in archives for run in archive.runs(problems)}
    parts = [run.part(problems).table for run in runs.values()]
    return Held(
        experiment=experiment,
        scale=scale,
        tasks=sorted({run.head["benchmark"] for run in runs.values()}),
        methods=sorted({run.head["acquisition"] for run in runs.values()}),
        seeds=seeds_text({run.head["seed"] for run in runs.values()}),
        runs=len(runs),
        iterations=sum(map(len, parts)),
        core_hours=sum(map(_processor_seconds, parts)) / 3600,
        commits=sorted({str(run.head["commit"] or "unknown") for run in runs.values()}),
        archives=[str(archive.path) for archive in archives],
    )


def _processor_seconds(columns: Any) -> float:
    """Of all iterations of a run; wall seconds where it has no others."""
    import pyarrow.compute as pc

    sums = [
        sum(pc.sum(columns[name]).as_py() or 0.0 for name in phase_columns(timing) if name in columns.column_names)
        for timing in ("cpu_seconds", "wall_seconds")
    ]
    return float(sums[0] or sums[1])


def describe_held(found: Sequence[Held]) -> str:
    """A table."""
    heads = ["experiment", "scale", "tasks", "methods", "seeds", "runs", "core-hours", "commit"]
    return aligned([heads, *map(_cells, found)], text_columns=4)


def _cells(each: Held) -> list[str]:
    commits = ", ".join(commit[:RUN_DIGITS] for commit in each.commits)
    names = [each.experiment, each.scale or "–", ", ".join(each.tasks), ", ".join(each.methods)]
    return [*names, each.seeds, str(each.runs), f"{each.core_hours:.3g}", commits]
