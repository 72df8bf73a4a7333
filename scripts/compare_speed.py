"""Sampling, a whole SAL-HR iteration and its maximisation: BoTorch 0.18.1, botorch_community and this project.

Both see the same data and the same priors (the paper's LN(0, 3), given to BoTorch's model in a subclass, so that both
sample the same posterior), in one process, on one core. Prints seconds, effective sample sizes and ratios; nothing is
asserted. Compilation of this project's density is not counted (it is cached on disk); BoTorch compiles for every number
of observations, which every iteration of a run pays, and is counted.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import numpyro  # noqa: E402
import torch  # noqa: E402
from botorch.acquisition import AcquisitionFunction  # noqa: E402
from botorch.fit import fit_fully_bayesian_model_nuts  # noqa: E402
from botorch.models.fully_bayesian import FullyBayesianSingleTaskGP, MaternPyroModel  # noqa: E402
from botorch.optim import optimize_acqf  # noqa: E402
from botorch_community.acquisition.bayesian_active_learning import (  # noqa: E402
    qStatisticalDistanceActiveLearning,
)
from torch import Tensor  # noqa: E402

import scorebo  # noqa: E402
from scorebo.acquisition import SAL, maximize  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402
from scorebo.inference.diagnostics import bulk_ess  # noqa: E402

THINNING, NUM_SETS = 16, 16


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


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100, 150], help="numbers of observations")
    parser.add_argument("--repeats", type=int, default=3, help="fits of this project, of which the median is shown")
    parser.add_argument("--warmup", type=int, default=256, help="warm-up draws of both samplers")
    options = parser.parse_args()
    scorebo.fit_gp(*hartmann_data(8), warmup=8, thinning=1, num_sets=4)  # loads the compiled density

    print(f"Hartmann-6 data, D = 6, {options.warmup} + {THINNING * NUM_SETS} draws, one core")
    print("           posterior sampling              whole SAL-HR iteration         SAL-HR maximised, our model")
    print("   n   BoTorch  scorebo  ratio  (ESS)     BoTorch  scorebo  ratio     optimize_acqf  ours  ratio  gain")
    for n in options.sizes:
        X, Y = hartmann_data(n)
        theirs, their_fit, their_ess = fit_botorch(X, Y, options.warmup)
        fits = [fit_ours(X, Y, options.warmup, seed) for seed in range(options.repeats)]
        our_fit = float(np.median([seconds for _, seconds in fits]))
        ours = fits[0][0]
        _, their_maximisation = optimize(qStatisticalDistanceActiveLearning(theirs, distance_metric="hellinger"))
        acquisition = SAL(ours, distance="hellinger")
        their_value, peer_seconds = optimize(acquisition)
        began = time.perf_counter()
        _, our_value = maximize(acquisition, unit_box(6), seed=1)
        our_maximisation = time.perf_counter() - began
        our_ess = ours.diagnostics.ess_bulk if ours.diagnostics and ours.diagnostics.ess_bulk else float("nan")
        theirs_total, ours_total = their_fit + their_maximisation, our_fit + our_maximisation
        print(
            f"{n:4d} {their_fit:8.2f}s {our_fit:7.3f}s {their_fit / our_fit:5.0f}x  ({their_ess:.0f}, {our_ess:.0f})"
            f"{theirs_total:10.2f}s {ours_total:7.3f}s {theirs_total / ours_total:5.0f}x"
            f"{peer_seconds:14.3f}s {our_maximisation:6.3f}s {peer_seconds / our_maximisation:5.1f}x"
            f"  {float(our_value / their_value) - 1:+.0e}",
            flush=True,
        )


def hartmann_data(n: int) -> tuple[Tensor, Tensor]:
    """`n x 6` Sobol points and the standardised noisy outputs `n x 1` of the task hartmann6_al."""
    task = scorebo.load_benchmark("hartmann6_al", initial=n, total=n)
    X = task.initial_design(1)
    Y = torch.tensor([task.observe(x, 1, i + 1)[0] for i, x in enumerate(X)], dtype=torch.float64)
    return X, ((Y - Y.mean()) / Y.std())[:, None]


def unit_box(dim: int) -> Tensor:
    """`2 x dim`."""
    return torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, dim)


def fit_ours(X: Tensor, Y: Tensor, warmup: int, seed: int) -> tuple[FullyBayesianGP, float]:
    """A fit and its seconds."""
    began = time.perf_counter()
    model = scorebo.fit_gp(X, Y, model="bo_lognormal", warmup=warmup, thinning=THINNING, num_sets=NUM_SETS, seed=seed)
    return model, time.perf_counter() - began


def fit_botorch(X: Tensor, Y: Tensor, warmup: int) -> tuple[Peer, float, float]:
    """The peer's fit with the same numbers of draws, its seconds, and its smallest ESS."""
    model = Peer(X, Y)
    settings = {"warmup_steps": warmup, "num_samples": THINNING * NUM_SETS, "disable_progbar": True}
    began = time.perf_counter()
    fit_fully_bayesian_model_nuts(model, thinning=1, **settings)
    seconds = time.perf_counter() - began
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


def optimize(acquisition: AcquisitionFunction) -> tuple[Tensor, float]:
    """The maximum that BoTorch's optimiser finds with the paper's numbers, and its seconds."""
    began = time.perf_counter()
    _, value = optimize_acqf(acquisition, unit_box(6), q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100})
    return value, time.perf_counter() - began


if __name__ == "__main__":
    main()
