"""What is beside a figure: the methods' ranks at the end and the paired tests, as `scorebo compare` has them."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pandas as pd

from scorebo.errors import InputError
from scorebo.report.figures.base import Figure
from scorebo.report.selection import Selection
from scorebo.report.statistics.comparison import Comparison, Pair, compare
from scorebo.report.statistics.final_values import method_label
from scorebo.report.statistics.text import HEADING, LEGEND, pair_cells, rank_lines
from scorebo.report.style import title
from scorebo.store.schema import METRICS

HEADS = ["Task", "Method", "against", "Pairs", *HEADING]


def paired_tests(figure: Figure, chosen: Selection | None) -> dict[str, Any] | None:
    """The comparison of the methods of a figure; None where it compares none, or there is nothing to compare."""
    metric = figure.compared or figure.metric
    if metric is None or chosen is None:
        return None
    found = _comparisons(chosen.table, metric)
    if not found:
        return None
    return {
        "metric": METRICS[metric].words,
        "ranks": [places for each in found if (places := _places(each, len(found) > 1))],
        "heads": HEADS,
        "rows": [_row(pair) for each in found for pair in each.pairs if pair.final.pairs],
        "legend": LEGEND.format(words=METRICS[metric].words),
        "notes": [note for each in found for note in each.notes],
    }


def _comparisons(table: pd.DataFrame, metric: str) -> list[Comparison]:
    """Of all tasks; where no seed has all methods, one for each group of tasks with the same methods."""
    try:
        whole = compare(table, metric)
    except InputError:
        return []
    if whole.ranks[""].blocks:
        return [whole]
    methods = table.groupby("benchmark")["acquisition"].agg(lambda names: ",".join(sorted(set(names))))
    found = []
    for names in dict.fromkeys(methods):
        with contextlib.suppress(InputError):  # of a single method there is nothing to compare
            found.append(compare(table[table["benchmark"].isin(methods.index[methods == names])], metric))
    return found


def _what(found: Comparison) -> str:
    return "pairs of task and seed" if len(found.horizons) > 1 else "seeds"


def _places(found: Comparison, named: bool) -> dict[str, Any] | None:
    """Methods and ranks, best first, over how many blocks, and the p-value of all being alike; `named` by its tasks."""
    ranks = found.ranks[""]
    if not ranks.blocks:
        return None
    order = sorted(zip(ranks.ranks, ranks.methods, strict=True))
    p = None if math.isnan(ranks.p_value) else ranks.p_value
    places = [(method_label(method), rank) for rank, method in order]
    where = f" ({', '.join(title(task) for task in found.horizons)})" if named else ""
    words = rank_lines(ranks, _what(found))[0]
    return {"places": places, "blocks": ranks.blocks, "what": _what(found), "p": p, "where": where, "words": words}


def _row(pair: Pair) -> list[Any]:
    """The cells of a pair; a number that a column is sorted by stands beside its text."""
    final = pair.final
    values = [
        final.pairs,
        final.mean.value,
        final.iqm.value,
        final.improvement.value,
        final.p_holm,
        pair.area.mean.value,
    ]
    method, baseline, *texts, more = pair_cells(pair)
    sorted_by = [[text, value if math.isfinite(value) else None] for text, value in zip(texts, values, strict=True)]
    return [title(pair.task) if pair.task else "All tasks", method, baseline, *sorted_by, more]
