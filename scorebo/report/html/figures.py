"""The figures of the page: their data for its script, their captions, and the commands behind every curve."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES, figure_input
from scorebo.report.html.panels import figure_panels
from scorebo.report.html.tables import Cell, command, number, table
from scorebo.report.render import FigureData
from scorebo.report.style import label, method_order, task_order, title
from scorebo.selection import Selection


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page, or why it is not there: `data` is None then.

    `chosen` says from which runs it was drawn; None for one that has none.
    """

    id: str
    words: str
    state: str
    command: str
    data: dict[str, Any] | None = None
    chosen: Selection | None = None


def page_figure(name: str, evidence: Evidence, config_dir: Path | None) -> PageFigure:
    """Compute a figure; one whose runs are missing says so."""
    words = FIGURES[name].description
    try:
        table, chosen, notes = figure_input(name, evidence)
        found = FIGURES[name].data(table)
    except InputError as error:
        reason = str(error).partition(". ")[0].partition(" (looked")[0].rstrip(".") + "."
        return PageFigure(name, words, reason, _run_all(name, evidence, config_dir))
    if notes and isinstance(found, FigureData):
        found = replace(found, notes=(*notes, *found.notes))
    data = figure_panels(found)
    data["curves"] = [] if chosen is None else _curves(chosen, evidence, config_dir)
    state = "from small fits of its own" if chosen is None else str(chosen)
    return PageFigure(name, words, state, _plot(name, chosen, evidence, config_dir), data, chosen)


def figure_list(figures: Iterable[PageFigure]) -> str:
    """A table of all figures, and how many of their runs there are."""
    rows = []
    for figure in figures:
        link = Cell(figure.id, None, f'<a href="#{figure.id}">{figure.id}</a>')
        if figure.chosen is None:
            rows.append([link, figure.words, figure.state, Cell("–"), Cell("–")])
        else:
            chosen = figure.chosen
            rows.append([link, figure.words, f"scale {chosen.scale}", number(chosen.found), number(chosen.expected)])
    return table("Figures and their runs", ["Figure", "What", "Drawn from", "Runs", "of"], rows)


def figure_section(figure: PageFigure) -> str:
    """The place of a figure on the page; its panels are drawn there by the script."""
    head = f'<h3>{escape(figure.words)}</h3><p class="state"><code>{figure.id}</code> {escape(figure.state)}</p>'
    commands = command(figure.command)
    if figure.data is None:
        return f'<article class="figure missing" id="{figure.id}">{head}{commands}</article>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in figure.data["notes"])
    below = f'<ul class="notes">{notes}</ul>' if notes else ""
    return (
        f'<article class="figure" id="{figure.id}">{head}<figure aria-label="{escape(figure.words, quote=True)}">'
        f'<div class="controls"></div><div class="panels" data-figure="{figure.id}"></div>'
        f'<figcaption class="below">{below}</figcaption></figure>'
        f'<div class="more">{commands}</div></article>'
    )


def _plot(name: str, chosen: Selection | None, evidence: Evidence, config_dir: Path | None) -> str:
    words = ["scorebo", "plot", name]
    if chosen is not None:
        words += ["--results", str(evidence.results), "--scale", chosen.scale]
        words += ["--healthy-only"] if evidence.healthy_only else []
        words += _own(config_dir)
    return shlex.join([*words, "--out", f"{name}.pdf"])


def _run_all(name: str, evidence: Evidence, config_dir: Path | None) -> str:
    words = ["scorebo", "sweep", f"experiment={name.replace('-', '_')}", f"results={evidence.results}"]
    return shlex.join([*words, *(["--scale", evidence.scale] if evidence.scale else []), *_own(config_dir)])


def _curves(chosen: Selection, evidence: Evidence, config_dir: Path | None) -> list[tuple[str, str, str, str]]:
    """Task, method and model of every curve in words, and the command that computes its runs."""
    groups = chosen.table[["benchmark", "model", "acquisition"]].drop_duplicates()
    several = evidence.has_models(chosen.experiment, chosen.scale)
    tasks, methods = task_order(groups["benchmark"]), method_order(groups["acquisition"])
    rows = [(str(task), str(model), str(method)) for task, model, method in groups.itertuples(index=False)]
    rows.sort(key=lambda row: (tasks.index(row[0]), methods.index(row[2]), row[1]))
    found = []
    for task, model, method in rows:
        words = ["scorebo", "sweep", f"experiment={chosen.experiment}", f"benchmark={task}"]
        words += [f"model={model}"] if several else []
        words += [f"acquisition={method}", f"results={evidence.results}", "--scale", chosen.scale, *_own(config_dir)]
        found.append((title(task), label(method), model, shlex.join(words)))
    return found


def _own(config_dir: Path | None) -> list[str]:
    return [] if config_dir is None else ["--config-dir", str(config_dir)]
