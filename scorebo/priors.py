"""The priors, by the paths that model configs name and that run ids contain; `Prior` is the base of your own."""

from scorebo.gp.priors import Gamma, HalfCauchy, LogNormal, Normal, Prior

__all__ = ["Gamma", "HalfCauchy", "LogNormal", "Normal", "Prior"]
