"""The numbers in the parts of the page that sum up runs: overview, timings, failures, runs that nobody goes on with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scorebo.launch.status import STOPPED, RunStatus, survey
from scorebo.launch.sweep import sweeps_in
from scorebo.report.claims import Finding
from scorebo.report.claims.base import NOT_RUN
from scorebo.report.claims.text import SIGNS
from scorebo.report.html.page_figures import PageFigure
from scorebo.report.html.templates import part
from scorebo.report.provenance import DIGITS
from scorebo.report.query import Query
from scorebo.report.selection import Selection
from scorebo.report.statistics.table import NAMES, RUN, paper_order
from scorebo.report.statistics.text import ranges
from scorebo.store.columns import PHASES, phase_columns

PHASE_WORDS = {"fit": "Fit", "metrics": "Metrics", "acquisition": "Acquisition", "evaluate": "Evaluation"}
_NUMBER = re.compile(r"\d+(\.\d+)?(e[-+]?\d+)?")


def overview_section(rows: pd.DataFrame, words: str, findings: Sequence[Finding], figures: Sequence[PageFigure]) -> str:
    """How much there is, which runs these are (`words`), the methods' ranks, and how many claims have which verdict."""
    drawn = [figure for figure in figures if figure.data]
    hours = _processor_seconds(rows).sum().sum() / 3600
    counts = [
        (f"{rows['run_id'].nunique():,}", "runs"),
        (f"{len(rows):,}", "iterations"),
        (f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}", "processor hours"),
        (f"{len(drawn)}", "figures"),
    ]
    verdicts = Counter(finding.verdict for finding in findings)
    shown = [
        (verdict, sign, verdicts[verdict])
        for verdict, sign in SIGNS.items()
        if verdicts[verdict] and verdict != NOT_RUN
    ]
    ranked = [figure for figure in drawn if figure.tests and figure.tests["ranks"]]
    return part("overview", counts, words, ranked, shown)


def timings_section(rows: pd.DataFrame) -> str:
    """Processor seconds an iteration by phase, and hours in all."""
    spent = rows[NAMES].join(_processor_seconds(rows))
    means = spent[rows["num_observations"].notna()].groupby(NAMES).mean().fillna(0.0)
    means["hours"] = spent.groupby(NAMES).sum().sum(axis=1) / 3600
    lines = means.reset_index().sort_values(NAMES, key=paper_order).to_dict("records")
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


def failures_section(lines: Iterable[Mapping[str, Any]], unfinished: pd.DataFrame, lost: Sequence[RunStatus]) -> str:
    """What fell back or failed, runs that stopped and runs that have not ended, each summed up by task and method.

    `lines` are those of the ledgers, `unfinished` the last records, `lost` where runs stand that nobody goes on with.
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
        group[NAMES].iloc[0].to_dict()
        | {"runs": len(group), "seeds": ranges(group["seed"]), "iterations": span(group["iteration"])}
        for _, group in (going_on.groupby(NAMES, sort=False) if len(going_on) else ())
    ]
    return part("failures", fallbacks, stopped_groups(lost), open_runs)


def failed_points_table(rows: pd.DataFrame) -> str:
    """How many points failed in each run that went on with others; nothing where none did."""
    runs = rows.groupby([*RUN, "run_id"], sort=False)[["num_failed_points"]].sum().reset_index()
    return part("failed_points", runs[runs["num_failed_points"] > 0].to_dict("records"))


def stopped_runs(results: Path, wanted: Collection[str], chosen: Iterable[Selection], query: Query) -> list[RunStatus]:
    """The runs in a folder that failed, were lost or were cancelled, with ids that begin with one of `wanted`.

    What was submitted for the chosen experiments, and passes the filters, counts although no run on its task started.
    """
    sweeps = {sweep.name: sweep for sweep in sweeps_in(results)}
    if not sweeps:
        return []
    scales = {each.experiment: each.scale for each in chosen if each.experiment is not None}

    def submitted(run: RunStatus) -> bool:
        if run.sweep is None or run.index is None:
            return False
        if not all(query.takes(column, value) for column, value in _who(run).items()):
            return False
        sweep = sweeps[run.sweep]
        own = {scales.get(name) for name in sweep.experiments} - {None}
        return bool(own) and sweep.config(run.index)["scale"] in own

    stopped = survey(results, tails=False).of(*STOPPED)
    return [run for run in stopped if run.run_id[:DIGITS] in wanted or submitted(run)]


def stopped_groups(runs: Iterable[RunStatus]) -> list[dict[str, Any]]:
    """The runs by task, model, method and reason: hundreds may be lost together.

    Reasons that differ in their numbers alone (points, processes, seconds) are the same.
    """
    groups: dict[tuple[str, ...], list[RunStatus]] = {}
    for run in runs:
        task, model, method, _ = _who(run).values()
        groups.setdefault((task, model, method, run.state, _NUMBER.sub("#", run.reason or "")), []).append(run)
    found = []
    for group in groups.values():
        reasons = dict.fromkeys(run.reason or "" for run in group)
        reason = f"{'e.g. ' if len(reasons) > 1 else ''}{next(iter(reasons))}"
        sweeps = ", ".join(dict.fromkeys(run.sweep for run in group if run.sweep)) or "–"
        line = {**_who(group[0]), "state": group[0].state, "reason": reason, "runs": len(group), "sweeps": sweeps}
        line["seeds"] = ranges(_who(run)["seed"] for run in group)
        found.append(line | {"iterations": span(run.iteration for run in group)})
    return found


def _who(run: RunStatus) -> dict[str, Any]:
    """Names and seed of a run, from its folder."""
    *_, benchmark, model, acquisition, name = Path(run.folder).parts
    return {"benchmark": benchmark, "model": model, "acquisition": acquisition, "seed": int(name.split("-")[1])}


def span(numbers: Iterable[int]) -> tuple[str, int]:
    """From the least to the greatest, in words, and the greatest, which it is sorted by."""
    ordered = sorted(map(int, numbers))
    low, high = ordered[0], ordered[-1]
    return f"{low}" if low == high else f"{low} to {high}", high
