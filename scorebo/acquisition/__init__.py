"""What to query: distances, acquisition functions, their maximizer, and the strategies the loop uses."""

from scorebo.acquisition.baselines import BALD, BALM, BQBC, QBMGP
from scorebo.acquisition.distances import Distance
from scorebo.acquisition.entropy_search import JES, MES
from scorebo.acquisition.maximize import maximize
from scorebo.acquisition.mixture_mean import MixtureMean
from scorebo.acquisition.noisy_ei import NoisyExpectedImprovement
from scorebo.acquisition.pes import PES
from scorebo.acquisition.sal import SAL
from scorebo.acquisition.scorebo import SCoreBO
from scorebo.acquisition.strategy import Context, Maximize, Proposal, Random, Sobol, Strategy, Thompson, build_strategy
from scorebo.acquisition.ucb import UCB

__all__ = [
    "BALD",
    "BALM",
    "BQBC",
    "JES",
    "MES",
    "PES",
    "QBMGP",
    "SAL",
    "UCB",
    "Context",
    "Distance",
    "Maximize",
    "MixtureMean",
    "NoisyExpectedImprovement",
    "Proposal",
    "Random",
    "SCoreBO",
    "Sobol",
    "Strategy",
    "Thompson",
    "build_strategy",
    "maximize",
]
