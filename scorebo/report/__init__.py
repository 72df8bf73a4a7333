"""Figures, tables and claims from the collected results alone: nothing here runs a model.

`plot` draws a figure of the runs that a `Query` chooses, and returns it as a matplotlib figure. `Figure`, `Claim` and
`Check` are what a package of yours adds; `Evidence` holds the runs that they are about.
"""

from scorebo.report.audit import CHECKS, Check
from scorebo.report.claims import CLAIMS, Claim, Part
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES, Figure, FigureData, Layout, Line, Panel, draw, plot
from scorebo.report.query import Query
from scorebo.report.statistics.summary import OPTIMIZATION_METRICS, final_values, format_summary

__all__ = ["CHECKS", "CLAIMS", "FIGURES", "OPTIMIZATION_METRICS", "Check", "Claim", "Evidence", "Figure", "FigureData"]
__all__ += ["Layout", "Line", "Panel", "Part", "Query", "draw", "final_values", "format_summary", "plot"]
