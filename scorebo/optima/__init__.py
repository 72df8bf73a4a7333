"""Where the maximum may be: pathwise draws from the posterior and their maximizers."""

from scorebo.optima.maximize import sample_optima
from scorebo.optima.paths import PosteriorPaths, sample_paths

__all__ = ["PosteriorPaths", "sample_optima", "sample_paths"]
