"""BoTorch's side of the speed comparisons, and the data and settings that both sides share.

Import it after the number of threads is set.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpyro
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_fully_bayesian_model_nuts
from botorch.models.fully_bayesian import FullyBayesianSingleTaskGP, MaternPyroModel
from botorch.optim import optimize_acqf
from torch import Tensor

import scorebo
from scorebo.gp import FullyBayesianGP
from scorebo.inference.diagnostics import bulk_ess
from scorebo.search.box import unit_box

THINNING, NUM_MCMC_SAMPLES = 16, 16


class PaperPriors(MaternPyroModel):
    """LN(0, 3) on lengthscales, outputscale and noise variance; the mean's N(0, 1) is BoTorch's own."""

    def sample_lengthscale(self, dim: int) -> Any:
        """D lengthscales."""
        return numpyro.sample("lengthscale", numpyro.distributions.LogNormal(np.zeros(dim), math.sqrt(3.0)))

    def sample_outputscale(self, concentration: float | None = None, rate: float | None = None) -> Any:
        """The signal variance."""
        return numpyro.sample("outputscale", numpyro.distributions.LogNormal(0.0, math.sqrt(3.0)))

    def sample_noise(self) -> Any:
        """The noise variance."""
        return numpyro.sample("noise", numpyro.distributions.LogNormal(0.0, math.sqrt(3.0)))


class Peer(FullyBayesianSingleTaskGP):
    """BoTorch's fully Bayesian GP with the paper's priors."""

    _pyro_model_class = PaperPriors


def hartmann_data(n: int, task: str) -> tuple[Tensor, Tensor]:
    """`n x 6` Sobol points and the standardized noisy outputs `n x 1`, larger is better, of a task on Hartmann-6."""
    benchmark = scorebo.load_benchmark(task, initial=n, total=n)
    X = benchmark.initial_design(1)
    Y = torch.tensor([benchmark.observe(x, 1, i + 1)[0] for i, x in enumerate(X)], dtype=torch.float64)
    sign = 1.0 if benchmark.maximize else -1.0
    return X, sign * ((Y - Y.mean()) / Y.std())[:, None]


def fit_ours(
    X: Tensor, Y: Tensor, warmup: int, seed: int, num_mcmc_samples: int = NUM_MCMC_SAMPLES
) -> tuple[FullyBayesianGP, float]:
    """A fit and its seconds."""
    began = time.process_time()
    model = scorebo.fit_gp(
        X, Y, model="bo_lognormal", warmup=warmup, thinning=THINNING, num_mcmc_samples=num_mcmc_samples, seed=seed
    )
    return model, time.process_time() - began


def fit_botorch(
    X: Tensor, Y: Tensor, warmup: int, num_mcmc_samples: int = NUM_MCMC_SAMPLES
) -> tuple[Peer, float, float]:
    """The peer's fit with the same numbers of draws, its seconds, and its smallest ESS."""
    model = Peer(X, Y)
    settings = {"warmup_steps": warmup, "num_samples": THINNING * num_mcmc_samples, "disable_progbar": True}
    began = time.process_time()
    fit_fully_bayesian_model_nuts(model, thinning=1, **settings)
    seconds = time.process_time() - began
    lengthscale = model.covar_module.base_kernel.lengthscale.detach()
    outputscale = model.covar_module.outputscale.detach()
    noise = model.likelihood.noise.detach().reshape(-1)
    mean = model.mean_module.constant.detach().reshape(-1)
    scales = [lengthscale.squeeze(1).log(), outputscale[:, None].log(), noise[:, None].log(), mean[:, None]]
    ess = bulk_ess(torch.cat(scales, dim=1).numpy())
    # Keep every 16th draw, as a run does.
    thinned = Peer(X, Y)
    keep = slice(THINNING - 1, None, THINNING)
    thinned.load_mcmc_samples(
        {
            "lengthscale": lengthscale[keep],
            "outputscale": outputscale[keep],
            "noise": noise[keep],
            "mean": mean[keep],
        }
    )
    return thinned, seconds, float("nan") if ess is None else ess


def optimize(
    acquisition: AcquisitionFunction, raw_samples: int = 1024, restarts: int = 20, maxiter: int = 100
) -> tuple[float, float]:
    """The maximum that BoTorch's optimizer finds, with the paper's numbers unless told otherwise, and its seconds."""
    numbers = {"num_restarts": restarts, "raw_samples": raw_samples, "options": {"maxiter": maxiter}}
    began = time.process_time()
    _, value = optimize_acqf(acquisition, unit_box(6), q=1, **numbers)
    return float(value), time.process_time() - began
