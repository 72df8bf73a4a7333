"""The priors, by the paths that model configs name and that run ids contain, e.g. `scorebo.priors.LogNormal`."""

from scorebo.gp.priors import Gamma, HalfCauchy, LogNormal, Normal

__all__ = ["Gamma", "HalfCauchy", "LogNormal", "Normal"]
