"""The parts of the page that are tables: scorecard, health of the samplers, timings, failures, where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.report.claims.base import CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED, Finding
from scorebo.report.claims.text import evidence_words, statement_words, verdict_words
from scorebo.report.html.stopped import ranges, span, stopped_table
from scorebo.report.html.tables import Cell, command, number, table
from scorebo.report.provenance import DIGITS
from scorebo.report.selection import Selection
from scorebo.report.statistics.health import THRESHOLDS, health
from scorebo.report.style import label, method_order, task_order, title
from scorebo.store.columns import PHASES, phase_columns

SIGNS = {SUPPORTED: "✓", CONTRADICTED: "✗", UNDECIDED: "?", NOT_RUN: "–"}
PHASE_WORDS = {"fit": "Fit", "metrics": "Metrics", "acquisition": "Acquisition", "evaluate": "Evaluation"}
_NAMES = ["benchmark", "model", "acquisition"]


def overview_section(rows: pd.DataFrame, words: str, findings: Sequence[Finding], drawn: int, figures: int) -> str:
    """How much there is, which runs these are (`words`), and how many claims have which verdict."""
    hours = _processor_seconds(rows).sum().sum() / 3600
    counts = [
        (f"{rows['run_id'].nunique():,}", "runs"),
        (f"{len(rows):,}", "iterations"),
        (f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}", "processor hours"),
        (f"{drawn} of {figures}", "figures"),
    ]
    size = "".join(f'<li class="tile"><span class="count">{count}</span> {words}</li>' for count, words in counts)
    verdicts = Counter(finding.verdict for finding in findings)
    tiles = "".join(
        f'<li class="tile {_class(verdict)}"><span class="count">{verdicts[verdict]}</span> '
        f'<span class="sign" aria-hidden="true">{sign}</span> {verdict}</li>'
        for verdict, sign in SIGNS.items()
    )
    shown = f'<ul class="tiles">{size}</ul><p>Runs: {escape(words)}.</p>'
    if not findings:
        return shown
    heading = f"What became of the paper’s {len(findings)} claims, each tested on the runs of its own experiments:"
    return f'{shown}<p>{heading}</p><ul class="tiles">{tiles}</ul>'


def scorecard_section(findings: Sequence[Finding], chosen: Iterable[Selection]) -> str:
    """Every claim with its verdict and its statements, and from which runs they are."""
    if not findings:
        return "<p>None of the paper’s claims is about these runs.</p>"
    rows = []
    for finding in findings:
        words = verdict_words(finding)
        badge = (
            f'<span class="badge {_class(finding.verdict)}"><span aria-hidden="true">{SIGNS[finding.verdict]}</span> '
        )
        shown = f"{badge}{escape(finding.verdict)}</span> {escape(words[len(finding.verdict) :])}"
        order = float(list(SIGNS).index(finding.verdict))
        parts = "".join(
            f'<li class="{_class(part.verdict)}"><span class="sign">{SIGNS[part.verdict]}</span> '
            f"{escape(statement_words(part))}</li>"
            for part in finding.parts
        )
        rows.append(
            [
                Cell(finding.id, float(finding.id[1:]), html=escape(finding.id)),
                finding.text,
                Cell(words, order, shown),
                number(finding.seeds) if finding.seeds else Cell("–"),
                Cell("", len(finding.parts), f'<ul class="statements">{parts}</ul>' if parts else "–"),
            ]
        )
    heads = ["Claim", "What the paper says", "Verdict", "Seeds", "Statements, with estimate and 95 % interval"]
    shown = table("Claims of the paper and what the runs say", heads, rows, classes="scorecard", roles=True)
    return f"{shown}<p>{escape(evidence_words(chosen))}</p>"


def health_section(rows: pd.DataFrame) -> str:
    """How the samplers did, by task, model and method."""
    lines = []
    for row in health(rows).to_dict("records"):
        bad = int(row["unhealthy_runs"])
        flag = _badge("warning", "!", str(bad)) if bad else None
        lines.append(
            [
                *_who(row),
                number(row["runs"]),
                Cell(str(bad), float(bad), flag),
                number(row["fits"]),
                number(row["unhealthy_fits"], ".0f"),
                number(row["divergences"], ".0f"),
                number(row["fallbacks"], ".0f"),
                *(number(row[name], ".3f") for name in ("rhat_median", "rhat_worst")),
                *(number(row[name], ".0f") for name in ("ess_median", "ess_worst")),
            ]
        )
    heads = ["Task", "Model", "Method", "Runs", "Unhealthy", "Fits", "Unhealthy fits", "Divergences", "Fallbacks"]
    heads += ["R-hat, median", "R-hat, worst", "ESS, median", "ESS, worst"]
    return f"<p>{escape(THRESHOLDS)}</p>" + table("Samplers by task, model and method", heads, lines)


def timings_section(rows: pd.DataFrame) -> str:
    """Processor seconds an iteration by phase, and hours in all."""
    spent = rows[_NAMES].join(_processor_seconds(rows))
    means = spent[rows["num_observations"].notna()].groupby(_NAMES).mean().fillna(0.0)
    hours = (spent.groupby(_NAMES).sum().sum(axis=1) / 3600).to_dict()
    seconds = dict(zip(means.index.tolist(), means.to_numpy().tolist(), strict=True))
    lines = []
    for names in _ordered(seconds):
        phases = [number(value, ".3g") for value in seconds[names]]
        whole = [number(sum(seconds[names]), ".3g"), number(hours[names], ".3g")]
        lines.append([*_who(dict(zip(_NAMES, names, strict=True))), *phases, *whole, _bar(seconds[names])])
    heads = ["Task", "Model", "Method", *PHASE_WORDS.values(), "Together", "Hours in all", "Shares"]
    key = "".join(f'<li><span class="swatch phase-{p}"></span> {words}</li>' for p, words in PHASE_WORDS.items())
    shown = table("Mean processor seconds an iteration, by phase", heads, lines)
    return f'<ul class="key" aria-label="Phases">{key}</ul>{_wall_note(rows)}{shown}'


def _processor_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """Processor seconds of every row by phase; wall seconds where a record has no others."""
    cpu = rows[phase_columns("cpu_seconds")]
    return cpu.fillna(rows[phase_columns("wall_seconds")].set_axis(cpu.columns, axis=1))


def _wall_note(rows: pd.DataFrame) -> str:
    without = rows[rows[phase_columns("cpu_seconds")].isna().all(axis=1)]["run_id"].nunique()
    if not without:
        return ""
    runs = rows["run_id"].nunique()
    return f"<p>{without} of {runs} runs have no processor seconds: for them these are seconds of wall time.</p>"


def _bar(parts: list[float]) -> Cell:
    whole = sum(parts) or 1.0
    shares = {phase: value / whole for phase, value in zip(PHASES, parts, strict=True)}
    words = ", ".join(f"{PHASE_WORDS[phase]} {share:.0%}" for phase, share in shares.items())
    spans = "".join(f'<span class="phase-{p}" style="width:{100 * share:.1f}%"></span>' for p, share in shares.items())
    shown = f'<span class="bar" role="img" aria-label="{words}" title="{words}">{spans}</span>'
    return Cell(words, shares["fit"], shown)


def failures_section(lines: Iterable[Mapping[str, Any]], unfinished: pd.DataFrame, lost: Sequence[Any]) -> str:
    """What fell back or failed, runs that stopped and runs that have not ended, each summed up by task and method.

    Args:
        lines: of the runs' ledgers.
        unfinished: the last record of every run that has not ended.
        lost: where the runs stand that nobody goes on with.
    """
    sums: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        names = Path(line["run"]).parts[-4:-1]
        sums.setdefault((*names, line["kind"], line["reason"]), []).append(line)
    rows = [
        [title(task), label(method), kind, reason, number(len(group)), number(sum(line["count"] for line in group)),
         Cell("", None, command(f"scorebo replay {group[0]['run']} --iteration {group[0]['iterations'][0]}"))]
        for (task, _, method, kind, reason), group in sums.items()
    ]  # fmt: skip
    heads = ["Task", "Method", "What", "Reason", "Runs", "Times", "The first of them again"]
    parts = [table("Retries, fallbacks and failures", heads, rows)] if rows else []
    parts += [stopped_table(lost)] if lost else []
    stopped = {run.run_id[:DIGITS] for run in lost}
    going_on = unfinished[~unfinished["run_id"].str[:DIGITS].isin(stopped)]
    parts += [_open_runs(going_on)] if len(going_on) else []
    return "".join(parts) or "<p>Nothing failed or fell back.</p>"


def _open_runs(rows: pd.DataFrame) -> str:
    lines = [
        [*_who(group.iloc[0].to_dict()), number(len(group)), ranges(group["seed"]), span(group["iteration"])]
        for _, group in rows.groupby(_NAMES, sort=False)
    ]
    heads = ["Task", "Model", "Method", "Runs", "Seeds", "Iterations"]
    return table("Runs that have not ended", heads, lines)


def failed_points_table(rows: pd.DataFrame) -> str:
    """How many points failed in each run that went on with others; nothing where none did."""
    names = [*_NAMES, "seed", "run_id"]
    runs = rows.groupby(names, sort=False)[["num_failed_points"]].sum().reset_index()
    lines = [
        [*_who(row), number(row["seed"]), number(row["num_failed_points"])]
        for row in runs[runs["num_failed_points"] > 0].to_dict("records")
    ]
    heads = ["Task", "Model", "Method", "Seed", "Failed points"]
    return table("Failed evaluations, replaced by other points", heads, lines) if lines else ""


def provenance_section(facts: Sequence[tuple[str, str]], sessions: Mapping[tuple[str, ...], int]) -> str:
    """What the page was made with, and what its runs were computed with."""
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{shown}</dd></div>" for name, shown in facts)
    rows = [[*session, number(count)] for session, count in sessions.items()]
    heads = ["Commit", "Python", "Packages", "Processor", "Runs"]
    return f'<dl class="facts">{items}</dl>' + table("What the runs were computed with", heads, rows)


def _who(row: Mapping[Any, Any]) -> list[str]:
    return [title(row["benchmark"]), str(row["model"]), label(row["acquisition"])]


def _ordered(names: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    found = list(names)
    tasks, methods = task_order(n[0] for n in found), method_order(n[2] for n in found)
    return sorted(found, key=lambda n: (tasks.index(n[0]), n[1], methods.index(n[2])))


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _badge(kind: str, sign: str, words: str) -> str:
    return f'<span class="badge {kind}"><span aria-hidden="true">{sign}</span> {escape(words)}</span>'
