"""Sampling sparse lengthscales (`model=saas`, 128 warm-up draws and 128 more): this project and BoTorch side by side.

`python scripts/speed/saas_speed.py`. The data are Hartmann-6 with noise in the first six of D dimensions at random
points. For each size: the seconds of a fit on one core (processor time, which other processes do not change much;
BoTorch's with the compilation it repeats for every n), the smallest bulk ESS over the log lengthscales, and that per
second; ours is the median of several seeds. BoTorch has not finished D = 388 after eight minutes and is left out there
unless `--peer-up-to` says otherwise. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from typing import NamedTuple

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from botorch.fit import fit_fully_bayesian_model_nuts  # noqa: E402
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP  # noqa: E402
from saas_iteration import sparse_data  # noqa: E402

from scorebo import fit_gp  # noqa: E402
from scorebo.config import as_dict, compose, sampler_settings  # noqa: E402
from scorebo.inference.diagnostics import bulk_ess  # noqa: E402

# D, n, and how many times the peer's speed there must be, if that is asked.
CASES = ((25, 50, 20), (25, 100, 8), (180, 100, 2), (388, 100, None))


class Outcome(NamedTuple):
    """Seconds of a fit and the smallest ESS over its log lengthscales."""

    seconds: float
    ess: float


def main() -> None:
    """Print one row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--peer-up-to", type=int, default=180, help="largest D at which BoTorch is run")
    options = parser.parse_args()
    # BoTorch's sampler has threads of its own that no variable limits.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # Compiled code is loaded, and the first call of each library paid for, before the clock starts.
    ours(*sparse_data(10, 25), seed=0)
    print("| D | n | s | BoTorch, s | times | at least | ESS | BoTorch, ESS | ESS/s | BoTorch, ESS/s | times |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for dim, n, bar in CASES:
        X, Y = sparse_data(n, dim)
        own = median([ours(X, Y, seed) for seed in range(1, options.seeds + 1)])
        row = [f"{dim}", f"{n}", f"{own.seconds:.2f}"]
        if dim <= options.peer_up_to:
            peer = median([botorch(X, Y, seed) for seed in range(options.peer_seeds)])
            rate, peer_rate = own.ess / own.seconds, peer.ess / peer.seconds
            row += [f"{peer.seconds:.1f}", f"{peer.seconds / own.seconds:.0f}", f"{bar or '–'}"]
            row += [f"{own.ess:.0f}", f"{peer.ess:.0f}", f"{rate:.1f}", f"{peer_rate:.2f}", f"{rate / peer_rate:.0f}"]
        else:
            row += ["–", "–", "–", f"{own.ess:.0f}", "–", f"{own.ess / own.seconds:.1f}", "–", "–"]
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\nLargest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB, BoTorch's included.")


def ours(X: torch.Tensor, Y: torch.Tensor, seed: int) -> Outcome:
    """A fit with the settings of the SAAS tasks, every draw kept."""
    settings = sampler_settings(as_dict(compose(["benchmark=hartmann6_25", "acquisition=random"]).mcmc))
    settings |= {"num_mcmc_samples": settings["num_mcmc_samples"] * settings["thinning"], "thinning": 1}
    began = time.process_time()
    model = fit_gp(X, Y, "saas", seed=seed, **settings)
    seconds = time.process_time() - began
    return Outcome(seconds, bulk_ess(model.lengthscale.log().numpy()) or np.nan)


def botorch(X: torch.Tensor, Y: torch.Tensor, seed: int) -> Outcome:
    """BoTorch's fit with the same numbers of draws, and its own tree depth of at most 6."""
    model = SaasFullyBayesianSingleTaskGP(X, Y)
    began = time.process_time()
    fit_fully_bayesian_model_nuts(model, warmup_steps=128, num_samples=128, thinning=1, disable_progbar=True, seed=seed)
    seconds = time.process_time() - began
    return Outcome(seconds, bulk_ess(model.covar_module.base_kernel.lengthscale.detach()[:, 0].log().numpy()) or np.nan)


def median(outcomes: list[Outcome]) -> Outcome:
    """Of the seconds and of the ESS."""
    return Outcome(*(float(value) for value in np.median(np.array(outcomes), axis=0)))


if __name__ == "__main__":
    main()
