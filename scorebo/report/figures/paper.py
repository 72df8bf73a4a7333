"""The figures of the paper, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from scorebo.report.claims import reference
from scorebo.report.figures import explanatory
from scorebo.report.figures.base import Figure
from scorebo.report.figures.hyperparameter_curves import hyperparameters
from scorebo.report.figures.metric_curves import active_learning, additive, best_values, optimization, priors


def _learning(name: str, description: str, metric: str, experiment: str | None = None) -> Figure:
    return Figure(name, description, partial(active_learning, metric=metric), experiment, metric=metric)


def _regret(name: str, description: str) -> Figure:
    data = partial(optimization, metric="inference_regret")
    return Figure(name, description, data, compared="inference_regret")


def _sets(name: str, description: str, **options: Any) -> Figure:
    return Figure(name, description, partial(hyperparameters, **options), source="hyperparameters")


def _matching(distance: str) -> Figure:
    words = f"{distance.capitalize()} distance of each GP, moment matching against exact: a good and a poor case"
    return Figure(f"{distance}-mm", words, partial(explanatory.moment_matching, distance=distance), source="fits")


def _learned(task: str, model: str = "al_lognormal") -> Mapping[str, Any]:
    found = {"reference": reference.fitted, "reference_spread": reference.spread}
    return {name: partial(function, task, model) for name, function in found.items()}


_TRUE = {"reference": partial(reference.drawn_with, "gp8"), "reference_words": "Truth", "window": 3}

_FIGURES = (
    Figure(
        "priors",
        "Log simple regret of NEI on the 8D GP sample with true hyperparameters and under two priors",
        partial(priors, metric="simple_regret"),
        compared="simple_regret",
    ),
    Figure(
        "sal-example",
        "The posteriors of three GPs and their mixture, and each one's share of SAL-HR",
        explanatory.sal,
        source="fits",
    ),
    Figure(
        "scorebo-example",
        "The same GPs conditioned on optima, and each one's share of SCoreBO-HR",
        explanatory.scorebo,
        source="fits",
    ),
    _learning("al-mll", "Negative MLL on the active-learning tasks, and the methods' ranking", "negative_mll"),
    _learning(
        "al-mll-task-units",
        "Negative MLL in the tasks' own units instead of standardized outputs, and the methods' ranking",
        "negative_mll_task_units",
        experiment="al_mll",
    ),
    _learning("al-rmse", "RMSE on the active-learning tasks, and the methods' ranking", "rmse"),
    Figure(
        "gp8-regret",
        "Log inference regret of NEI and SCoreBO on the 8D GP sample under two priors",
        partial(priors, metric="inference_regret", spread=True),
        compared="inference_regret",
    ),
    _regret("bo-regret", "Log inference regret on the synthetic tasks, and the methods' ranking"),
    Figure("saas-final", "Best observation under SAAS priors on four tasks", best_values, compared="best_observed"),
    _sets("saas-hyperparameters", "Hyperparameters on the embedded Ackley under SAAS priors"),
    Figure(
        "addgp",
        "Best observation on the additive tasks, and how many true pairs are split",
        additive,
        compared="best_observed",
    ),
    Figure("pd1", "Best accuracy on three deep-learning tasks", best_values, compared="best_observed"),
    _regret("distances-ws", "SCoreBO with the Hellinger and the Wasserstein distance, both exact, and by Monte Carlo"),
    _regret("distances-kl", "SCoreBO with the Hellinger distance and the KL divergence, both by moment matching"),
    Figure(
        "saas-noise",
        "NEI and SCoreBO under SAAS priors at three levels of noise",
        best_values,
        compared="best_observed",
    ),
    _sets("ishigami-hyperparameters", "Hyperparameters on Ishigami", **_learned("ishigami")),
    _sets(
        "ishigami-hyperparameters-no-outputscale",
        "Hyperparameters on Ishigami with a fixed outputscale",
        **_learned("ishigami", "al_lognormal_no_outputscale"),
    ),
    _sets("hartmann6-hyperparameters", "Hyperparameters on Hartmann-6", **_learned("hartmann6_al")),
    _sets("gp8-hyperparameters-lognormal", "Hyperparameters on the 8D GP sample, lognormal prior", **_TRUE),
    _sets("gp8-hyperparameters-botorch", "Hyperparameters on the 8D GP sample, BoTorch prior", **_TRUE),
    _sets("rosenbrock4-hyperparameters", "Hyperparameters on Rosenbrock-4, whatever is queried"),
    _learning("sal-mc", "SAL-WS by moment matching, with exact distances and by Monte Carlo", "negative_mll"),
    _regret("scorebo-mc", "SCoreBO by moment matching, with exact distances and by Monte Carlo"),
    _matching("hellinger"),
    _matching("wasserstein"),
)
# The experiment of a figure has its name unless it says another.
PAPER = tuple(replace(figure, experiment=figure.experiment or figure.id.replace("-", "_")) for figure in _FIGURES)
