"""What to query: distances, acquisition functions, their maximiser, and the strategies the loop uses."""

from scorebo.acquisition.baselines import BALD, BALM, BQBC, QBMGP
from scorebo.acquisition.maximize import maximize
from scorebo.acquisition.sal import SAL
from scorebo.acquisition.strategy import Context, Maximize, Proposal, Random, Sobol, Strategy, build_strategy

__all__ = [
    "BALD",
    "BALM",
    "BQBC",
    "QBMGP",
    "SAL",
    "Context",
    "Maximize",
    "Proposal",
    "Random",
    "Sobol",
    "Strategy",
    "build_strategy",
    "maximize",
]
