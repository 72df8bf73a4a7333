"""The figures: each computes panels of lines from a table, drawn by one renderer, or draws itself."""

from scorebo.report.figures.base import Figure, FigureData, Line, Panel
from scorebo.report.figures.draw import FIGURES, draw, draw_runs, figure_input

__all__ = ["FIGURES", "Figure", "FigureData", "Line", "Panel", "draw", "draw_runs", "figure_input"]
