"""The one renderer: panels of lines with bands, a shared legend, and notes below."""

from __future__ import annotations

import io
import math
import textwrap
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from scorebo.report.style import DPI, FORMATS, RC, MethodStyle, label, method_order, method_styles

ROW = 1.75  # inches of height for a row of panels
NOTE_SIZE = 6.0
NOTE_CHARACTERS_PER_INCH = 22
CROP = 4.0  # how many times the range of most values all values may cover before the rest is cropped


@dataclass(frozen=True)
class Line:
    """A method's line: `x`, `mean` and the half-width of its band (NaN where there is none), all of one length."""

    method: str
    x: np.ndarray
    mean: np.ndarray
    band: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...]
    log: bool = False


@dataclass(frozen=True)
class FigureData:
    """All that is drawn: nothing else goes into the picture."""

    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()


def render(data: FigureData, suffix: str) -> bytes:
    """The figure as the content of a file of this kind (a key of `FORMATS`)."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(RC):  # type: ignore[arg-type]
        figure = compose(data)
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=DPI, metadata=FORMATS[suffix])
    return buffer.getvalue()


def compose(data: FigureData) -> Figure:
    """Lay the panels out in reading order; the legend fills a free cell, or stands below where there is none."""
    count = len(data.panels)
    columns = count if count <= 4 else 3 if count <= 6 else 4
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(7.2 if columns > 2 else 3.0 * columns, ROW * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = method_order(line.method for panel in data.panels for line in panel.lines)
    styles = method_styles(methods)
    cropped = []
    for position, (axes, panel) in enumerate(zip(grid, data.panels, strict=False)):
        top = draw_panel(axes, panel, styles)
        if top is not None:
            cropped.append(f"{top:.2g} ({panel.title})")
        if position % columns == 0 or panel.ylabel != data.panels[position - 1].ylabel:
            axes.set_ylabel(panel.ylabel)
    for axes in grid[count:]:
        axes.set_axis_off()
    figure.align_ylabels(grid[:count])
    notes = [*data.notes, *([f"Not shown: values above {', '.join(cropped)}."] if cropped else [])]
    handles = [_handle(styles[method], label(method)) for method in methods]
    if len(grid) > count:
        grid[count].legend(handles=handles, loc="center", borderaxespad=0)
        handles = []
    _write_below(figure, handles, notes)
    return figure


def draw_panel(axes: Axes, panel: Panel, styles: dict[str, MethodStyle]) -> float | None:
    """Draw one panel; returns the value above which it is cropped, if it is."""
    for number, line in enumerate(panel.lines):
        style = styles[line.method]
        # About four markers a line, shifted from line to line so that they do not cover one another.
        step = len(line.x) // 4
        every = (step * (2 * number + 1) // (2 * len(panel.lines)), step) if len(line.x) > 12 else None
        axes.plot(line.x, line.mean, color=style.color, linestyle=style.linestyle, marker=style.marker, markevery=every)
        low, high = line.mean - line.band, line.mean + line.band
        axes.fill_between(line.x, low, high, color=style.color, alpha=0.18, linewidth=0)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.xlabel)
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if panel.log and all((line.mean > 0).all() for line in panel.lines):
        _log_scale(axes, panel)
        return None
    axes.yaxis.set_major_locator(MaxNLocator(5))
    bottom, top, is_cropped = linear_limits(panel)
    axes.set_ylim(bottom, top)
    return top if is_cropped else None


def linear_limits(panel: Panel) -> tuple[float, float, bool]:
    """Limits of a linear axis: all bands, unless a few values far above would press all others flat.

    The first models of a run, or a single failed fit, can be orders of magnitude worse than everything after them.

    Returns:
        Bottom, top, and whether values lie above the top.
    """
    edges = [line.mean + sign * np.nan_to_num(line.band) for line in panel.lines for sign in (-1, 1)]
    values = np.concatenate(edges)
    low, high = _extent(values)
    means = np.concatenate([line.mean for line in panel.lines])
    least, most = np.nanmin(means), np.nanquantile(means, 0.9)
    cropped = high - least > CROP * (most - least) > 0
    if cropped:
        low, high = max(low, least - 0.5 * (most - least)), least + 1.5 * (most - least)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high if cropped else high + margin, bool(cropped)


def _log_scale(axes: Axes, panel: Panel) -> None:
    """A logarithmic axis labelled in plain numbers; the part of a band that is not positive is cut off."""
    axes.set_yscale("log", nonpositive="clip")
    means = np.concatenate([line.mean for line in panel.lines])
    edges = np.concatenate([line.mean + sign * np.nan_to_num(line.band) for line in panel.lines for sign in (-1, 1)])
    # A band that nearly reaches zero must not stretch the axis.
    low, high = max(_extent(edges)[0], means.min() / 2), _extent(edges)[1]
    axes.set_ylim(low / 1.08, high * 1.08)
    decades = math.log10(high / low)
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if decades < 1 else (1.0, 2.0, 5.0) if decades < 2 else (1.0,))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _extent(values: np.ndarray) -> tuple[float, float]:
    return float(np.nanmin(values)), float(np.nanmax(values))


def _handle(style: MethodStyle, name: str) -> Line2D:
    return Line2D([], [], color=style.color, linestyle=style.linestyle, marker=style.marker, label=name)


def _write_below(figure: Figure, handles: list[Line2D], notes: list[str]) -> None:
    """Add a strip for legend and notes below the panels, as high as they need."""
    width, above = figure.get_size_inches()
    columns = max(1, int(width / 1.1))
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
