"""What a figure is: which runs it shows, and how they become panels of lines that every renderer can draw."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Picture

from scorebo.errors import InputError, check_choice
from scorebo.report.style import RC

SOURCES = ("records", "hyperparameters", "fits")


@dataclass(frozen=True)
class Line:
    """A method's line: `x`, `mean` and the half-width of its band (NaN where there is none), all of one length.

    `runs`, where given, is how many runs each point is the mean of: it is written beside the line where it changes, or
    differs from that of other lines. `each`, where given, has a row a run: its own values at `x`, NaN where it has
    none. `source` says who published a line that is not from our runs.
    """

    method: str
    x: np.ndarray
    mean: np.ndarray
    band: np.ndarray
    runs: np.ndarray | None = None
    source: str | None = None
    each: np.ndarray | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `task` is the name of the one task it shows."""

    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...]
    log: bool = False
    reference: float | None = None  # a dashed line across
    reference_band: float = 0.0  # half-width of the band around it
    crop: bool = True  # whether a few values far above the others may be left out
    published: tuple[Line, ...] = ()  # others' curves, drawn dashed behind
    task: str | None = None


@dataclass(frozen=True)
class FigureData:
    """All that is drawn: nothing else goes into the picture."""

    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    reference: str = "Reference"  # what the dashed lines are called
    band: str = ""  # what lines and bands are, for a caption, unless a note says so


@dataclass(frozen=True)
class Figure:
    """A figure, found by commands under its id.

    Args:
        id: letters, digits, `-` and `_`.
        description: what it shows, in one line.
        data: from its table (None for "fits") to panels of lines, which the files and the HTML page draw alike; or to a
            matplotlib figure, which the page shows as it is.
        experiment: whose runs it shows unless others are chosen. None: all runs.
        source: which table that is: the `records` of the runs (`scorebo.store.collect`), their `hyperparameters`
            (`scorebo.store.collect_hyperparameters`), or none, for a figure from small `fits` of its own.
        metric: the column whose mean its panels show, one a task, where published curves can be drawn behind them.
        compared: the metric by which the HTML page compares the methods beside the figure, by default `metric`.
    """

    id: str
    description: str
    data: Callable[..., FigureData | Picture]
    experiment: str | None = None
    source: str = "records"
    metric: str | None = None
    compared: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", self.id, re.ASCII):
            raise InputError(f"The id of a figure must consist of letters, digits, - and _, got {self.id!r}.")
        check_choice(f"source of the figure {self.id}", self.source, SOURCES)

    def compute(
        self,
        table: Any,
        notes: Sequence[str] = (),
        *,
        released_style: bool = False,
        rc: Mapping[str, Any] | None = None,
    ) -> FigureData | Picture:
        """What is drawn from a table; panels of lines with these notes before their own.

        With `released_style` bands and ranks as in the authors' plots, where `data` has a parameter of this name. `rc`
        is the look of a figure that draws itself, by default `scorebo.report.style.RC`.
        """
        if released_style and "released_style" not in inspect.signature(self.data).parameters:
            raise InputError(f"The figure {self.id} shows neither standard errors nor ranks: it has no released style.")
        with matplotlib.rc_context(RC if rc is None else rc):  # type: ignore[arg-type]
            data = self.data(table, **({"released_style": True} if released_style else {}))
        if isinstance(data, FigureData):
            return replace(data, notes=(*notes, *data.notes))
        if not isinstance(data, Picture):
            raise InputError(f"The figure {self.id} must return FigureData or a matplotlib figure, got {data!r}.")
        return data
