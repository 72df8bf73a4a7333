"""The one renderer: panels of lines with bands, a shared legend, and notes below."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from scorebo.report.figures.base import FigureData, Panel
from scorebo.report.style import DPI, FORMATS, RC, MethodStyle, label, method_order, method_styles

ROW = 1.75  # inches of height for a row of panels
TWO_COLUMNS, ONE_COLUMN = 7.2, 3.5  # inches of width in a journal
TICK_STEPS = [1, 2, 2.5, 5, 10]
NOTE_SIZE = 6.0
REFERENCE_COLOR, REFERENCE_OPACITY = "#444444", 0.12
NOTE_CHARACTERS_PER_INCH = 20  # 22 of average letters, but a line may have many wide ones
RUNS_SIZE = 5.0
LEGEND_HANDLE, LEGEND_LETTER = 0.5, 0.065  # inches
CROP = 4.0  # how many times the range of most values all values may cover before the rest is cropped


def render(
    data: FigureData | Figure, suffix: str, metadata: Mapping[str, str] | None = None, *, narrow: bool = False
) -> bytes:
    """The figure as the content of a file of this kind (a key of `FORMATS`), with these entries in its metadata.

    With `narrow` it is laid out for one column of a journal, with letters as large as for two.
    """
    buffer = io.BytesIO()
    with matplotlib.rc_context(RC):  # type: ignore[arg-type]
        figure = compose(data, narrow) if isinstance(data, FigureData) else data
        if narrow and not isinstance(data, FigureData):
            narrow_drawing(figure)
        entries = {**FORMATS[suffix], **(metadata or {})}
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=DPI, metadata=entries)
    return buffer.getvalue()


def narrow_drawing(figure: Figure) -> None:
    """Fit a figure that drew itself for two columns into one; its titles in letters that leave room for each other."""
    figure.set_size_inches(ONE_COLUMN, figure.get_figheight())
    for axes in figure.axes:
        axes.set_title(textwrap.fill(axes.get_title(), 26), fontsize=6.5)
        axes.xaxis.set_major_locator(MaxNLocator(3))


def compose(data: FigureData, narrow: bool = False) -> Figure:
    """Lay the panels out in reading order; the legend fills a free cell, or stands below where there is none."""
    count = len(data.panels)
    columns = min(count, 2) if narrow else count if count <= 4 else 3 if count <= 6 else 4
    rows = math.ceil(count / columns)
    width = ONE_COLUMN if narrow else TWO_COLUMNS if columns > 2 else 3.0 * columns
    figure = Figure(figsize=(width, ROW * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = method_order(line.method for panel in data.panels for line in (*panel.lines, *panel.published))
    sources = sorted({str(line.source) for panel in data.panels for line in panel.published})
    styles = method_styles(methods)
    cropped = []
    for position, (axes, panel) in enumerate(zip(grid, data.panels, strict=False)):
        _draw_published(axes, panel, styles, sources)
        top = draw_panel(axes, panel, styles)
        if top is not None:
            cropped.append(f"{top:.2g} ({panel.title})")
        if position % columns == 0 or panel.ylabel != data.panels[position - 1].ylabel:
            axes.set_ylabel(panel.ylabel)
    for axes in grid[count:]:
        axes.set_axis_off()
    figure.align_ylabels(grid[:count])
    notes = [*data.notes, *([f"Not shown: values above {', '.join(cropped)}."] if cropped else [])]
    handles = [Line2D([], [], **styles[method]._asdict(), label=label(method)) for method in methods]
    handles += [Line2D([], [], color=REFERENCE_COLOR, linestyle=_dashes(sources, name), label=name) for name in sources]
    if any(panel.reference is not None for panel in data.panels):
        handles.append(Line2D([], [], color=REFERENCE_COLOR, linestyle="--", linewidth=0.8, label=data.reference))
    if len(grid) > count:
        grid[count].legend(handles=handles, loc="center", borderaxespad=0)
        handles = []
    _write_below(figure, handles, notes)
    return figure


def _draw_published(axes: Axes, panel: Panel, styles: dict[str, MethodStyle], sources: list[str]) -> None:
    for line in panel.published:
        dashes = _dashes(sources, str(line.source))
        axes.plot(line.x, line.mean, color=styles[line.method].color, linestyle=dashes, linewidth=0.9, zorder=1.4)


def _dashes(sources: list[str], source: str) -> Any:
    return ("--", ":", "-.")[sources.index(source) % 3]


def draw_panel(axes: Axes, panel: Panel, styles: dict[str, MethodStyle]) -> float | None:
    """Draw one panel; returns the value above which it is cropped, if it is."""
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
    if panel.log and all((line.mean > 0).all() for line in panel.lines):
        _log_scale(axes, panel)
        return None
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=TICK_STEPS))
    bottom, top, is_cropped = linear_limits(panel)
    axes.set_ylim(bottom, top)
    return top if is_cropped else None


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
            note.set(fontsize=RUNS_SIZE, color=color)


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
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    columns = max(1, int(width / max(1.1, LEGEND_HANDLE + LEGEND_LETTER * longest)))
    legend_height = 0.17 * math.ceil(len(handles) / columns) + 0.05 if handles else 0.0
    text = textwrap.fill(" ".join(notes), int(width * NOTE_CHARACTERS_PER_INCH))
    notes_height = 0.105 * (text.count("\n") + 1) + 0.06 if text else 0.0
    height = above + legend_height + notes_height
    strip = (height - above) / height
    figure.set_figheight(height)
    figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))  # type: ignore[union-attr,call-arg]
    if handles:
        anchor = (0.5, strip)
        legend = figure.legend(handles=handles, loc="upper center", bbox_to_anchor=anchor, borderpad=0, ncols=columns)
        legend.set_in_layout(False)
    if text:
        at = notes_height / height
        words = figure.text(0.008, at, text, fontsize=NOTE_SIZE, color="#555555", va="top", linespacing=1.2)
        words.set_in_layout(False)
