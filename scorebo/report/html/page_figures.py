"""The figures of the page: their data for its script, their captions, and the commands behind every curve."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scorebo.errors import InputError
from scorebo.report.evidence import Evidence
from scorebo.report.figures.base import Figure
from scorebo.report.figures.draw import FIGURES, OWN_FITS, figure_input
from scorebo.report.figures.render import render
from scorebo.report.html.paired_tests import paired_tests
from scorebo.report.html.panels import figure_panels
from scorebo.report.query import Query
from scorebo.report.selection import NoRunsError, Selection
from scorebo.report.statistics.table import paper_order
from scorebo.report.style import label, title

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
    """A figure on the page: the panels that its script draws, or a picture. Where `data` is None, `state` says why.

    `chosen` says from which runs it was drawn; None for one that has none. `tests` are ranks and paired tests.
    """

    id: str
    words: str
    state: str
    command: str
    chosen: Selection | None = None
    data: dict[str, Any] | None = None
    tests: dict[str, Any] | None = None


def figures_of(evidence: Evidence, more: Iterable[str]) -> dict[str, str]:
    """The page's figures and what they show: all, or for chosen runs their experiment's or `GENERAL`; and `more`."""
    query = evidence.query
    own = evidence.figures(query.experiment) if query.experiment else []
    found = {name: FIGURES[name].description for name in (own if query.explicit else FIGURES)} or GENERAL
    found = {**found, **{name: FIGURES[name].description for name in more if name not in found}}
    twice = [name for name, count in Counter(FIGURES[name].id for name in found).items() if count > 1]
    if twice:
        raise InputError(f"The page would have two figures '{twice[0]}': give one of them another id.")
    return found


def page_figure(name: str, evidence: Evidence, words: str | None = None) -> PageFigure:
    """Compute a figure; one whose runs are missing says so. `words` say what it shows, by default as in the paper."""
    figure = FIGURES[name]
    words = words or figure.description
    try:
        table, chosen, notes = figure_input(figure, evidence)
        found = figure.compute(table, notes)
    except InputError as error:
        # Of runs that were chosen all of it, which says how to choose others.
        reason = str(error)
        if isinstance(error, NoRunsError) and not evidence.query.explicit:
            reason = error.brief
        return PageFigure(figure.id, words, reason, _missing(name, figure, evidence))
    state = OWN_FITS if chosen is None else str(chosen)
    data = figure_panels(found)
    if data is None:
        picture = base64.b64encode(render(found, ".svg")).decode()
        data = {"picture": f"data:image/svg+xml;base64,{picture}", "notes": notes}
    data["curves"] = [] if chosen is None or chosen.experiment is None else _curves(chosen, evidence)
    tests = data["tests"] = paired_tests(figure, chosen)
    command = _plot(name, figure, chosen.query if chosen else None)
    return PageFigure(figure.id, words, state, command, chosen, data, tests)


def _plot(name: str, figure: Figure, query: Query | None) -> str:
    options = [] if query is None else query.arguments()
    return shlex.join(["scorebo", "plot", name, *options, "--out", f"{figure.id}.pdf"])


def _missing(name: str, figure: Figure, evidence: Evidence) -> str:
    """The command that computes the runs of a figure; for runs that were chosen, the one that draws them."""
    query = evidence.query
    if query.explicit or figure.experiment is None:
        return _plot(name, figure, query)
    words = ["scorebo", "sweep", f"experiment={figure.experiment}", f"results={query.folder}"]
    return shlex.join([*words, *(["--scale", query.scale] if query.scale else []), *_own(query)])


def _curves(chosen: Selection, evidence: Evidence) -> list[tuple[str, str, str, str]]:
    """Task, method and model of every curve in words, and the command that computes its runs."""
    groups = chosen.table[["benchmark", "acquisition", "model"]].drop_duplicates()
    groups = groups.sort_values(list(groups.columns), key=paper_order)
    several = evidence.has_models(chosen)
    last = [f"seed={','.join(map(str, sorted(set(chosen.table['seed']))))}"] if chosen.query.seeds else []
    last += [f"results={chosen.query.folder}", "--scale", str(chosen.scale), *_own(chosen.query)]
    found = []
    for task, method, model in groups.itertuples(index=False):
        words = ["scorebo", "sweep", f"experiment={chosen.experiment}", f"benchmark={task}"]
        words += [f"model={model}"] if several else []
        # An experiment need not name its challenger.
        own = f"experiment.acquisitions=[{method}]" if method == chosen.query.challenger else f"acquisition={method}"
        found.append((title(task), label(method), model, shlex.join([*words, own, *last])))
    return found


def _own(query: Query) -> list[str]:
    return [] if query.config_dir is None else ["--config-dir", str(query.config_dir)]
