"""The figures of the page: their data for its script, their captions, and the commands behind every curve."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from scorebo.errors import InputError, check_choice
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES, figure_input
from scorebo.report.figures.render import FigureData
from scorebo.report.html.panels import figure_panels
from scorebo.report.html.tables import Cell, command, number, table
from scorebo.report.query import Query
from scorebo.report.selection import Selection
from scorebo.report.style import label, method_order, task_order, title

# What any runs can be shown by: a figure of the paper that draws it, and what it shows of other runs than the paper's.
GENERAL = {
    "al-mll": "Negative MLL",
    "al-rmse": "RMSE",
    "bo-regret": "Log10 inference regret",
    "saas-final": "Best observation",
    "rosenbrock4-hyperparameters": "Hyperparameters",
}


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


def figures_of(evidence: Evidence) -> dict[str, str]:
    """The figures of the page and what each shows: the paper's; for chosen runs their experiment's, or `GENERAL`."""
    query = evidence.query
    if not query.explicit:
        return {name: figure.description for name, figure in FIGURES.items()}
    own = evidence.figures(query.experiment) if query.experiment else []
    names = [check_choice(f"figure of experiment '{query.experiment}'", name, FIGURES) for name in own]
    return {name: FIGURES[name].description for name in names} or GENERAL


def page_figure(name: str, evidence: Evidence, words: str | None = None) -> PageFigure:
    """Compute a figure; one whose runs are missing says so. `words` say what it shows, by default as in the paper."""
    words = words or FIGURES[name].description
    try:
        table, chosen, notes = figure_input(name, evidence)
        found = FIGURES[name].data(table)
    except InputError as error:
        # Of runs that were chosen all of it, which says how to choose others.
        short = str(error).partition(". ")[0].partition(" (looked")[0].rstrip(".") + "."
        reason = str(error) if evidence.query.explicit else short
        return PageFigure(name, words, reason, _missing(name, evidence))
    if notes and isinstance(found, FigureData):
        found = replace(found, notes=(*notes, *found.notes))
    data = figure_panels(found)
    data["curves"] = [] if chosen is None or chosen.experiment is None else _curves(chosen, evidence)
    state = "from small fits of its own" if chosen is None else str(chosen)
    return PageFigure(name, words, state, _plot(name, chosen), data, chosen)


def figure_list(figures: Iterable[PageFigure]) -> str:
    """A table of all figures, and how many of their runs there are."""
    rows = []
    for figure in figures:
        link = Cell(figure.id, None, f'<a href="#{figure.id}">{figure.id}</a>')
        if figure.chosen is None:
            rows.append([link, figure.words, figure.state, Cell("–"), Cell("–")])
        else:
            chosen = figure.chosen
            source = f"scale {chosen.scale}" if chosen.experiment else "the runs chosen"
            rows.append([link, figure.words, source, number(chosen.found), number(chosen.expected)])
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


def _plot(name: str, chosen: Selection | None) -> str:
    options = [] if chosen is None else chosen.query.arguments()
    return shlex.join(["scorebo", "plot", name, *options, "--out", f"{name}.pdf"])


def _missing(name: str, evidence: Evidence) -> str:
    """The command that computes the runs of a figure; for runs that were chosen, the one that draws them."""
    query = evidence.query
    if query.explicit:
        return shlex.join(["scorebo", "plot", name, *query.arguments(), "--out", f"{name}.pdf"])
    words = ["scorebo", "sweep", f"experiment={name.replace('-', '_')}", f"results={query.folders[0]}"]
    return shlex.join([*words, *(["--scale", query.scale] if query.scale else []), *_own(query)])


def _curves(chosen: Selection, evidence: Evidence) -> list[tuple[str, str, str, str]]:
    """Task, method and model of every curve in words, and the command that computes its runs."""
    groups = chosen.table[["benchmark", "model", "acquisition"]].drop_duplicates()
    several = evidence.has_models(chosen)
    tasks, methods = task_order(groups["benchmark"]), method_order(groups["acquisition"])
    rows = [(str(task), str(model), str(method)) for task, model, method in groups.itertuples(index=False)]
    rows.sort(key=lambda row: (tasks.index(row[0]), methods.index(row[2]), row[1]))
    last = [f"seed={','.join(map(str, sorted(set(chosen.table['seed']))))}"] if chosen.query.seeds else []
    last += [f"results={chosen.query.folders[0]}", "--scale", str(chosen.scale), *_own(chosen.query)]
    found = []
    for task, model, method in rows:
        words = ["scorebo", "sweep", f"experiment={chosen.experiment}", f"benchmark={task}"]
        words += [f"model={model}"] if several else []
        found.append((title(task), label(method), model, shlex.join([*words, f"acquisition={method}", *last])))
    return found


def _own(query: Query) -> list[str]:
    return [] if query.config_dir is None else ["--config-dir", str(query.config_dir)]
