"""What can be concluded from paired runs: estimates with intervals, tests, ranks, and how many seeds it would take."""

from scorebo.report.statistics.comparison import Comparison, Difference, Pair, compare
from scorebo.report.statistics.final_values import METRICS, Outcomes, outcomes
from scorebo.report.statistics.intervals import Estimate

__all__ = ["METRICS", "Comparison", "Difference", "Estimate", "Outcomes", "Pair", "compare", "outcomes"]
