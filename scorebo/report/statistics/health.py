"""Whether the samplers did their work: per fit, per run, and per task and method; see `THRESHOLDS`.

One chain of 256 draws is noisy (R-hat of 1.01 is asked of thousands): a few unhealthy fits make no unhealthy run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scorebo.report.statistics.summary import aligned
from scorebo.report.statistics.table import NAMES, RUN, paper_order
from scorebo.report.style import label, method_order, title

MOST_DIVERGENT = 0.05
MOST_RHAT = 1.1
LEAST_ESS = 16.0  # fewer independent draws than sets that are kept
MOST_FITS = 0.1
THRESHOLDS = (
    f"A fit is unhealthy if its sampler was replaced, more than {MOST_DIVERGENT:.0%} of its draws diverged, R-hat > "
    f"{MOST_RHAT:g} or ESS < {LEAST_ESS:g}; a run if a sampler was replaced or more than {MOST_FITS:.0%} of its fits "
    "are unhealthy."
)
_DIAGNOSTICS = ["mcmc_draws", "mcmc_divergences", "mcmc_rhat", "mcmc_ess_bulk"]
_COUNTS = ("runs", "unhealthy_runs", "fits", "unhealthy_fits", "divergences", "fallbacks")


def fits(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with a fit, and what its sampler said: `divergent` (share), `rhat`, `ess`, `fallback`, `unhealthy`."""
    rows = table[table["num_observations"].notna()].reset_index(drop=True)
    # What a sampler does not tell is NaN and speaks for nothing.
    told = rows.reindex(columns=[*_DIAGNOSTICS, "mcmc_fallback"])
    draws, divergences, rhat, ess = (pd.to_numeric(told[c], errors="coerce").astype(float) for c in _DIAGNOSTICS)
    # Records of a sampler that does not tell its draws: any divergence counts as one of a hundred.
    divergent = divergences / draws.where(draws > 0, 100.0)
    fallback = told["mcmc_fallback"].notna() & (told["mcmc_fallback"] != False)  # noqa: E712
    unhealthy = fallback | (divergent > MOST_DIVERGENT) | (rhat > MOST_RHAT) | (ess < LEAST_ESS)
    return rows[[*RUN, "run_id"]].assign(
        divergent=divergent, divergences=divergences, rhat=rhat, ess=ess, fallback=fallback, unhealthy=unhealthy
    )


def unhealthy_runs(table: pd.DataFrame) -> set[str]:
    """The ids of the runs whose samplers did not do their work."""
    groups = fits(table).groupby("run_id")
    bad = (groups["unhealthy"].mean() > MOST_FITS) | groups["fallback"].any()
    return set(bad.index[bad])


def health(table: pd.DataFrame) -> pd.DataFrame:
    """One row per task, model and method: runs, fits, and how its samplers did; medians and the worst."""
    rows = fits(table)
    bad = unhealthy_runs(table)
    result = rows.groupby(NAMES, as_index=False).agg(
        runs=("run_id", "nunique"),
        unhealthy_runs=("run_id", lambda ids: len(set(ids) & bad)),
        fits=("run_id", "size"),
        unhealthy_fits=("unhealthy", "sum"),
        divergences=("divergences", "sum"),
        fallbacks=("fallback", "sum"),
        rhat_median=("rhat", "median"),
        rhat_worst=("rhat", "max"),
        ess_median=("ess", "median"),
        ess_worst=("ess", "min"),
    )
    return result.sort_values(["benchmark", "acquisition", "model"], key=paper_order, ignore_index=True)


def format_health(table: pd.DataFrame) -> str:
    """`health` as aligned text, and the unhealthy runs by name."""
    heading = ["Task", "Model", "Method", "Runs", "unhealthy", "Fits", "unhealthy", "Divergences", "Fallbacks"]
    lines = [[*heading, "R-hat (worst)", "ESS (worst)"]]
    for row in health(table).to_dict("records"):
        who = [title(row["benchmark"]), row["model"], label(row["acquisition"])]
        counts = [f"{row[name]:.0f}" for name in _COUNTS]
        rhat = _pair(row["rhat_median"], row["rhat_worst"], ".3f")
        lines.append([*who, *counts, rhat, _pair(row["ess_median"], row["ess_worst"], ".0f")])
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
