"""Figures and tables drawn from the collected results alone: nothing here runs a model."""

from scorebo.report.figures import FIGURES, draw
from scorebo.report.statistics.summary import OPTIMIZATION_METRICS, final_values, format_summary

__all__ = ["FIGURES", "OPTIMIZATION_METRICS", "draw", "final_values", "format_summary"]
