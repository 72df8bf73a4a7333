"""The page put together: everything gathered once, filled into one file with its style, script and library."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from scorebo.errors import InputError
from scorebo.files import storage_errors, write_atomically
from scorebo.report import provenance
from scorebo.report.claims import CLAIMS, Claim, Finding, scorecard
from scorebo.report.claims.base import NOT_RUN
from scorebo.report.claims.text import LEGEND, SIGNS, evidence_words
from scorebo.report.evidence import Evidence
from scorebo.report.failures import ledger_lines
from scorebo.report.figures import FIGURES
from scorebo.report.html import sections
from scorebo.report.html.audit_section import audit_section
from scorebo.report.html.marks import marks
from scorebo.report.html.page_figures import PageFigure, figures_of, page_figure
from scorebo.report.html.run_views import EMBEDDED, choose, run_views
from scorebo.report.html.templates import page, part
from scorebo.report.query import Query
from scorebo.report.statistics.health import THRESHOLDS, health
from scorebo.report.statistics.table import NAMES
from scorebo.report.style import display, label, method_order, task_order, title
from scorebo.store.sources import runs_by_digits, source_paths, sources_text
from scorebo.store.stored_run import StoredRun


class Content(NamedTuple):
    """What a page is about: the records of its runs, and which runs these are."""

    rows: pd.DataFrame
    wanted: frozenset[str]  # their ids, those that are not there too
    words: str
    selection: dict[str, Any]  # how to choose them again


class Section(NamedTuple):
    """A part of the page: its id, heading and HTML."""

    id: str
    heading: str
    content: str


class Following(NamedTuple):
    """What a page that follows a sweep says of it, and after how many seconds it reloads itself."""

    words: str
    pause: float


def write_report(
    evidence: Evidence,
    out: Path | str,
    *,
    invocation: Sequence[str] = ("scorebo", "report"),
    figures: Sequence[str] = (),
    claims: Sequence[str] = (),
    runs: Sequence[str] = (),
    more: Sequence[Section] = (),
    follow: Following | None = None,
) -> tuple[list[PageFigure], str]:
    """Write the report on the runs of the evidence.

    Runs that were chosen are shown as they are. Otherwise each figure and claim has the runs of its own experiment;
    where there are none of any, all runs are shown.

    Args:
        evidence: the runs.
        out: the file; its folder is made if it is not there.
        invocation: the command that is said to have written it.
        figures: further figures, by id or path (`module:name`).
        claims: further claims, likewise.
        runs: beginnings of the ids of runs that have a view of their own; up to `EMBEDDED` runs have one anyway.
        more: further sections, put after the overview.
        follow: of a sweep that goes on: what is running, and how often the page reloads itself.

    Returns:
        The figures, those that could not be drawn too, and in words which runs the page shows.
    """
    path = Path(out)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):  # told before all is computed, not after
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not evidence.query.explicit and not _has_own_runs(evidence, figures):
        evidence = evidence.everything()
    if evidence.query.explicit:
        evidence.selection()  # refused before anything is drawn, not figure by figure
    shown = [page_figure(name, evidence, words) for name, words in figures_of(evidence, figures).items()]
    # Before the runs are counted: claims ask for experiments that have no figure.
    findings = _findings(evidence, [CLAIMS[name] for name in dict.fromkeys([*CLAIMS, *claims])])
    content = _content(evidence)
    views = choose(list(dict.fromkeys(content.rows["run_id"])), runs)
    write_atomically(path, _page(evidence, shown, findings, content, invocation, views, more, follow))
    return shown, content.words


def _has_own_runs(evidence: Evidence, more: Sequence[str]) -> bool:
    """Whether the experiment of any figure has runs."""
    for figure in (FIGURES[name] for name in (*FIGURES, *more)):
        if figure.source != "fits" and figure.experiment is not None:
            with contextlib.suppress(InputError):
                evidence.of(figure.experiment)
    query = evidence.query
    if not evidence.chosen and query.scale:
        raise InputError(
            f"No figure of the paper has runs at scale {query.scale} in {sources_text(query.folders)}. "
            "Without --scale, with --experiment NAME or with --all other runs are shown."
        )
    return bool(evidence.chosen)


def _findings(evidence: Evidence, claims: Sequence[Claim]) -> list[Finding]:
    """The verdicts on all claims; for runs that were chosen, on those that are about any of them."""
    if not evidence.query.explicit:
        return scorecard(evidence, claims)
    found = scorecard(evidence, [claim for claim in claims if claim.needs_runs])
    return [finding for finding in found if finding.verdict != NOT_RUN]


def _content(evidence: Evidence) -> Content:
    if evidence.query.explicit:
        chosen = evidence.selection()
        return Content(chosen.table, chosen.wanted, str(chosen), chosen.query.as_dict())
    wanted = frozenset().union(*(chosen.wanted for chosen in evidence.chosen))
    rows = evidence.table[evidence.table["run_id"].isin(wanted)].reset_index(drop=True)
    others = evidence.table["run_id"].nunique() - rows["run_id"].nunique()
    words = f"{rows['run_id'].nunique()} runs of the paper's experiments"
    words += f"; {others} other runs ignored, which --all or --experiment NAME shows" if others else ""
    experiments = {chosen.experiment: chosen.scale for chosen in evidence.chosen}
    return Content(rows, wanted, words, evidence.query.as_dict() | {"experiments": experiments})


def _page(
    evidence: Evidence,
    figures: list[PageFigure],
    findings: list[Finding],
    content: Content,
    invocation: Sequence[str],
    views: Sequence[str],
    more: Sequence[Section],
    follow: Following | None,
) -> str:
    rows = content.rows
    last = rows.drop_duplicates("run_id", keep="last")
    drawn = {figure.id: figure.data for figure in figures if figure.data}
    origin = provenance.describe("report", rows, invocation, content.selection)
    there = runs_by_digits(evidence.query.folders)
    sessions = {run: there[run].session() if run in there else {} for run in origin["runs"]}
    # What is there comes first: figures that could not be drawn stand at the end, those from small fits before them.
    ordered = sorted(figures, key=lambda figure: (not figure.data, figure.chosen is None))
    found = marks(evidence, rows, sessions)
    tested = [finding for finding in findings if finding.verdict != NOT_RUN]
    not_run = [finding for finding in findings if finding.verdict == NOT_RUN]
    unfinished = last[~last["finished"].astype(bool)]
    failures = _failures(evidence, content.wanted, there, unfinished) + sections.failed_points_table(rows)
    scored = part("scorecard", tested, not_run, SIGNS, LEGEND, evidence_words(evidence.chosen))
    written = [
        Section("overview", "Overview", sections.overview_section(rows, content.words, findings, ordered)),
        *more,
        Section("figures", "Figures", part("figures", ordered)),
        *([Section("scorecard", "Scorecard", scored)] if tested or not evidence.query.explicit else []),
        Section("audit", "Audit", audit_section(evidence)),
        Section("runs", "Runs", part("runs", len(last), len(views), EMBEDDED, _again(invocation))),
        Section("health", "Samplers", part("health", THRESHOLDS, health(rows).to_dict("records"))),
        Section("timings", "Timings", sections.timings_section(rows)),
        Section("failures", "Failures", failures),
        Section("provenance", "Provenance", _provenance(evidence, sessions, origin)),
    ]
    synthetic = " (synthetic results)" if any(mark.kind == "Synthetic" for mark in found) else ""
    return page(
        title=f"scorebo: {_title(evidence.query)}{synthetic}",
        subtitle=_subtitle(evidence),
        marks=found,
        follow=follow,
        sections=written,
        figures=ordered,
        data={
            "figures": {name: data for name, data in drawn.items() if "picture" not in data},
            "runs": _runs(evidence, last),
            "names": _names(last),
            "views": run_views(evidence, rows, views, there),
            "reload": follow.pause if follow else None,
        },
        origin=origin,
    )


def _again(invocation: Sequence[str]) -> str:
    """The command that wrote the page, with the view of one run more."""
    return shlex.join([*invocation, "--run", "ID"])


def _names(last: pd.DataFrame) -> dict[str, dict[str, str]]:
    """What tasks, models and methods are called, by name, in the paper's order: what the page is filtered by."""
    tasks, methods = task_order(last["benchmark"].unique()), method_order(last["acquisition"].unique())
    models = {model: str(display("model", model).get("label", model)) for model in sorted(last["model"].unique())}
    titles = Counter(map(title, tasks))  # of an active-learning and an optimization task they may be the same
    words = {task: title(task) if titles[title(task)] == 1 else f"{title(task)} ({task})" for task in tasks}
    return {"task": words, "model": models, "method": {method: label(method) for method in methods}}


