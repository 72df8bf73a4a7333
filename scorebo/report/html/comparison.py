"""The section of the page that compares a challenger with each other method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scorebo.report.html.templates import part
from scorebo.report.html.write import Section
from scorebo.report.statistics.comparison import Comparison, Pair
from scorebo.report.statistics.text import HEADING, LEGEND, cells, rank_lines
from scorebo.report.style import title
from scorebo.store.schema import METRICS

ALL = "all tasks"


def comparison_section(comparisons: Sequence[Comparison]) -> Section:
    """A table of paired differences for each metric, with ranks below."""
    return Section("comparison", "Comparison", part("comparison", list(map(_metric, comparisons))))


def _metric(comparison: Comparison) -> dict[str, Any]:
    words = METRICS[comparison.metric].words
    # Over all tasks first, as it is what is asked first.
    pairs = sorted(comparison.pairs, key=lambda pair: pair.task is not None)
    ranks = [
        f"{title(task) if task else ALL.capitalize()}: {line}"
        for task, test in sorted(comparison.ranks.items(), key=lambda item: bool(item[0]))
        if task or len(comparison.ranks) > 2
        for line in rank_lines(test, "seeds" if task else "pairs of task and seed")
    ]
    rows = list(map(_row, pairs))
    legend = LEGEND.format(words=words)
    return {
        "words": words,
        "heading": HEADING,
        "rows": rows,
        "ranks": ranks,
        "notes": comparison.notes,
        "legend": legend,
    }


def _row(pair: Pair) -> dict[str, Any]:
    method, baseline, *numbers = cells(pair)
    final = pair.final
    values = [
        final.pairs,
        final.mean.value,
        final.iqm.value,
        final.improvement.value,
        final.p_holm,
        pair.area.mean.value,
    ]
    needed = final.seeds_needed
    values += [None if needed is None or pair.task is None else max(0, needed - final.pairs)]
    return {
        "task": title(pair.task) if pair.task else ALL.capitalize(),
        "texts": [method, baseline],
        "numbers": list(zip(numbers, values, strict=True)),
    }
