"""What goes with a figure in files of its own: a caption, and the numbers that are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from scorebo.report.figures.base import Figure, FigureData, Line, Panel, Picture
from scorebo.report.figures.render import cropped_note
from scorebo.report.statistics.text import ranges
from scorebo.report.style import label, method_order, task_order, title

COLUMNS = ("panel", "x_label", "y_label", "kind", "method", "label", "x", "mean", "low", "high", "runs", "source")
_LATEX = str.maketrans(
    {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "±": r"$\pm$", "–": "--", "≥": r"$\ge$", "→": r"$\to$"}
)


def caption(figure: Figure, data: FigureData | Picture, table: pd.DataFrame | None, *, latex: bool = False) -> str:
    """What the figure shows, what its lines and bands are, which seeds, and its notes, smoothing among them."""
    sentences = [f"{figure.description}."]
    if isinstance(data, FigureData):
        sentences += [data.band] if data.band else []
        sentences += _reference(data)
    sentences += _runs(table) if table is not None and len(table) else []
    sentences += [*data.notes, *cropped_note(data)] if isinstance(data, FigureData) else []
    text = " ".join(sentences)
    return f"{text.translate(_LATEX) if latex else text}\n"


def _reference(data: FigureData) -> list[str]:
    shown = any(panel.reference is not None for panel in data.panels)
    return [f"Dashed lines across: {data.reference.lower()}."] if shown else []


def _runs(table: pd.DataFrame) -> list[str]:
    """How many runs, with which seeds, of each method and task; in one phrase where these are all the same."""
    rows = table[["benchmark", "model", "acquisition", "seed"]].drop_duplicates()
    several = rows.groupby("benchmark")["model"].nunique().max() > 1
    names = ["benchmark", "acquisition", *(["model"] if several else [])]
    groups = {key: ranges(own["seed"]) for key, own in rows.groupby(names)}
    if len(set(groups.values())) == 1:
        count = rows.groupby([*names])["seed"].nunique().iloc[0]
        return [f"{count} run{'s' if count > 1 else ''} per task and method (seeds {next(iter(groups.values()))})."]
    return [f"Seeds: {'; '.join(_task_seeds(task, groups) for task in task_order(rows['benchmark'].unique()))}."]


def _task_seeds(task: str, groups: dict[Any, str]) -> str:
    own = {key[1:]: seeds for key, seeds in groups.items() if key[0] == task}
    if len(set(own.values())) == 1:
        return f"{title(task)} {next(iter(own.values()))}"
    order = method_order(key[0] for key in own)
    parts = [f"{label('@'.join(key))} {own[key]}" for method in order for key in own if key[0] == method]
    return f"{title(task)}: {', '.join(parts)}"


def drawn_table(data: FigureData | Picture) -> pd.DataFrame:
    """Every point that is drawn, in `COLUMNS`; `kind` is a method's `mean`, a `published` curve or a `reference`.

    Of a figure that draws itself the lines and bands of its axes, where they can be told apart.
    """
    if not isinstance(data, FigureData):
        return pd.concat([pd.DataFrame(_axes_rows(axes)) for axes in data.axes], ignore_index=True).reindex(
            columns=COLUMNS
        )
    parts = [part for panel in data.panels for part in _panel_rows(panel, data.reference)]
    return pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)


def _panel_rows(panel: Panel, reference: str) -> Iterator[pd.DataFrame]:
    who = {"panel": panel.title, "x_label": panel.xlabel, "y_label": panel.ylabel}
    for kind, lines in (("mean", panel.lines), ("published", panel.published)):
        yield from (_line_rows(line).assign(**who, kind=kind) for line in lines)
    if panel.reference is not None:
        around = panel.reference_band or np.nan
        row = {"label": reference, "mean": panel.reference, "low": panel.reference - around}
        yield pd.DataFrame([{**who, "kind": "reference", **row, "high": panel.reference + around}])


def _line_rows(line: Line) -> pd.DataFrame:
    found = pd.DataFrame({"x": line.x, "mean": line.mean, "low": line.mean - line.band, "high": line.mean + line.band})
    runs = np.full(len(line.x), np.nan) if line.runs is None else line.runs
    return found.assign(method=line.method, label=label(line.method), runs=runs, source=line.source)


def _axes_rows(axes: Axes) -> Iterable[dict[str, Any]]:
    bands = [each for each in axes.collections if isinstance(each, PolyCollection)]
    for number, line in enumerate(axes.lines, start=1):
        words = str(line.get_label())
        name = f"line {number}" if words.startswith("_") else words
        who = {"panel": axes.get_title(), "x_label": axes.get_xlabel(), "y_label": axes.get_ylabel(), "label": name}
        x, y = (np.asarray(part, dtype=float).reshape(-1) for part in (line.get_xdata(), line.get_ydata()))
        for at, value in zip(x, y, strict=True):
            yield {**who, "kind": "line", "x": at, "mean": value}
    for number, band in enumerate(bands, start=1):
        for at, value in np.asarray(band.get_paths()[0].vertices, dtype=float):
            yield {"panel": axes.get_title(), "kind": "band", "label": f"edge of band {number}", "x": at, "mean": value}
