"""The page put together: everything gathered once, filled into one file with its style, script and library."""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from scorebo.report import provenance
from scorebo.report.claims import scorecard
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES
from scorebo.report.html import sections
from scorebo.report.html.figures import PageFigure, figure_list, figure_section, page_figure
from scorebo.report.html.stopped import stopped_runs
from scorebo.report.html.tables import command
from scorebo.report.style import label, title
from scorebo.store import find_runs
from scorebo.store.atomic import storage_errors, write_atomically
from scorebo.store.environment import last_session

LIBRARIES = ("d3.min.js", "plot.umd.min.js")  # in the order in which they load


def write_report(
    evidence: Evidence,
    out: Path | str,
    *,
    config_dir: Path | None = None,
    invocation: Sequence[str] = ("scorebo", "report"),
) -> list[PageFigure]:
    """Write the report on the runs of the evidence.

    Args:
        evidence: the runs.
        out: the file; its folder is made if it is not there.
        config_dir: where the user's own configs are, for the commands on the page.
        invocation: the command that is said to have written it.

    Returns:
        The figures, those that could not be drawn too.
    """
    path = Path(out)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):  # told before all is computed, not after
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    figures = [page_figure(name, evidence, config_dir) for name in FIGURES]
    write_atomically(path, _page(evidence, figures, invocation))
    return figures


def _page(evidence: Evidence, figures: list[PageFigure], invocation: Sequence[str]) -> str:
    findings = scorecard(evidence)  # before the runs are counted: claims ask for experiments that have no figure
    wanted = frozenset().union(*(chosen.wanted for chosen in evidence.chosen))
    rows = evidence.table[evidence.table["run_id"].isin(wanted)].reset_index(drop=True)
    last = rows.drop_duplicates("run_id", keep="last")
    drawn = sum(figure.data is not None for figure in figures)
    selection = {
        "results": str(evidence.results.resolve()),
        "experiments": {chosen.experiment: chosen.scale for chosen in evidence.chosen},
        "healthy_only": evidence.healthy_only,
    }
    origin = provenance.describe("report", rows, invocation, selection)
    parts = {
        "overview": sections.overview_section(rows, findings, drawn, len(figures)),
        "scorecard": sections.scorecard_section(findings, evidence.chosen),
        "figures": figure_list(figures) + "".join(map(figure_section, figures)),
        "health": sections.health_section(rows),
        "timings": sections.timings_section(rows),
        "failures": _failures(evidence, wanted, last[~last["finished"].astype(bool)]),
        "provenance": _provenance(evidence, origin),
    }
    data = {"figures": {figure.id: figure.data for figure in figures if figure.data}, "runs": _runs(evidence, last)}
    filled = _asset("page.html")
    links = "".join(f'<li><a href="#{figure.id}">{figure.id}</a></li>' for figure in figures if figure.data)
    text = {"title": f"scorebo: {evidence.results.resolve().name}", "figure-links": links, **parts}
    text |= {"style": _asset("page.css"), "script": _asset("page.js"), "library": _library(), "data": _json(data)}
    text["origin"] = _json(origin)
    # One pass over the parts between markers: what is filled in is not searched for markers again.
    pieces = filled.split("{{")
    return pieces[0] + "".join(text[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def _failures(evidence: Evidence, wanted: frozenset[str], unfinished: Any) -> str:
    from scorebo.failures import ledger_lines

    short = {run[: provenance.DIGITS] for run in wanted}
    lines = [line for line in ledger_lines(evidence.results) if line["run"].rpartition("-")[2] in short]
    return sections.failures_section(lines, unfinished, stopped_runs(evidence.results, short, evidence.chosen))


def _provenance(evidence: Evidence, origin: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(origin["runs"], sort_keys=True).encode()).hexdigest()
    git = origin["git"]
    packages = ", ".join(f"{name} {version}" for name, version in origin["packages"].items() if version)
    facts = [
        ("Command", command(shlex.join(origin["command"]))),
        ("Written", datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")),
        ("Commit", "unknown" if git is None else escape(git["commit"] + (" (with changes)" if git["dirty"] else ""))),
        ("Versions", escape(packages)),
        ("Results", f"<code>{escape(str(evidence.results.resolve()))}</code>"),
        ("Runs", f"{len(origin['runs'])}, digest of their numbers <code>{digest[:16]}</code>"),
        ("Plotting library", "Observable Plot 0.6.17 on D3 7.9.0, both under the ISC licence, inside this file"),
    ]
    there = {folder.name.rpartition("-")[2]: folder for folder in find_runs(evidence.results)}
    sessions = Counter(_session(there[run]) for run in origin["runs"] if run in there)
    return sections.provenance_section(facts, dict(sessions.most_common()))


def _session(folder: Path) -> tuple[str, ...]:
    session = last_session(folder)
    git = session.get("git") or {}
    commit = f"{git['commit'][:12]}{' (with changes)' if git.get('dirty') else ''}" if git.get("commit") else "unknown"
    packages = ", ".join(f"{name} {version}" for name, version in session.get("packages", {}).items() if version)
    cpu = str(session.get("machine", {}).get("cpu") or "unknown")
    return commit, str(session.get("python") or "unknown"), packages or "unknown", cpu


def _runs(evidence: Evidence, last: Any) -> list[list[Any]]:
    """Every run of the page: who it is, how far it came, whether its sampler was healthy, and its id."""
    short = last["run_id"].str[: provenance.DIGITS]
    healthy = ~last["run_id"].isin(evidence.unhealthy)
    columns = [
        *(last["benchmark"].map(title), last["model"], last["acquisition"].map(label), last["seed"].astype(int)),
        *(last["iteration"].astype(int), last["finished"].astype(int), healthy.astype(int), short),
    ]
    return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("</", "<\\/")


@functools.cache
def _asset(name: str) -> str:
    return resources.files("scorebo.report.html").joinpath("page", name).read_text(encoding="utf-8")


@functools.cache
def _library() -> str:
    folder = resources.files("scorebo.report.html").joinpath("vendor")
    texts = [folder.joinpath(name).read_text(encoding="utf-8") for name in LIBRARIES]
    return "\n".join(f"<script>{text}</script>" for text in texts)
