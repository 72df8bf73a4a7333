"""The figures: each computes panels of lines from a table, drawn by one renderer, or draws itself."""

from scorebo.report.figures.base import Figure, FigureData, Line, Panel
from scorebo.report.figures.draw import FIGURES, draw, draw_runs, figure_input, plot
from scorebo.report.figures.layout import Layout

__all__ = ["FIGURES", "Figure", "FigureData", "Layout", "Line", "Panel", "draw", "draw_runs", "figure_input", "plot"]
