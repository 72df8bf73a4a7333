"""What is believed: kernels, priors, the log density of θ and the ensemble of exact GPs."""

from scorebo.gp.ensemble import FullyBayesianGP
from scorebo.gp.kernels import RBF, Kernel, Matern52

__all__ = ["RBF", "FullyBayesianGP", "Kernel", "Matern52"]
