"""The one renderer: panels of lines with bands, a shared legend, and notes below."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from scorebo.report.figures.base import FigureData, Panel
from scorebo.report.figures.layout import COLUMNS, Layout
from scorebo.report.style import DPI, FORMATS, RC, MethodStyle, label, labeled, method_order, method_styles

ROW = 1.75  # inches of height for a row of panels
LEAST_WIDTH = 1.7  # inches of width for a panel
TWO_COLUMNS = COLUMNS["two"]
TITLE_CHARACTERS_PER_INCH = 15
TICK_STEPS = [1, 2, 2.5, 5, 10]
NOTE_SIZE = 6.0
REFERENCE_COLOR, REFERENCE_OPACITY = "#444444", 0.12
NOTE_CHARACTERS_PER_INCH = 20  # 22 of average letters, but a line may have many wide ones
RUNS_SIZE = 5.0
LEGEND_HANDLE, LEGEND_LETTER = 0.5, 0.065  # inches
CROP = 4.0  # how many times the range of most values all values may cover before the rest is cropped


def render(
    data: FigureData | Figure, suffix: str, metadata: Mapping[str, str] | None = None, layout: Layout | None = None
) -> bytes:
    """The figure as the content of a file of this kind (a key of `FORMATS`), with these entries in its metadata."""
    layout = layout or Layout()
    buffer = io.BytesIO()
    figure = picture(data, layout)
    with matplotlib.rc_context(layout.rc):  # type: ignore[arg-type]
        entries = {**FORMATS[suffix], **(metadata or {})}
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=DPI, metadata=entries)
    return buffer.getvalue()


def picture(data: FigureData | Figure, layout: Layout) -> Figure:
    """The matplotlib figure, laid out."""
    with matplotlib.rc_context(layout.rc), labeled(layout.labels):  # type: ignore[arg-type]
        if isinstance(data, FigureData):
            figure = compose(data, layout.inches, layout.notes)
        else:
            figure = data
            if layout.inches is not None:
                fit_drawing(figure, layout.inches)
        figure.draw_without_rendering()  # ticks get their font when they are first drawn
    return figure


def fit_drawing(figure: Figure, width: float) -> None:
    """Fit a figure that drew itself into a width; where that is narrower, its titles and legends get more lines."""
    before, height = figure.get_size_inches()
    figure.set_size_inches(width, height)
    for axes in figure.axes:
        if width < before:
            place = axes.get_subplotspec()
            columns = 1 if place is None else place.get_gridspec().ncols
            letters = max(8, int(TITLE_CHARACTERS_PER_INCH * width / columns))
            axes.set_title(textwrap.fill(axes.get_title(), letters), fontsize=min(6.5, axes.title.get_fontsize()))
            axes.xaxis.set_major_locator(MaxNLocator(2 if columns > 2 else 3, steps=[1, 2.5, 5, 10]))
    for legend in list(figure.legends):
        words = [text.get_text() for text in legend.get_texts()]
        fits = _legend_columns(width, words)
        if fits < len(words) and width < before:
            handles = [each for each in legend.legend_handles if each is not None]
            legend.remove()
            figure.legend(handles, words, loc="outside lower center", ncols=fits)


def _legend_columns(width: float, words: Sequence[str]) -> int:
    longest = max((len(text) for text in words), default=0)
    return max(1, int(width / max(1.1, letter_scale() * (LEGEND_HANDLE + LEGEND_LETTER * longest))))


def compose(data: FigureData, width: float | None = None, notes: bool = True) -> Figure:
    """Lay the panels out in reading order; the legend fills a free cell, or stands below where there is none.

    `width` in inches is by default as wide as the panels need, up to two columns of a journal; `notes` says whether the
    notes stand below.
    """
    count, letters = len(data.panels), letter_scale()
    most = max(1, int((width or TWO_COLUMNS) / LEAST_WIDTH))
    rows = math.ceil(count / most)
    columns = math.ceil(count / rows)
    rows = math.ceil(count / columns)
    width = width or (TWO_COLUMNS if columns > 2 else 3.0 * columns)
    figure = Figure(figsize=(width, ROW * max(1.0, letters) * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = method_order(line.method for panel in data.panels for line in (*panel.lines, *panel.published))
    sources = sorted({str(line.source) for panel in data.panels for line in panel.published})
    styles = method_styles(methods)
    for position, (axes, panel) in enumerate(zip(grid, data.panels, strict=False)):
        _draw_published(axes, panel, styles, sources)
        draw_panel(axes, panel, styles)
        if position % columns == 0 or panel.ylabel != data.panels[position - 1].ylabel:
            axes.set_ylabel(panel.ylabel)
    for axes in grid[count:]:
        axes.set_axis_off()
    figure.align_ylabels(grid[:count])
    handles = _handles(data, methods, styles, sources)
    if len(grid) > count:
        grid[count].legend(handles=handles, loc="center", borderaxespad=0)
        handles = []
    _write_below(figure, handles, [*data.notes, *cropped_note(data)] if notes else [])
    return figure


def letter_scale() -> float:
    """How much larger letters are than usual, by matplotlib's present settings."""
    return float(matplotlib.rcParams["font.size"]) / float(RC["font.size"])


