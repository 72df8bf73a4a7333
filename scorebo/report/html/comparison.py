"""The section of the page that compares a challenger with each other method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scorebo.report.html.templates import part
from scorebo.report.html.write import Section
from scorebo.report.statistics.comparison import Comparison, Pair
from scorebo.report.statistics.text import HEADING, LEGEND, pair_cells, rank_lines
from scorebo.report.style import label, title
from scorebo.store.schema import METRICS

ALL = "All tasks"


def comparison_section(comparisons: Sequence[Comparison]) -> Section:
    """A table of paired differences for each metric, with ranks below."""
    return Section("comparison", "Comparison", part("comparison", list(map(_metric, comparisons))))


def _metric(comparison: Comparison) -> dict[str, Any]:
    words = METRICS[comparison.metric].words
    # Over all tasks first, as it is what is asked first.
    pairs = sorted(comparison.pairs, key=lambda pair: pair.task is not None)
    ranks = [
        f"{title(task) if task else ALL}: {line}"
        for task, test in sorted(comparison.ranks.items(), key=lambda item: bool(item[0]))
        if task or len(comparison.ranks) > 2
        for line in rank_lines(test, "seeds" if task else "pairs of task and seed")
    ]
    found = {"words": words, "heading": HEADING, "legend": LEGEND.format(words=words), "notes": comparison.notes}
    method = label(pairs[0].method.partition("@")[0]) if pairs else ""
    return found | {"method": method, "rows": list(map(_row, pairs)), "ranks": ranks}


def _row(pair: Pair) -> dict[str, Any]:
    """Numbers as they are shown and as they are sorted; under several models the other method's label names it."""
    _, against, *numbers = pair_cells(pair)
    final, needed = pair.final, pair.final.seeds_needed
    values: list[float | None] = [final.pairs, final.mean.value, final.iqm.value, final.improvement.value, final.p_holm]
    more = None if needed is None or pair.task is None else max(0, needed - final.pairs)
    return {
        "task": title(pair.task) if pair.task else ALL,
        "against": against,
        "numbers": list(zip(numbers, [*values, pair.area.mean.value, more], strict=True)),
    }
