"""Views of single runs: metrics, queries, hyperparameters, diagnostics and ledger, for a bounded number of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorebo.errors import InputError
from scorebo.report.claims.per_run import log_moments
from scorebo.report.evidence import Evidence
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.figures.hyperparameter_curves import WORDS
from scorebo.report.html.panels import figure_panels
from scorebo.report.provenance import DIGITS
from scorebo.store.columns import phase_columns
from scorebo.store.records import parse_records
from scorebo.store.schema import METRICS
from scorebo.store.stored_run import RECORDS, StoredRun, named_after

EMBEDDED = 20  # so many runs or fewer have a view each, without being asked for
MOST = 100  # asked for by name
POINTS, PANELS, ENTRIES = 150, 12, 200
OBSERVATIONS = "Number of observations"
DIAGNOSTICS = {
    **{"mcmc_rhat": "R-hat", "mcmc_ess_bulk": "Bulk ESS", "mcmc_divergences": "Divergences"},
    **{"acquisition_value": "Acquisition value", "optimum_violation": "Optimum violation"},
}


def choose(runs: Sequence[str], asked: Collection[str]) -> list[str]:
    """The runs that have a view: those asked for by the beginnings of their ids; of `EMBEDDED` or fewer all.

    Args:
        runs: the ids of the page's runs.
        asked: beginnings of ids.
    """
    chosen: dict[str, None] = dict.fromkeys(runs if len(runs) <= EMBEDDED else ())
    for start in asked:
        found = [run for run in runs if run.startswith(start)]
        if not found:
            raise InputError(f"--run {start}: none of the {len(runs)} runs of the report has an id that begins so.")
        chosen |= dict.fromkeys(found)
    if len(chosen) > max(MOST, EMBEDDED):
        raise InputError(f"--run asks for {len(chosen)} runs; a page has views of at most {MOST}.")
    return list(chosen)


def run_views(
    evidence: Evidence, rows: pd.DataFrame, ids: Collection[str], there: Mapping[str, StoredRun]
) -> dict[str, Any]:
    """What the page draws of each run, by the first digits of its id."""
    if not ids:
        return {}
    own = rows[rows["run_id"].isin(list(ids))]
    has_models = own["num_observations"].notna().groupby(own["run_id"]).any()
    modeled = own[own["run_id"].isin(has_models.index[has_models])]
    hyperparameters = evidence.hyperparameters_of(modeled) if len(modeled) else pd.DataFrame({"run_id": []})
    draws = {str(run): part for run, part in hyperparameters.groupby("run_id")}
    return {
        str(run)[:DIGITS]: _view(records, draws.get(str(run)), there.get(str(run)[:DIGITS]))
        for run, records in own.groupby("run_id", sort=False)
    }


def _view(records: pd.DataFrame, draws: pd.DataFrame | None, run: StoredRun | None) -> dict[str, Any]:
    method = str(records["acquisition"].iloc[0])
    fits = None if draws is None else log_moments(draws, [draws["num_observations"].astype(int)])
    inputs = None if fits is None else _inputs(fits[0])
    groups = {
        "Metrics and regret": _metrics(records, method),
        "Queries": [] if run is None or not run.exact else _queries(run, method, inputs),
        "Hyperparameters": [] if fits is None else _traces(*fits, method, inputs or []),
        "Diagnostics": _diagnostics(records, method),
    }
    shown = {name: figure_panels(FigureData(tuple(panels))) for name, panels in groups.items() if panels}
    for looks in (shown.get("Queries") or {"series": {}})["series"].values():
        looks["dots"] = True
    entries = [] if run is None else run.ledger()
    ledger = [[e["iteration"], e["kind"], str(e.get("reason", "")), e.get("count", 1)] for e in entries[:ENTRIES]]
    view: dict[str, Any] = {"groups": shown, "ledger": ledger, "entries": len(entries)}
    if run is not None:
        view["folder"] = str(run.place)
    if run is not None and run.place.is_dir():
        view["command"] = f"scorebo replay {run.place} --iteration {int(records['iteration'].max())}"
    return view


def _metrics(records: pd.DataFrame, method: str) -> list[Panel]:
    optimum = float(records["optimal_value"].iloc[0])
    panels = []
    for name, column in METRICS.items():
        values = records[name] if name in records else pd.Series(dtype=float)
        panel = _panel(column.label[:1].upper() + column.label[1:], records, values, method, log=column.log, crop=True)
        if panel is not None:
            reference = optimum if column.task_decides and np.isfinite(optimum) else None
            panels.append(Panel(**{**vars(panel), "reference": reference}))
    return panels


def _diagnostics(records: pd.DataFrame, method: str) -> list[Panel]:
    seconds = records[phase_columns("wall_seconds")].sum(axis=1, min_count=1)
    columns = {words: records[name] for name, words in DIAGNOSTICS.items() if name in records} | {"Seconds": seconds}
    panels = (_panel(words, records, values, method) for words, values in columns.items())
    return [panel for panel in panels if panel is not None]


def _panel(
    words: str, records: pd.DataFrame, values: pd.Series, method: str, *, log: bool = False, crop: bool = False
) -> Panel | None:
    """The values of one column over the run; None where there are none."""
    y = pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)
    x = records["num_observations"].to_numpy(dtype=float, na_value=np.nan)
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(y)) if len(y) else np.empty(0, int)
    if not len(keep):
        return None
    at = thinned(keep)
    positive = bool((y[at] > 0).all())
    return Panel(words, OBSERVATIONS, words, (_line(method, x[at], y[at]),), log=log and positive, crop=crop)


def _line(method: str, x: np.ndarray, y: np.ndarray, band: np.ndarray | None = None) -> Line:
    return Line(method, x, y, np.full(len(x), np.nan) if band is None else band)


def thinned(positions: np.ndarray) -> np.ndarray:
    """At most `POINTS` of the positions, evenly, the first and the last among them."""
    if len(positions) <= POINTS:
        return positions
    return positions[np.unique(np.linspace(0, len(positions) - 1, POINTS).round().astype(int))]


def _inputs(mean: pd.DataFrame) -> list[int]:
    """The inputs that are shown: all of a few, of many those with the shortest lengthscales at the end."""
    last = mean.iloc[-1].filter(regex=r"^lengthscale_\d+$").dropna()
    chosen = last.sort_values(kind="stable").index[:PANELS]
    return sorted(int(str(name).rpartition("_")[2]) for name in chosen)


def _queries(run: StoredRun, method: str, inputs: Sequence[int] | None) -> list[Panel]:
    """The observations and the inputs of every point, by iteration."""
    good = parse_records(run.read(RECORDS), named_after(run.name)).records
    records = [record for record in good if record.get("x") is not None]
    if not records:
        return []
    at = thinned(np.arange(len(records)))
    when = np.array([records[k]["iteration"] for k in at], dtype=float)
    x = np.array([records[k]["x"] for k in at], dtype=float)
    y = np.array([np.nan if records[k]["y"] is None else records[k]["y"] for k in at], dtype=float)
    columns = {"Observation": y} | {f"Input {k}": x[:, k - 1] for k in inputs or range(1, min(x.shape[1], PANELS) + 1)}
    return [
        Panel(words, "Iteration", words, (_line(method, when, column),), crop=False)
        for words, column in columns.items()
        if np.isfinite(column).any()
    ]


def _traces(mean: pd.DataFrame, spread: pd.DataFrame, method: str, inputs: Sequence[int]) -> list[Panel]:
    """Mean ± standard deviation of the log10 of each hyperparameter over the samples, by number of observations."""
    names = [f"lengthscale_{k}" for k in inputs] + [name for name in WORDS if name in mean]
    return list(_trace_panels(names, mean, spread, method))


def _trace_panels(names: Iterable[str], mean: pd.DataFrame, spread: pd.DataFrame, method: str) -> Iterator[Panel]:
    at = thinned(np.arange(len(mean)))
    x = mean.index.to_numpy(float)[at]
    for name in names:
        words = WORDS.get(name, f"Lengthscale {name.removeprefix('lengthscale_')}")
        line = _line(method, x, mean[name].to_numpy()[at], spread[name].to_numpy()[at])
        yield Panel(words, OBSERVATIONS, "Log10 value", (line,), crop=False)
