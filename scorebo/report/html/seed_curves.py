"""The runs behind each mean, small enough for a page of thousands of them: few points, two letters each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scorebo.report.figures.base import Panel

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
LEVELS = len(ALPHABET) ** 2 - 1  # 0 stands for what is missing
MOST_RUNS, MOST_POINTS = 12, 24  # of a line


def seed_curves(panel: Panel, lines: Sequence[dict[str, Any]], limits: tuple[float, float]) -> dict[str, Any]:
    """Adds to the page's `lines` the curves of up to `MOST_RUNS` runs (`each`) and at which points they are (`at`).

    Returns:
        `levels`: the values that the first and the last level stand for, and whether these are logarithms.
    """
    values = [line.each for line in panel.lines if line.each is not None]
    log = panel.log and all((each[np.isfinite(each)] > 0).all() for each in values)
    low, high = _span([np.log10(each) for each in values] if log else values, None if log else limits)
    for line, found in zip(panel.lines, lines, strict=True):
        if line.each is None:
            continue
        at = np.unique(np.linspace(0, len(line.x) - 1, MOST_POINTS).round().astype(int))
        chosen = line.each[:MOST_RUNS, at]
        found["each"] = encoded(np.log10(chosen) if log else chosen, low, high)
        if len(at) < len(line.x):
            found["at"] = at.tolist()
    return {"levels": [float(f"{low:.6g}"), float(f"{high:.6g}"), log]}


def _span(values: list[np.ndarray], limits: tuple[float, float] | None) -> tuple[float, float]:
    """The least and the greatest value; on a linear axis not farther away than is seen of it."""
    low, high = min(np.nanmin(each) for each in values), max(np.nanmax(each) for each in values)
    if limits is not None:
        around = limits[1] - limits[0]
        low, high = max(low, limits[0] - around), min(high, limits[1] + around)
    return float(low), float(high) if high > low else float(low) + 1.0


def encoded(values: np.ndarray, low: float, high: float) -> list[str]:
    """A text a row, two letters a value; what lies outside is moved to the nearest end."""
    there = np.isfinite(values)
    share = np.clip((np.where(there, values, low) - low) / (high - low), 0.0, 1.0)
    levels = np.where(there, 1 + np.round(share * (LEVELS - 1)), 0).astype(int)
    return ["".join(ALPHABET[k // 64] + ALPHABET[k % 64] for k in row) for row in levels.tolist()]
