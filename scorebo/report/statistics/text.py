"""A comparison as plain text: one table a task, one over all tasks, ranks below."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import orjson

from scorebo.report.statistics.comparison import Comparison, Difference, Pair
from scorebo.report.statistics.final_values import method_label
from scorebo.report.statistics.intervals import Estimate
from scorebo.report.statistics.power import MOST, POWER
from scorebo.report.statistics.rank_test import RankTest
from scorebo.report.statistics.summary import aligned, decimals
from scorebo.report.style import title
from scorebo.store.schema import METRICS

HEADING = ["Final, mean", "Final, IQM", "Better in", "p (Holm)", "Area, mean", "More seeds"]
LEGEND = (
    "Differences in {words}, method minus the other: below 0 the method is better. Paired by seed; 95 % intervals in "
    "brackets. Better in: share of the pairs. p: signed-rank test of the final values, corrected (Holm) for the rows "
    "of its table. Area: the mean along the run. More seeds: to separate the final means at 95 % with probability "
    f"{POWER:g}, if they differ as estimated."
)


def format_comparison(comparison: Comparison) -> str:
    """Tables for a terminal."""
    blocks = []
    for task in dict.fromkeys(pair.task for pair in comparison.pairs):
        pairs = [pair for pair in comparison.pairs if pair.task == task]
        heading = f"{title(task)}, at {comparison.horizons[task]} observations" if task else "Over all tasks"
        # Over all tasks a seed counts once for each task.
        what = "seeds" if task else "pairs of task and seed"
        columns = ["Method", "against", "Seeds" if task else "Pairs", *HEADING]
        table = aligned([columns, *map(pair_cells, pairs)], text_columns=2)
        blocks.append("\n".join([heading, table, *rank_lines(comparison.ranks[task or ""], what)]))
    blocks.append(LEGEND.format(words=METRICS[comparison.metric].words))
    return "\n\n".join([*blocks, *comparison.notes])


def as_plain(value: Any) -> Any:
    """Dataclasses as JSON can hold them: what is not a finite number is null."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))


def bracketed(estimate: Estimate, signed: bool = True) -> str:
    """`−0.31 [−0.52, −0.10]`; the value alone where there is no interval, a dash where there is neither."""
    if math.isnan(estimate.value):
        return "–"
    sign = "+" if signed else ""
    if math.isnan(estimate.low):
        return f"{estimate.value:{sign}.3g}"
    digits = decimals((estimate.high - estimate.low) / 4)
    return f"{estimate.value:{sign}.{digits}f} [{estimate.low:{sign}.{digits}f}, {estimate.high:{sign}.{digits}f}]"


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in few words: `1–3, 7`."""
    ordered = sorted(set(map(int, numbers)))
    starts = [k for k in ordered if k - 1 not in ordered]
    ends = [k for k in ordered if k + 1 not in ordered]
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True))


def pair_cells(pair: Pair) -> list[str]:
    """A row of the table: method, other, pairs and `HEADING`."""
    final = pair.final
    share = f"{100 * final.improvement.value:.0f} %" if final.pairs else "–"
    p = "–" if math.isnan(final.p_holm) else f"{final.p_holm:.2g}" if final.p_holm >= 1e-4 else "<0.0001"
    names = [method_label(pair.method), method_label(pair.baseline)]
    means = [bracketed(final.mean), bracketed(final.iqm)]
    return [*names, str(final.pairs), *means, share, p, bracketed(pair.area.mean), more_seeds(final, pair.task is None)]


def more_seeds(difference: Difference, several_tasks: bool = False) -> str:
    """How many seeds are still to be run, in words."""
    if several_tasks or difference.pairs < 2:
        return ""
    if difference.mean.side:
        return "separated"
    if difference.seeds_needed is None:
        return f">{MOST}"
    return f"{max(1, difference.seeds_needed - difference.pairs)}"


def rank_lines(ranks: RankTest, what: str) -> list[str]:
    """The methods' average ranks, best first, and which differ; `what` they are averaged over."""
    if not ranks.blocks:
        return ["Ranks: no seed that all methods have."]
    order = sorted(zip(ranks.ranks, ranks.methods, strict=True))
    text = ", ".join(f"{method_label(method)} {rank:.2f}" for rank, method in order)
    if ranks.blocks < 2:
        return [f"Ranks: {text} (one seed)."]
    alike = "; ".join(" = ".join(map(method_label, group)) for group in ranks.groups())
    return [
        f"Ranks: {text}; over {ranks.blocks} {what}, all alike p = {ranks.p_value:.2g} (Friedman), critical difference "
        f"{ranks.critical_difference:.2f}{'; not told apart: ' + alike if alike else ''}."
    ]
