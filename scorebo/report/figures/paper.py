"""Each figure is a function from a table to panels of lines, or draws itself from small fits; one renderer for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from scorebo.errors import InputError, check_choice
from scorebo.files import storage_errors, write_atomically
from scorebo.report import provenance
from scorebo.report.claims import reference
from scorebo.report.evidence import Evidence
from scorebo.report.figures import explanatory
from scorebo.report.figures.hyperparameter_curves import check_one_model, hyperparameters
from scorebo.report.figures.metric_curves import active_learning, additive, best_values, optimization, priors
from scorebo.report.figures.render import Drawing, FigureData, render
from scorebo.report.selection import Selection
from scorebo.report.style import FORMATS


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, the function that computes it, and from what.

    `source` says which table that is: the records, the hyperparameter sets, or none (small fits of its own).
    """

    description: str
    data: Callable[[Any], FigureData | Drawing]
    source: Literal["records", "hyperparameters", "fits"] = "records"


def draw(
    figure: str,
    table: pd.DataFrame | None,
    out: Path | str,
    *,
    command: Sequence[str] | None = None,
    selection: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    narrow: bool = False,
) -> Path:
    """Draw a figure from a table of results into a file; the table's runs are all drawn, so select them before.

    Args:
        figure: A name of `FIGURES`.
        table: The tidy table, see `scorebo.report.statistics.table`; of `collect_hyperparameters` for figures of
            these; None for figures from small fits.
        out: The file; its ending (.pdf, .png or .svg) says the format. Its folder is made if it is not there.
        command: What the file says it was drawn with; by default this process's command.
        selection: How the runs were chosen, also kept in the file.
        notes: Written below the figure, before its own.
        narrow: Laid out for one column of a journal instead of two.

    Returns:
        The path of the file.
    """
    chosen = FIGURES[check_choice("figure", figure, FIGURES)]
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"The figure's file must end in {', '.join(FORMATS)}, got '{path}'.")
    origin = provenance.describe(figure, table, sys.argv if command is None else command, selection)
    data = chosen.data(table)
    if notes and isinstance(data, FigureData):
        data = FigureData(data.panels, (*notes, *data.notes), data.reference)
    content = render(data, suffix, provenance.metadata(origin, suffix), narrow=narrow)
    with storage_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path


def figure_input(name: str, evidence: Evidence) -> tuple[pd.DataFrame | None, Selection | None, list[str]]:
    """What a figure is drawn from: its table, which runs these are, and what a reader must know of them."""
    figure = FIGURES[check_choice("figure", name, FIGURES)]
    if figure.source == "fits":
        return None, None, []
    chosen = evidence.selection(name.replace("-", "_"))
    table = chosen.table
    if figure.source == "hyperparameters":
        check_one_model(table)  # before all sets are read
        table = evidence.hyperparameters_of(table)
    return table, chosen, [*chosen.missing, *evidence.health_notes(chosen)]


def _regret(description: str) -> Figure:
    return Figure(description, partial(optimization, metric="inference_regret", ylabel="Log10 inference regret"))


def _sets(description: str, **options: Any) -> Figure:
    return Figure(description, partial(hyperparameters, **options), "hyperparameters")


def _learned(task: str, model: str = "al_lognormal") -> Mapping[str, Any]:
    return {"reference": partial(reference.fitted, task, model), "reference_words": "Reference"}


_TRUE = {"reference": partial(reference.drawn_with, "gp8"), "reference_words": "Truth", "window": 3}

FIGURES = {
    "priors": Figure(
        "Log simple regret of NEI on the 8D GP sample with true hyperparameters and under two priors",
        partial(priors, metric="simple_regret", ylabel="Log10 simple regret"),
    ),
    "sal-example": Figure("A posterior, three GPs and each one's share of SAL-HR", explanatory.sal, "fits"),
    "scorebo-example": Figure("The same fit conditioned on optima", explanatory.scorebo, "fits"),
    "al-mll": Figure(
        "Negative MLL on the active-learning tasks, and the methods' ranking",
        partial(active_learning, metric="negative_mll", ylabel="Negative MLL", log=False),
    ),
    "al-rmse": Figure(
        "RMSE on the active-learning tasks, and the methods' ranking",
        partial(active_learning, metric="rmse", ylabel="RMSE", log=True),
    ),
    "gp8-regret": Figure(
        "Log inference regret of NEI and SCoreBO on the 8D GP sample under two priors",
        partial(priors, metric="inference_regret", ylabel="Log10 inference regret", spread=True),
    ),
    "bo-regret": _regret("Log inference regret on the synthetic tasks, and the methods' ranking"),
    "saas-final": Figure("Best observation under SAAS priors on four tasks", best_values),
    "saas-hyperparameters": _sets("Hyperparameters on the embedded Ackley under SAAS priors"),
    "addgp": Figure("Best observation on the additive tasks, and how many true pairs are split", additive),
    "pd1": Figure("Best accuracy on three deep-learning tasks", partial(best_values, ylabel="Best accuracy")),
    "distances-ws": _regret("SCoreBO with the Hellinger and the Wasserstein distance, both by Monte Carlo"),
    "distances-kl": _regret("SCoreBO with the Hellinger distance and the KL divergence, both by moment matching"),
    "saas-noise": Figure("NEI and SCoreBO under SAAS priors at three levels of noise", best_values),
    "ishigami-hyperparameters": _sets("Hyperparameters on Ishigami", **_learned("ishigami")),
    "ishigami-hyperparameters-no-outputscale": _sets(
        "Hyperparameters on Ishigami with a fixed outputscale", **_learned("ishigami", "al_lognormal_no_outputscale")
    ),
    "hartmann6-hyperparameters": _sets("Hyperparameters on Hartmann-6", **_learned("hartmann6_al")),
    "gp8-hyperparameters-lognormal": _sets("Hyperparameters on the 8D GP sample, lognormal prior", **_TRUE),
    "gp8-hyperparameters-botorch": _sets("Hyperparameters on the 8D GP sample, BoTorch prior", **_TRUE),
    "rosenbrock4-hyperparameters": _sets("Hyperparameters on Rosenbrock-4, whatever is queried"),
    "sal-mc": Figure(
        "SAL-WS by moment matching and by Monte Carlo",
        partial(active_learning, metric="negative_mll", ylabel="Negative MLL", log=False),
    ),
    "scorebo-mc": _regret("SCoreBO by moment matching and by Monte Carlo"),
    "hellinger-mm": Figure(
        "Hellinger distance of each set, moment matching against exact: a good and a poor case",
        partial(explanatory.moment_matching, distance="hellinger"),
        "fits",
    ),
    "wasserstein-mm": Figure(
        "Wasserstein distance of each set, moment matching against exact: a good and a poor case",
        partial(explanatory.moment_matching, distance="wasserstein"),
        "fits",
    ),
}