def _handles(data: FigureData, methods: list[str], styles: dict[str, MethodStyle], sources: list[str]) -> list[Line2D]:
    handles = [Line2D([], [], **styles[method]._asdict(), label=label(method)) for method in methods]
    handles += [Line2D([], [], color=REFERENCE_COLOR, linestyle=_dashes(sources, name), label=name) for name in sources]
    if any(panel.reference is not None for panel in data.panels):
        handles.append(Line2D([], [], color=REFERENCE_COLOR, linestyle="--", linewidth=0.8, label=data.reference))
    return handles


def _draw_published(axes: Axes, panel: Panel, styles: dict[str, MethodStyle], sources: list[str]) -> None:
    for line in panel.published:
        dashes = _dashes(sources, str(line.source))
        axes.plot(line.x, line.mean, color=styles[line.method].color, linestyle=dashes, linewidth=0.9, zorder=1.4)


def _dashes(sources: list[str], source: str) -> Any:
    return ("--", ":", "-.")[sources.index(source) % 3]


def cropped_note(data: FigureData) -> list[str]:
    """Which values are not shown, because they lie far above all others of their panel; nothing if all are."""
    limits = [(panel.title, *linear_limits(panel)) for panel in data.panels if not _is_logged(panel)]
    cropped = [f"{top:.2g} ({title})" for title, _, top, is_cropped in limits if is_cropped]
    return [f"Not shown: values above {', '.join(cropped)}."] if cropped else []


def _is_logged(panel: Panel) -> bool:
    return panel.log and all((line.mean > 0).all() for line in panel.lines)


def draw_panel(axes: Axes, panel: Panel, styles: dict[str, MethodStyle]) -> None:
    """Draw one panel."""
    # Bands that lie on one another must leave the lines visible.
    opacity = 0.18 if len(panel.lines) <= 3 else 0.11
    for number, line in enumerate(panel.lines):
        style = styles[line.method]
        # About four markers a line, shifted from line to line so that they do not cover one another.
        step = len(line.x) // 4
        every = (step * (2 * number + 1) // (2 * len(panel.lines)), step) if len(line.x) > 12 else None
        axes.plot(line.x, line.mean, **style._asdict(), markevery=every)
        low, high = line.mean - line.band, line.mean + line.band
        axes.fill_between(line.x, low, high, color=style.color, alpha=opacity, linewidth=0)
    if panel.reference is not None:
        axes.axhline(panel.reference, color=REFERENCE_COLOR, linestyle="--", linewidth=0.8, zorder=1.5)
        if panel.reference_band:
            low, high = panel.reference - panel.reference_band, panel.reference + panel.reference_band
            axes.axhspan(low, high, color=REFERENCE_COLOR, alpha=REFERENCE_OPACITY, linewidth=0, zorder=0.5)
    _write_runs(axes, panel, styles)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.xlabel)
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=TICK_STEPS))
    if _is_logged(panel):
        _log_scale(axes, panel)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=TICK_STEPS))
        axes.set_ylim(*linear_limits(panel)[:2])


