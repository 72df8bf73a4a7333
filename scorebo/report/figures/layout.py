"""How a figure is laid out: its width, its font, the labels of what it shows, and whether notes stand below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd
from matplotlib import font_manager
from matplotlib.figure import Figure as Picture
from matplotlib.text import Text

from scorebo.errors import InputError, check_choice
from scorebo.report.figures.base import FigureData
from scorebo.report.style import RC

COLUMNS = {"one": 3.5, "two": 7.2}  # inches of width in a journal
CENTIMETERS = (4.0, 60.0)  # per inch 2.54
POINTS = (4.0, 24.0)
_ASSIGNMENTS = re.compile(r",(?=[^,=]+=)")
_SIZE = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a figure is laid out; without arguments as the project's figures are.

    Args:
        width: `"one"` or `"two"` columns of a journal, or a number of centimeters. None: as wide as the panels need.
        font: an installed family, a size in points, or both: `"serif"`, `"9"`, `"Times New Roman, 9"`.
        labels: what tasks, methods and models are called, by name (`sal_hr`, `nei@botorch`); also what an axis or a
            panel is called, by what it is called otherwise (`Negative MLL`).
        notes: whether notes (missing runs, smoothing, small numbers) stand below the panels.
    """

    width: str | float | None = None
    font: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: bool = True

    def __post_init__(self) -> None:
        _ = self.inches, self.rc  # refused here, before anything is read

    @cached_property
    def inches(self) -> float | None:
        """The width in inches."""
        if self.width is None or self.width in COLUMNS:
            return None if self.width is None else COLUMNS[str(self.width)]
        least, most = CENTIMETERS
        if not _SIZE.fullmatch(str(self.width)) or not least <= float(self.width) <= most:
            raise InputError(
                f"The width must be one, two or a number of centimeters from {least:g} to {most:g}, got '{self.width}'."
            )
        return float(self.width) / 2.54

    @cached_property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's settings: those of all figures, in this font."""
        family, size = _font(self.font or "")
        found = dict(RC)
        if family:
            found["font.family"] = family
        if size:
            sizes = [
                name for name in RC if name.endswith("size") and not name.startswith(("xtick.m", "ytick.m", "lines"))
            ]
            found |= {name: RC[name] * size / RC["font.size"] for name in sizes}
        return found


def _font(words: str) -> tuple[str, float | None]:
    """Family and size of `FAMILY, SIZE`, of which either may be left out."""
    *family, last = (part.strip() for part in words.split(","))
    size = float(last) if _SIZE.fullmatch(last) else None
    name = ", ".join(family if size else [*family, last])
    if size and not POINTS[0] <= size <= POINTS[1]:
        raise InputError(f"The size of the font must be from {POINTS[0]:g} to {POINTS[1]:g} points, got {size:g}.")
    generic = ("serif", "sans-serif", "monospace", "cursive", "fantasy")
    if name and name not in generic:
        check_choice("font", name, {*generic, *font_manager.get_font_names()})
    return name, size


def read_labels(texts: Iterable[str]) -> dict[str, str]:
    """Labels from `NAME=TEXT,…`; a comma that no `NAME=` follows belongs to the text."""
    found: dict[str, str] = {}
    for part in (part for text in texts for part in _ASSIGNMENTS.split(text)):
        name, equals, label = part.partition("=")
        if not equals or not name.strip() or not label.strip():
            raise InputError(f"A label must be NAME=TEXT, for example sal_hr=Ours, got '{part}'.")
        found[name.strip()] = label.strip()
    return found


def relabeled(
    data: FigureData | Picture, table: pd.DataFrame | None, labels: Mapping[str, str]
) -> FigureData | Picture:
    """The data with labels of axes and panels in place of their own; refuses a label of what is not in the figure."""
    columns = ("benchmark", "acquisition", "model")
    names = set() if table is None else {str(name) for column in columns for name in table[column].unique()}
    if isinstance(data, FigureData):
        texts = {text for panel in data.panels for text in (panel.title, panel.xlabel, panel.ylabel)}
        names |= {line.method for panel in data.panels for line in (*panel.lines, *panel.published)}
        parts = [
            replace(
                panel,
                **{name: labels.get(text := getattr(panel, name), text) for name in ("title", "xlabel", "ylabel")},
            )
            for panel in data.panels
        ]
        _check(labels, names | texts)
        return replace(data, panels=tuple(parts))
    written = [text for text in data.findobj(Text) if isinstance(text, Text) and text.get_text()]
    _check(labels, names | {text.get_text() for text in written})
    for text in written:
        text.set_text(labels.get(text.get_text(), text.get_text()))
    return data


def _check(labels: Mapping[str, str], names: set[str]) -> None:
    for name in labels:
        check_choice("name to label", name, names)