def _title(query: Query) -> str:
    """The challenger, or where the runs are."""
    names = [folder.resolve().name for folder in source_paths(query.results)]
    return query.challenger or ", ".join([*names, *(["reference"] if query.reference else [])])


def _subtitle(evidence: Evidence) -> str:
    if not evidence.query.explicit:
        return "Self-correcting Bayesian optimization, reproduced."
    return f"Runs of experiment {evidence.query.experiment}." if evidence.query.experiment else "Selected runs."


def _failures(evidence: Evidence, wanted: frozenset[str], there: Mapping[str, StoredRun], unfinished: Any) -> str:
    short = {run[: provenance.DIGITS] for run in wanted}
    query, roots = evidence.query, [root for root in evidence.query.folders if root.is_dir()]
    lines = ledger_lines(run for identity, run in there.items() if identity in short)
    stopped = {run.run_id: run for root in roots for run in sections.stopped_runs(root, short, evidence.chosen, query)}
    return sections.failures_section(lines, unfinished, list(stopped.values()))


def _provenance(evidence: Evidence, sessions: Mapping[str, Mapping[str, Any]], origin: Mapping[str, Any]) -> str:
    written = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    folders = [root.resolve() for root in evidence.query.folders]
    digest = hashlib.sha256(json.dumps(origin["runs"], sort_keys=True).encode()).hexdigest()[:16]
    counted = Counter(_session(session) for session in sessions.values())
    command = shlex.join(origin["command"])
    return part("provenance", origin, command, written, folders, digest, dict(counted.most_common()))


def _session(session: Mapping[str, Any]) -> tuple[str, ...]:
    commit = provenance.commit_words(session.get("git"), provenance.DIGITS)
    packages = provenance.package_words(session.get("packages", {}))
    cpu = str(session.get("machine", {}).get("cpu") or "unknown")
    return commit, str(session.get("python") or "unknown"), packages or "unknown", cpu


def _runs(evidence: Evidence, last: pd.DataFrame) -> list[list[Any]]:
    """Every run of the page: who it is, how far it came, whether its sampler was healthy, and its id."""
    short = last["run_id"].str[: provenance.DIGITS]
    healthy = ~last["run_id"].isin(evidence.unhealthy)
    names = [last[name] for name in NAMES]
    counts = [column.astype(int) for column in (last["seed"], last["iteration"], last["finished"], healthy)]
    return list(map(list, zip(*names, *counts, short, strict=True)))