def _write_runs(axes: Axes, panel: Panel, styles: dict[str, MethodStyle]) -> None:
    """Write how many runs are averaged where a line's number changes, if the panel's numbers are not all the same."""
    counted = [(line, line.runs) for line in panel.lines if line.runs is not None]
    if len({count for _, runs in counted for count in runs.tolist()}) == 1:
        return
    for line, runs in counted:
        color = styles[line.method].color
        for at in np.flatnonzero(np.diff(runs, prepend=-1))[:6]:
            place, offset = (line.x[at], line.mean[at]), (0, 2)
            note = axes.annotate(f"{runs[at]}", place, offset, textcoords="offset points", annotation_clip=True)
            note.set(fontsize=RUNS_SIZE * letter_scale(), color=color)


def linear_limits(panel: Panel) -> tuple[float, float, bool]:
    """Limits of a linear axis: all bands, unless a few values far above would press all others flat.

    The first models of a run, or a single failed fit, can be orders of magnitude worse than everything after them.

    Returns:
        Bottom, top, and whether values lie above the top.
    """
    at = np.nan if panel.reference is None else panel.reference
    values = np.append(_edges(panel), [at - panel.reference_band, at + panel.reference_band])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    means = np.concatenate([line.mean for line in panel.lines])
    least, most = np.nanmin(means), np.nanquantile(means, 0.9)
    cropped = panel.crop and high - least > CROP * (most - least) > 0
    if cropped:
        low, high = max(low, least - 0.5 * (most - least)), least + 1.5 * (most - least)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high if cropped else high + margin, bool(cropped)


def _log_scale(axes: Axes, panel: Panel) -> None:
    """A logarithmic axis labeled in plain numbers; the part of a band that is not positive is cut off."""
    axes.set_yscale("log", nonpositive="clip")
    means = np.concatenate([line.mean for line in (*panel.lines, *panel.published)])
    # A band that nearly reaches zero must not stretch the axis.
    low, high = max(np.nanmin(_edges(panel)), means.min() / 2), np.nanmax(_edges(panel))
    axes.set_ylim(low / 1.08, high * 1.08)
    decades = math.log10(high / low)
    ticks = (1.0, 2.0, 3.0, 5.0) if decades < 1 else (1.0, 2.0, 5.0) if decades < 2 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _edges(panel: Panel) -> np.ndarray:
    lines = (*panel.lines, *panel.published)
    return np.concatenate([line.mean + sign * np.nan_to_num(line.band) for line in lines for sign in (-1, 1)])


def _write_below(figure: Figure, handles: list[Line2D], notes: list[str]) -> None:
    """Add a strip for legend and notes below the panels, as high as they need."""
    width, above = figure.get_size_inches()
    letters = letter_scale()
    columns = _legend_columns(width, [str(handle.get_label()) for handle in handles])
    legend_height = letters * 0.17 * math.ceil(len(handles) / columns) + 0.05 if handles else 0.0
    text = textwrap.fill(" ".join(notes), int(width * NOTE_CHARACTERS_PER_INCH / letters))
    notes_height = letters * 0.105 * (text.count("\n") + 1) + 0.06 if text else 0.0
    height = above + legend_height + notes_height
    strip = (height - above) / height
    figure.set_figheight(height)
    figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))  # type: ignore[union-attr,call-arg]
    if handles:
        anchor = (0.5, strip)
        legend = figure.legend(handles=handles, loc="upper center", bbox_to_anchor=anchor, borderpad=0, ncols=columns)
        legend.set_in_layout(False)
    if text:
        size, at = NOTE_SIZE * letters, notes_height / height
        words = figure.text(0.008, at, text, fontsize=size, color="#555555", va="top", linespacing=1.2)
        words.set_in_layout(False)
