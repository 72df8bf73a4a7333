"""The acquisitions SAL is compared with, as functions of the M predictive normals N(μ_m, V_m) of y.

MacKay. Information-based objective functions for active data selection. Neural Computation 1992 (BALM).
Houlsby, Huszár, Ghahramani, Lengyel. Bayesian active learning for classification and preference learning. 2011 (BALD).
Riis, Antunes, Hüttel, Azevedo, Pereira. Bayesian active learning with fully Bayesian Gaussian processes. NeurIPS 2022
(BQBC, QBMGP).
"""

from __future__ import annotations

from torch import Tensor

from scorebo.acquisition.base import PredictiveAcquisition
from scorebo.acquisition.distances import moment_match


class BALD(PredictiveAcquisition):
    """Information about θ in y: ½ log V − mean_m ½ log V_m, with V the variance of the moment-matched mixture."""

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        _, mixture_variance = moment_match(mean, variance)
        return -0.5 * (variance / mixture_variance).log().mean(dim=-1)


class BQBC(PredictiveAcquisition):
    """Disagreement of the committee's means: mean_m (μ_m − μ)²."""

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        mixture_mean, _ = moment_match(mean, variance)
        return (mean - mixture_mean).square().mean(dim=-1)


class QBMGP(PredictiveAcquisition):
    """Variance of the mixture: mean_m V_m + mean_m (μ_m − μ)², that is BALM plus BQBC."""

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        return moment_match(mean, variance)[1].squeeze(-1)


class BALM(PredictiveAcquisition):
    """Mean predictive variance: mean_m V_m."""

    def score(self, mean: Tensor, variance: Tensor) -> Tensor:
        return variance.mean(dim=-1)
