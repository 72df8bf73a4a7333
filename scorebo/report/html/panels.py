"""Figures as plain data for the page's script: numbers rounded to what can be read, colors and symbols by name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.figures.metric_curves import RANKING
from scorebo.report.figures.render import linear_limits
from scorebo.report.html.seed_curves import seed_curves
from scorebo.report.statistics.curves import SMALL_NUMBERS
from scorebo.report.style import label, method_order, method_styles

DIGITS = 5
GRAY = "#777777"
DARK_PAGE = "#15181d"
# Black has no hue to keep; lightened wine red would be the mauve of another method.
ON_DARK = {"#000000": "#ededed", "#882255": "#ff5c95"}
CONTRAST = 4.5  # as asked of text: W3C, Web content accessibility guidelines 2.2, 1.4.3
LOG = "Log10 "
# In place of numbers beside the lines.
RUNS_OF_A_POINT = "How many runs a point is the mean of differs: the pointer and the values at the slider tell."
# Matplotlib's markers as the plotting library's filled symbols; those of one figure stay apart.
SYMBOLS = {
    **{"o": "circle", "s": "square", "^": "triangle", "v": "wye", "D": "diamond", "*": "star", "+": "cross"},
    **{"<": "triangle", ">": "wye", "p": "diamond", "X": "cross", "d": "diamond", "h": "star"},
    **{"P": "cross", "x": "cross", "1": "wye", "2": "triangle"},
}
DASHES = {"-": "", "--": "5 3", ":": "1.5 2.5", "-.": "6 2.5 1.5 2.5"}


def figure_panels(data: FigureData | Figure) -> dict[str, Any] | None:
    """`series` (how each line looks) and `panels` (what it shows) of a figure, and its notes.

    None for a figure that draws itself and has more than lines and bands in a grid of axes.
    """
    if not isinstance(data, FigureData):
        return _drawn(data.axes)
    methods = method_order(line.method for panel in data.panels for line in panel.lines)
    series = {
        method: _series(label(method), style.color, style.linestyle, style.marker) | {"width": style.linewidth}
        for method, style in method_styles(methods).items()
    }
    return {
        "series": series,
        "panels": [_panel(panel) for panel in data.panels],
        "notes": [RUNS_OF_A_POINT if note == SMALL_NUMBERS else note for note in data.notes],
        "reference": data.reference if any(panel.reference is not None for panel in data.panels) else None,
    }


def numbers(values: Iterable[float]) -> list[float | int | None]:
    """Rounded to `DIGITS` digits; what is not finite is None, and whole numbers have no point."""
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _series(words: str, color: str, linestyle: str, marker: str) -> dict[str, Any]:
    looks = {"label": words, "light": color.lower(), "dark": on_dark(color)}
    return looks | {"dash": DASHES.get(linestyle, ""), "symbol": SYMBOLS.get(marker, "circle")}


def on_dark(color: str) -> str:
    """The color (`#rrggbb`) mixed with as little white as gives it enough contrast with the dark page."""
    if color.lower() in ON_DARK:
        return ON_DARK[color.lower()]
    own: Any = np.array(to_rgb(color))  # a color too, which matplotlib's types do not say
    tints = (own + (1 - own) * share / 100 for share in range(0, 101, 5))
    return to_hex(next(tint for tint in tints if contrast(tint, DARK_PAGE) >= CONTRAST))


def contrast(first: ColorType, second: ColorType) -> float:
    """The ratio of two colors' luminances, from 1 to 21."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: ColorType) -> float:
    parts = np.array(to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _panel(panel: Panel) -> dict[str, Any]:
    low, high, cropped = linear_limits(panel)
    found: dict[str, Any] = {"title": panel.title, "x": panel.xlabel, "y": panel.ylabel, "log": panel.log}
    found |= {"limits": numbers([low, high]), "cropped": cropped, "lines": [_line(line) for line in panel.lines]}
    if panel.task is not None:
        found["task"] = panel.task
    if any(line.each is not None for line in panel.lines):
        found |= seed_curves(panel, found["lines"], (low, high))
    if panel.title == RANKING:
        found["fixed"] = True  # ranks have no other scale
    if panel.ylabel.startswith(LOG):
        # Logarithms were averaged: on a linear axis their powers are shown, which are geometric means.
        found["power"] = panel.ylabel.removeprefix(LOG).capitalize()
    if panel.reference is not None:
        found["reference"] = _number(panel.reference)
        if panel.reference_band:
            found["around"] = numbers([panel.reference - panel.reference_band, panel.reference + panel.reference_band])
    return found


def _line(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {"s": line.method, "x": _axis(line.x), "y": numbers(line.mean)}
    if np.isfinite(line.band).any():
        found["b"] = numbers(line.band)
    if line.runs is not None:
        found["n"] = int(line.runs[0]) if len(set(line.runs.tolist())) == 1 else [int(count) for count in line.runs]
    return found


def _axis(x: np.ndarray) -> list[Any] | dict[str, Any]:
    """Evenly spaced whole numbers by first, step and count."""
    steps = np.diff(x)
    if len(x) > 2 and (steps == steps[0]).all() and (x == np.round(x)).all():
        return {"from": int(x[0]), "by": int(steps[0]), "count": len(x)}
    return numbers(x)


def _drawn(axes: list[Axes]) -> dict[str, Any] | None:
    """The lines and bands of a figure that draws itself, column by column."""
    if not all(map(_only_lines, axes)) or not axes:
        return None
    series: dict[str, dict[str, Any]] = {}
    places = {(spec.colspan.start, spec.rowspan.start): each for each in axes if (spec := each.get_subplotspec())}
    panels = []
    for (column, row), each in sorted(places.items()):
        # A column may have one heading, and a row one label; one below the other, panels must say it themselves.
        top, left = places.get((column, 0), each).get_title(), " ".join(places.get((0, row), each).get_ylabel().split())
        label, own = " ".join(each.get_ylabel().split()) or left, each.get_title()
        panel = _axes(each, series)
        panel |= {"title": own, "y": label} if own else {"title": _joined(label, top), "y": ""}
        panels.append(panel)
    columns, rows = (len({place[axis] for place in places}) for axis in (0, 1))
    found = {"series": series, "panels": panels, "notes": [], "reference": None, "drawn": True}
    return found | {"columns": columns, "rows": rows}


def _joined(label: str, heading: str) -> str:
    """`Distance: a poor case`; an abbreviation keeps its capitals."""
    lowered = heading if heading[1:2].isupper() else heading[:1].lower() + heading[1:]
    return ": ".join(part for part in (label, lowered) if part)


def _only_lines(axes: Axes) -> bool:
    bands = all(isinstance(each, PolyCollection) for each in axes.collections)
    others = axes.images or axes.patches or axes.texts or axes.tables
    return axes.get_subplotspec() is not None and bands and not others


def _axes(axes: Axes, series: dict[str, dict[str, Any]]) -> dict[str, Any]:
    bands: dict[str, list[np.ndarray]] = {}
    for each in axes.collections:
        color = to_hex(np.asarray(each.get_facecolor())[0])
        bands.setdefault(color, []).append(np.asarray(each.get_paths()[0].vertices))
    lines = []
    for line in axes.lines:
        x, y = (np.asarray(part, dtype=float).reshape(-1) for part in (line.get_xdata(), line.get_ydata()))
        color, style = to_hex(line.get_color()), str(line.get_linestyle())
        dots = style.lower() == "none"
        words = str(line.get_label())
        # What matplotlib names itself begins with an underscore.
        named = not words.startswith("_")
        name = words if named else f"{'dots' if dots else style}{line.get_marker()}"
        looks = _series(words if named else "", GRAY if named else color, style, str(line.get_marker()))
        series.setdefault(name, looks | {"dots": dots, "plain": True})
        found: dict[str, Any] = {"s": name, "x": numbers(np.round(x, 4)), "y": numbers(y)}
        found["c"] = [color, on_dark(color)]
        if not dots and bands.get(color):
            top = _upper(bands[color].pop(0), len(x))
            found |= {"base": 0} if np.allclose(top, y) else {"b": numbers(top - y)}
        lines.append(found)
    return {"x": "x", "log": False, "limits": numbers(axes.get_ylim()), "cropped": False, "lines": lines}


def _upper(vertices: np.ndarray, count: int) -> np.ndarray:
    """The upper edge of a filled band over `count` points."""
    edges = vertices[1 : count + 1, 1], vertices[count + 2 : 2 * count + 2, 1][::-1]
    return np.maximum(*edges)
