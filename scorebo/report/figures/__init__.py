"""The figures: each computes panels of lines from a table, drawn by one renderer, or draws itself."""

from scorebo.report.figures.paper import FIGURES, Figure, draw, figure_input

__all__ = ["FIGURES", "Figure", "draw", "figure_input"]
