"""The numbers in the parts of the page that sum up runs: overview, timings, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.report.claims import Finding
from scorebo.report.claims.text import SIGNS
from scorebo.report.html.stopped import ranges, span, stopped_groups
from scorebo.report.html.templates import part
from scorebo.report.provenance import DIGITS
from scorebo.report.statistics.table import paper_order
from scorebo.store.columns import PHASES, phase_columns

PHASE_WORDS = {"fit": "Fit", "metrics": "Metrics", "acquisition": "Acquisition", "evaluate": "Evaluation"}
_NAMES = ["benchmark", "model", "acquisition"]


def overview_section(rows: pd.DataFrame, words: str, findings: Sequence[Finding], drawn: int, figures: int) -> str:
    """How much there is, which runs these are (`words`), and how many claims have which verdict."""
    hours = _processor_seconds(rows).sum().sum() / 3600
    counts = [
        (f"{rows['run_id'].nunique():,}", "runs"),
        (f"{len(rows):,}", "iterations"),
        (f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}", "processor hours"),
        (f"{drawn} of {figures}", "figures"),
    ]
    verdicts = Counter(finding.verdict for finding in findings)
    shown = [(verdict, sign, verdicts[verdict]) for verdict, sign in SIGNS.items()]
    return part("overview", counts, words, len(findings), shown)


def timings_section(rows: pd.DataFrame) -> str:
    """Processor seconds an iteration by phase, and hours in all."""
    spent = rows[_NAMES].join(_processor_seconds(rows))
    means = spent[rows["num_observations"].notna()].groupby(_NAMES).mean().fillna(0.0)
    means["hours"] = spent.groupby(_NAMES).sum().sum(axis=1) / 3600
    lines = means.reset_index().sort_values(_NAMES, key=paper_order).to_dict("records")
    for line in lines:
        line["seconds"] = {phase: line[f"cpu_seconds_{phase}"] for phase in PHASES}
        whole = sum(line["seconds"].values()) or 1.0
        line["shares"] = {phase: value / whole for phase, value in line["seconds"].items()}
    without = rows[rows[phase_columns("cpu_seconds")].isna().all(axis=1)]["run_id"].nunique()
    return part("timings", PHASE_WORDS, without, rows["run_id"].nunique(), lines)


def _processor_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """Processor seconds of every row by phase; wall seconds where a record has no others."""
    cpu = rows[phase_columns("cpu_seconds")]
    return cpu.fillna(rows[phase_columns("wall_seconds")].set_axis(cpu.columns, axis=1))


def failures_section(lines: Iterable[Mapping[str, Any]], unfinished: pd.DataFrame, lost: Sequence[Any]) -> str:
    """What fell back or failed, runs that stopped and runs that have not ended, each summed up by task and method.

    Args:
        lines: of the runs' ledgers.
        unfinished: the last record of every run that has not ended.
        lost: where the runs stand that nobody goes on with.
    """
    sums: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        names = Path(line["run"]).parts[-4:-1]
        sums.setdefault((*names, line["kind"], line["reason"]), []).append(line)
    fallbacks = [
        {"benchmark": task, "acquisition": method, "kind": kind, "reason": reason, "runs": len(group)}
        | {"times": sum(line["count"] for line in group)}
        | {"command": f"scorebo replay {group[0]['run']} --iteration {group[0]['iterations'][0]}"}
        for (task, _, method, kind, reason), group in sums.items()
    ]
    stopped = {run.run_id[:DIGITS] for run in lost}
    going_on = unfinished[~unfinished["run_id"].str[:DIGITS].isin(stopped)]
    open_runs = [
        group[_NAMES].iloc[0].to_dict()
        | {"runs": len(group), "seeds": ranges(group["seed"]), "iterations": span(group["iteration"])}
        for _, group in (going_on.groupby(_NAMES, sort=False) if len(going_on) else ())
    ]
    return part("failures", fallbacks, stopped_groups(lost), open_runs)


def failed_points_table(rows: pd.DataFrame) -> str:
    """How many points failed in each run that went on with others; nothing where none did."""
    runs = rows.groupby([*_NAMES, "seed", "run_id"], sort=False)[["num_failed_points"]].sum().reset_index()
    return part("failed_points", runs[runs["num_failed_points"] > 0].to_dict("records"))
