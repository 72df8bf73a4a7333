"""Draw a figure, from a table or from the runs that a query asks for: as a matplotlib figure or into a file."""

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
from scorebo.report.figures import written
from scorebo.report.figures.base import Figure, FigureData, Picture
from scorebo.report.figures.hyperparameter_curves import check_one_model
from scorebo.report.figures.layout import Layout, relabeled
from scorebo.report.figures.paper import PAPER
from scorebo.report.figures.render import picture, render
from scorebo.report.overlay import draw_over
from scorebo.report.query import Query
from scorebo.report.registry import Registry
from scorebo.report.selection import Selection
from scorebo.report.style import FORMATS, labeled

FIGURES = Registry(Figure, PAPER)
OWN_FITS = "from small fits of its own"


def plot(
    figure: Figure | str,
    runs: Query | Evidence | pd.DataFrame | Path | str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    width: str | float | None = None,
    font: str | None = None,
    notes: bool = True,
    released_style: bool = False,
    published: pd.DataFrame | None = None,
) -> Picture:
    """A figure of stored runs as a matplotlib figure, to be changed further or saved by `savefig`.

    Args:
        figure: A figure, or a name of `FIGURES`.
        runs: Which runs: a `Query`, whose filters choose as those of `scorebo plot` do; a results folder; or a table,
            all of whose runs are drawn. None for a figure from small fits.
        labels: What tasks, methods, models, axes and panels are called, by name.
        width: `"one"` or `"two"` columns of a journal, or a number of centimeters.
        font: A family, a size in points, or both, as in `"Times New Roman, 9"`.
        notes: Whether notes (missing runs, smoothing) stand below the panels.
        released_style: Bands of half a standard error, and sort indices in place of ranks, as in the authors' plots.
        published: Curves of `scorebo.report.overlay.read_overlay`, drawn dashed behind.

    Example:
        >>> from scorebo.report import Query, plot
        >>> figure = plot("al-rmse", Query("results", acquisition=("bald", "sal_hr")), width="one")  # doctest: +SKIP
    """
    figure = FIGURES[figure] if isinstance(figure, str) else figure
    layout = Layout(width, font, labels or {}, notes)
    told: list[str] = []
    if runs is None or isinstance(runs, pd.DataFrame):
        table = runs
    else:
        table, _, told = figure_input(figure, runs if isinstance(runs, Evidence) else Evidence(runs))
    data = computed(figure, table, told, layout=layout, released_style=released_style, published=published)
    return picture(data, layout)


def computed(
    figure: Figure,
    table: pd.DataFrame | None,
    notes: Sequence[str] = (),
    *,
    layout: Layout,
    released_style: bool = False,
    published: pd.DataFrame | None = None,
) -> FigureData | Picture:
    """What is drawn from a table, under the labels of the layout."""
    with labeled(layout.labels):
        data = figure.compute(table, notes, released_style=released_style, rc=layout.rc)
        if published is not None:
            data = _draw_over(figure, data, published)
    return relabeled(data, table, layout.labels) if layout.labels else data


def draw(
    figure: Figure | str,
    table: pd.DataFrame | None,
    out: Path | str,
    *,
    command: Sequence[str] | None = None,
    selection: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    layout: Layout | None = None,
    caption: Path | str | None = None,
    data: Path | str | None = None,
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
        layout: Width, font, labels, and whether notes are written.
        caption: A file for a caption: what the band is, seeds, smoothing; with the ending .tex escaped for LaTeX.
        data: A CSV file for the numbers that are drawn.
        released_style: Bands of half a standard error, and sort indices in place of ranks, as in the authors' plots.
        published: Curves of `read_overlay`, drawn dashed behind; the figure must have a `metric`.

    Returns:
        The path of the file.
    """
    figure = FIGURES[figure] if isinstance(figure, str) else figure
    path, layout = Path(out), layout or Layout()
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"The figure's file must end in {', '.join(FORMATS)}, got '{path}'.")
    if data is not None and Path(data).suffix.lower() != ".csv":
        raise InputError(f"The file of the drawn numbers must end in .csv, got '{data}'.")
    origin = provenance.describe(figure.id, table, sys.argv if command is None else command, selection)
    found = computed(figure, table, notes, layout=layout, released_style=released_style, published=published)
    files: dict[Path, str | bytes] = {path: render(found, suffix, provenance.metadata(origin, suffix), layout)}
    with labeled(layout.labels):
        if caption is not None:
            latex = Path(caption).suffix.lower() == ".tex"
            files[Path(caption)] = written.caption(figure, found, table, latex=latex)
        if data is not None:
            files[Path(data)] = written.drawn_table(found).to_csv(index=False)
    for file, content in files.items():
        with storage_errors(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return path


def _draw_over(figure: Figure, data: FigureData | Picture, published: pd.DataFrame) -> FigureData:
    if figure.metric is None or not isinstance(data, FigureData):
        able = ", ".join(other.id for other in FIGURES.values() if other.metric)
        raise InputError(f"Published curves cannot be drawn over {figure.id}; they can over {able}.")
    return draw_over(data, figure.metric, published)


def draw_runs(figure: Figure, evidence: Evidence | None, out: Path, *, command: Sequence[str], **more: Any) -> str:
    """`draw` from those of the runs asked for that the figure shows; returns in words which these are.

    `evidence` is None for a figure from small fits; `more` are further arguments of `draw`.
    """
    table, chosen, notes = figure_input(figure, evidence)
    selection = None if chosen is None else {**chosen.query.as_dict(), "source": figure.source}
    draw(figure, table, out, command=command, selection=selection, notes=notes, **more)
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
