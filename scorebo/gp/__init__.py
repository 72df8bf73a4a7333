"""Models: kernels, priors, the log density of θ and the ensemble of exact GPs."""

from scorebo.gp.additive import Additive
from scorebo.gp.density import LogDensity
from scorebo.gp.ensemble import FullyBayesianGP
from scorebo.gp.kernels import RBF, Kernel, Matern52
from scorebo.gp.partitions import Partitions
from scorebo.gp.surrogate import SparseLengthscales, Surrogate
from scorebo.gp.warping import Warped

__all__ = [
    "RBF",
    "Additive",
    "FullyBayesianGP",
    "Kernel",
    "LogDensity",
    "Matern52",
    "Partitions",
    "SparseLengthscales",
    "Surrogate",
    "Warped",
]
