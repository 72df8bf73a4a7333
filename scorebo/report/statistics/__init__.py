"""What can be concluded from paired runs: estimates with intervals, tests, ranks, and how many seeds it would take."""

from scorebo.report.statistics.comparison import Comparison, Difference, Pair, compare
from scorebo.report.statistics.final_values import TaskFinals, finals_by_task
from scorebo.report.statistics.intervals import Estimate

__all__ = ["Comparison", "Difference", "Estimate", "Pair", "TaskFinals", "compare", "finals_by_task"]
