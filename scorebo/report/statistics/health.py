"""Whether the samplers did their work: per fit, per run, and per task and method.

A fit is unhealthy if its sampler was replaced (`fallback`), if more than `MOST_DIVERGENT` of its draws diverged, if
split R-hat is above `MOST_RHAT`, or if the effective sample size is below `LEAST_ESS`: fewer independent draws than the
16 sets that are kept. One chain of 256 draws is noisy (R-hat of 1.01 is asked of thousands), so a run is unhealthy only
if a sampler was replaced or more than `MOST_FITS` of its fits are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scorebo.report.statistics.summary import aligned
from scorebo.report.statistics.table import paper_order
from scorebo.report.style import label, method_order, title

MOST_DIVERGENT = 0.05
MOST_RHAT = 1.1
LEAST_ESS = 16.0
MOST_FITS = 0.1
THRESHOLDS = (
    f"A fit is unhealthy if its sampler was replaced, more than {MOST_DIVERGENT:.0%} of its draws diverged, R-hat > "
    f"{MOST_RHAT:g} or ESS < {LEAST_ESS:g}; a run if a sampler was replaced or more than {MOST_FITS:.0%} of its fits "
    "are unhealthy."
)
_RUN = ["benchmark", "model", "acquisition", "seed", "run_id"]


def fits(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with a fit, and what its sampler said: `divergent` (share), `rhat`, `ess`, `fallback`, `unhealthy`."""
    rows = table[table["num_observations"].notna()].reset_index(drop=True)
    draws = _numbers(rows, "mcmc_draws").where(lambda count: count > 0)
    divergences = _numbers(rows, "mcmc_divergences")
    # Records of a sampler that does not tell its draws: any divergence counts as one of a hundred.
    result = rows[_RUN].assign(
        divergent=divergences / draws.fillna(100.0),
        divergences=divergences,
        rhat=_numbers(rows, "mcmc_rhat"),
        ess=_numbers(rows, "mcmc_ess_bulk"),
        fallback=_fallback(rows),
    )
    result["unhealthy"] = (
        result["fallback"]
        | (result["divergent"] > MOST_DIVERGENT)
        | (result["rhat"] > MOST_RHAT)
        | (result["ess"] < LEAST_ESS)
    )
    return result


def unhealthy_runs(table: pd.DataFrame) -> set[str]:
    """The ids of the runs whose samplers did not do their work."""
    groups = fits(table).groupby("run_id")
    bad = (groups["unhealthy"].mean() > MOST_FITS) | groups["fallback"].any()
    return set(bad.index[bad])


def health(table: pd.DataFrame) -> pd.DataFrame:
    """One row per task, model and method: runs, fits, and how its samplers did; medians and the worst."""
    rows = fits(table)
    bad = unhealthy_runs(table)
    groups = rows.groupby(["benchmark", "model", "acquisition"])
    result = pd.DataFrame(
        {
            "runs": groups["run_id"].nunique(),
            "unhealthy_runs": groups["run_id"].agg(lambda ids: len(set(ids) & bad)),
            "fits": groups.size(),
            "unhealthy_fits": groups["unhealthy"].sum(),
            "divergences": groups["divergences"].sum(),
            "fallbacks": groups["fallback"].sum(),
            "rhat_median": groups["rhat"].median(),
            "rhat_worst": groups["rhat"].max(),
            "ess_median": groups["ess"].median(),
            "ess_worst": groups["ess"].min(),
        }
    ).reset_index()
    return result.sort_values(["benchmark", "acquisition", "model"], key=paper_order, ignore_index=True)


def format_health(table: pd.DataFrame) -> str:
    """`health` as aligned text, and the unhealthy runs by name."""
    heading = ["Task", "Model", "Method", "Runs", "unhealthy", "Fits", "unhealthy", "Divergences", "Fallbacks"]
    lines = [[*heading, "R-hat (worst)", "ESS (worst)"]]
    for row in health(table).to_dict("records"):
        counts = [
            row[name] for name in ("runs", "unhealthy_runs", "fits", "unhealthy_fits", "divergences", "fallbacks")
        ]
        who = [title(row["benchmark"]), row["model"], label(row["acquisition"])]
        rhat, ess = (
            _pair(row["rhat_median"], row["rhat_worst"], ".3f"),
            _pair(row["ess_median"], row["ess_worst"], ".0f"),
        )
        lines.append([*who, *(f"{count:.0f}" for count in counts), rhat, ess])
    bad = table[table["run_id"].isin(unhealthy_runs(table))].drop_duplicates("run_id")
    named = [f"{row.benchmark} {row.model} {row.acquisition} seed {row.seed}" for row in bad.itertuples()]
    listed = f"\nUnhealthy runs: {', '.join(named[:20])}{' …' if len(named) > 20 else ''}." if named else ""
    return f"{aligned(lines, text_columns=3)}\n\n{THRESHOLDS}{listed}"


def health_note(table: pd.DataFrame, left_out: bool) -> list[str]:
    """A note for a figure whose runs are not all healthy."""
    bad = unhealthy_runs(table)
    if not bad:
        return []
    counts = table[table["run_id"].isin(bad)].drop_duplicates("run_id").groupby("acquisition").size()
    named = ", ".join(f"{label(method)} {counts[method]}" for method in method_order(counts.index))
    return [f"Runs with an unhealthy sampler, {'left out' if left_out else 'among those shown'}: {named}."]


def _pair(median: float, worst: float, form: str) -> str:
    return "–" if np.isnan(median) else f"{median:{form}} ({worst:{form}})"


def _numbers(rows: pd.DataFrame, column: str) -> pd.Series:
    """A diagnostic as numbers; what a sampler does not tell is NaN and speaks for nothing."""
    if column not in rows:
        return pd.Series(np.nan, index=rows.index)
    return pd.to_numeric(rows[column], errors="coerce").astype("float64")


def _fallback(rows: pd.DataFrame) -> pd.Series:
    if "mcmc_fallback" not in rows:
        return pd.Series(False, index=rows.index)
    return rows["mcmc_fallback"].notna() & (rows["mcmc_fallback"] != False)  # noqa: E712
