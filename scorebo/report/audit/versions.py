"""Checks of what runs were computed with: versions of nodes, commits, packages and processors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from scorebo.config.choices import config_root
from scorebo.report.audit.base import NOTE, SERIOUS, WARNING, Check, Finding, listed
from scorebo.report.audit.study import Study, config_content
from scorebo.store.identity import IDENTITY_NODES

_NODES = [node for node in IDENTITY_NODES if node != "seed"]


def mixed_versions(study: Study) -> Iterator[Finding]:
    """Nodes of one name with several versions in one study: the same words for different numbers."""
    for node, name, versions in _versions(study):
        if versions.nunique() > 1:
            counts = versions.value_counts().sort_index()
            words = listed(f"version {version} ({count} runs)" for version, count in counts.items())
            yield Finding(
                SERIOUS,
                f"{_node_words(node, name)} has several versions, which compute different numbers: {words}.",
                "Run the older ones again, or move them to a folder of their own.",
                frozenset(versions.index),
            )


def outdated_versions(study: Study) -> Iterator[Finding]:
    """Runs with another version of a node than this installation computes."""
    for node, name, versions in _versions(study):
        present = _present_version(node, name, study.query.config_dir)
        for version in sorted(set(versions) - {present}) if present is not None else ():
            runs = versions.index[versions == version]
            yield Finding(
                WARNING,
                f"{_node_words(node, name)} has version {version} in {len(runs)} runs, version {present} in this "
                "installation: experiments and claims leave these runs out, and new runs cannot be paired with them.",
                "Run them again with this installation, or compare them only with each other."
                if version < present
                else "Use the newer installation that computed them.",
                frozenset(runs),
            )


def _versions(study: Study) -> Iterator[tuple[str, str, pd.Series]]:
    """Every node with its name, and the version of it in each run that has it."""
    for node in _NODES:
        found = [1 if value is None else int(value) for value in study.setting(f"{node}.version")]
        named = study.runs[node] if node in study.runs else study.setting(f"{node}.name").fillna("")
        for name, own in pd.Series(found, study.runs.index).groupby(named, sort=False):
            yield node, str(name), own


def _node_words(node: str, name: str) -> str:
    return f"{node} {name}".strip()


def _present_version(node: str, name: str, config_dir: Path | None) -> int | None:
    """The version of a node in this installation; None if it has no such node."""
    content = config_content(node, name, config_dir) if name else yaml.safe_load(_root_config())
    return int(content.get(node, content).get("version", 1)) if content else None


def _root_config() -> str:
    return (config_root() / "config.yaml").read_text(encoding="utf-8")


def mixed_software(study: Study) -> Iterator[Finding]:
    """Commits, packages or processors that differ on a task, above all from method to method."""
    facts = _facts({run: study.stored.sessions.get(run, {}) for run in study.runs.index})
    for what, known in facts.items():
        found: dict[str, set[str]] = {}
        for _, runs in study.runs.groupby("benchmark", sort=False):
            groups = runs.groupby("acquisition", sort=False).groups
            values = {str(method): {known[run] for run in ids} - {""} for method, ids in groups.items()}
            if len(set().union(*values.values())) > 1:
                apart = _apart(values)
                words = "; ".join(f"{listed(sorted(values[method]), 3)} for {method}" for method in apart)
                found.setdefault(words, set()).update(runs.index)
        for words, ids in found.items():
            if words:
                severity = NOTE if what == "processors" else WARNING  # which decide over timings alone
                text = f"Methods were computed with different {what}: {words}."
                yield Finding(severity, text, _DO[what], frozenset(ids))
            elif what != "processors":
                several = listed(sorted({known[run] for run in ids} - {""}), 4)
                yield Finding(NOTE, f"Runs were computed with several {what}: {several}.", _DO[what], frozenset(ids))


_REPEAT = "repeat some runs of each (`scorebo replay`) to see whether the numbers are the same."
_DO = {
    "commits": f"Compute all methods of a study with one commit; where that cannot be, {_REPEAT}",
    "packages": f"Compute all methods of a study with the same packages (requirements.lock); otherwise {_REPEAT}",
    "processors": "Do not compare the methods' timings.",
}


def _facts(sessions: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """What each run was computed with, empty where it is not known; of packages those of which there are several."""
    versions: dict[str, set[str]] = {}
    for session in sessions.values():
        for name, version in _packages(session).items():
            versions.setdefault(name, set()).add(version)
    varied = {name for name, known in versions.items() if len(known) > 1}
    return {
        "commits": {run: _commit(session) for run, session in sessions.items()},
        "packages": {run: _words(session, varied) for run, session in sessions.items()},
        "processors": {run: _processor(session) for run, session in sessions.items()},
    }


def _commit(session: Mapping[str, Any]) -> str:
    git = session.get("git") or {}
    return f"{git['commit'][:12]}{' (with changes)' if git.get('dirty') else ''}" if git.get("commit") else ""


def _processor(session: Mapping[str, Any]) -> str:
    return str((session.get("machine") or {}).get("cpu") or "")


def _packages(session: Mapping[str, Any]) -> dict[str, str]:
    versions = {"python": session.get("python"), **(session.get("packages") or {})}
    return {name: str(version) for name, version in versions.items() if version}


def _words(session: Mapping[str, Any], names: Collection[str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in _packages(session).items() if name in names)


def _apart(values: Mapping[str, set[str]]) -> list[str]:
    """The names that share no value with any other, of those of which values are known."""
    known = {name: own for name, own in values.items() if own}
    return [
        name
        for name, own in known.items()
        if own.isdisjoint(set().union(*(v for other, v in known.items() if other != name)))
    ]


CHECKS = (
    Check("mixed-versions", "several versions of a node in one study", mixed_versions, compares=True),
    Check("outdated-versions", "other versions of nodes than this installation computes", outdated_versions),
    Check("mixed-software", "several commits, packages or processors in one study", mixed_software, compares=True),
)
