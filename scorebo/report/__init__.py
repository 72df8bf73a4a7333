"""Figures, tables and claims from the collected results alone: nothing here runs a model.

`Figure`, `Claim` and `Check` are what a package of yours adds; `Evidence` holds the runs that they are about.
"""

from scorebo.report.audit import CHECKS, Check
from scorebo.report.claims import CLAIMS, Claim, Part
from scorebo.report.evidence import Evidence
from scorebo.report.figures import FIGURES, Figure, FigureData, Line, Panel, draw
from scorebo.report.statistics.summary import OPTIMIZATION_METRICS, final_values, format_summary

__all__ = ["CLAIMS", "FIGURES", "OPTIMIZATION_METRICS", "Claim", "Evidence", "Figure", "FigureData", "Line", "Panel"]
__all__ += ["CHECKS", "Check", "Part", "draw", "final_values", "format_summary"]
