"""Draw a figure into a file: from a table, or from the runs that a query asks for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.errors import InputError
from scorebo.files import storage_errors, write_atomically
from scorebo.report import provenance
from scorebo.report.evidence import Evidence
from scorebo.report.figures.base import Figure, FigureData, Picture
from scorebo.report.figures.hyperparameter_curves import check_one_model
from scorebo.report.figures.paper import PAPER
from scorebo.report.figures.render import render
from scorebo.report.overlay import draw_over
from scorebo.report.registry import Registry
from scorebo.report.selection import Selection
from scorebo.report.style import FORMATS

FIGURES = Registry(Figure, PAPER)
OWN_FITS = "from small fits of its own"


def draw(
    figure: Figure | str,
    table: pd.DataFrame | None,
    out: Path | str,
    *,
    command: Sequence[str] | None = None,
    selection: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    narrow: bool = False,
    released_style: bool = False,
    published: pd.DataFrame | None = None,
) -> Path:
    """Draw a figure from a table of results into a file; the table's runs are all drawn, so select them before.

    Args:
        figure: A figure, or a name of `FIGURES`.
        table: The tidy table, see `scorebo.report.statistics.table`; of `collect_hyperparameters` for figures of
            these; None for figures from small fits.
        out: The file; its ending (.pdf, .png or .svg) says the format. Its folder is made if it is not there.
        command: What the file says it was drawn with; by default this process's command.
        selection: How the runs were chosen, also kept in the file.
        notes: Written below panels of lines, before their own; a figure that draws itself takes none.
        narrow: Laid out for one column of a journal instead of two.
        released_style: Bands of half a standard error, and sort indices in place of ranks, as in the authors' plots.
        published: Curves of `read_overlay`, drawn dashed behind; the figure must have a `metric`.

    Returns:
        The path of the file.
    """
    figure = FIGURES[figure] if isinstance(figure, str) else figure
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"The figure's file must end in {', '.join(FORMATS)}, got '{path}'.")
    origin = provenance.describe(figure.id, table, sys.argv if command is None else command, selection)
    data = figure.compute(table, notes, released_style=released_style)
    if published is not None:
        data = _draw_over(figure, data, published)
    content = render(data, suffix, provenance.metadata(origin, suffix), narrow=narrow)
    with storage_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path


def _draw_over(figure: Figure, data: FigureData | Picture, published: pd.DataFrame) -> FigureData:
    if figure.metric is None or not isinstance(data, FigureData):
        able = ", ".join(other.id for other in FIGURES.values() if other.metric)
        raise InputError(f"Published curves cannot be drawn over {figure.id}; they can over {able}.")
    return draw_over(data, figure.metric, published)


def draw_runs(figure: Figure, evidence: Evidence | None, out: Path, *, command: Sequence[str], **layout: Any) -> str:
    """`draw` from those of the runs asked for that the figure shows; returns in words which these are.

    `evidence` is None for a figure from small fits; `layout` are further arguments of `draw`.
    """
    table, chosen, notes = figure_input(figure, evidence)
    selection = None if chosen is None else {**chosen.query.as_dict(), "source": figure.source}
    draw(figure, table, out, command=command, selection=selection, notes=notes, **layout)
    return OWN_FITS if chosen is None else str(chosen)


def figure_input(figure: Figure, evidence: Evidence | None) -> tuple[pd.DataFrame | None, Selection | None, list[str]]:
    """What a figure is drawn from: its table, which runs these are (None of small fits), and what to know of them."""
    if evidence is None or figure.source == "fits":
        return None, None, []
    chosen = evidence.selection(figure.experiment)
    table = chosen.table
    if figure.source == "hyperparameters":
        check_one_model(table)  # before all sets are read
        table = evidence.hyperparameters_of(table)
    return table, chosen, [*chosen.missing, *evidence.health_notes(chosen)]
