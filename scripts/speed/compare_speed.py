"""Sampling, a whole SAL-HR iteration and its maximization: BoTorch 0.18.1, botorch_community and this project.

Both see the same data and the same priors (the paper's LN(0, 3), given to BoTorch's model in a subclass, so that both
sample the same posterior), in one process, on one core. Prints seconds of the processor, effective sample
sizes and ratios; nothing is asserted. Compilation of this project's density is not counted (it is cached on disk);
BoTorch compiles for every number of observations, which every iteration of a run pays, and is counted.
"""

from __future__ import annotations

import argparse
import time

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
from botorch_community.acquisition.bayesian_active_learning import (  # noqa: E402
    qStatisticalDistanceActiveLearning,
)
from peer import NUM_MCMC_SAMPLES, THINNING, fit_botorch, fit_ours, hartmann_data, optimize  # noqa: E402

import scorebo  # noqa: E402
from scorebo.acquisition import SAL, maximize  # noqa: E402
from scorebo.search.box import unit_box  # noqa: E402


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100, 150], help="numbers of observations")
    parser.add_argument("--repeats", type=int, default=3, help="fits of this project, of which the median is shown")
    parser.add_argument("--warmup", type=int, default=256, help="warm-up draws of both samplers")
    options = parser.parse_args()
    task = "hartmann6_al"
    scorebo.fit_gp(*hartmann_data(8, task), warmup=8, thinning=1, num_mcmc_samples=4)  # loads the compiled density

    print(f"Hartmann-6 data, D = 6, {options.warmup} + {THINNING * NUM_MCMC_SAMPLES} draws, one core")
    print("           posterior sampling              whole SAL-HR iteration         SAL-HR maximized, our model")
    print("   n   BoTorch  scorebo  ratio  (ESS)     BoTorch  scorebo  ratio     optimize_acqf  ours  ratio  gain")
    for n in options.sizes:
        X, Y = hartmann_data(n, task)
        theirs, their_fit, their_ess = fit_botorch(X, Y, options.warmup)
        fits = [fit_ours(X, Y, options.warmup, seed) for seed in range(options.repeats)]
        our_fit = float(np.median([seconds for _, seconds in fits]))
        ours = fits[0][0]
        _, their_maximization = optimize(qStatisticalDistanceActiveLearning(theirs, distance_metric="hellinger"))
        acquisition = SAL(ours, distance="hellinger")
        their_value, peer_seconds = optimize(acquisition)
        began = time.process_time()
        _, our_value = maximize(acquisition, unit_box(6), seed=1)
        our_maximization = time.process_time() - began
        our_ess = ours.diagnostics.ess_bulk if ours.diagnostics and ours.diagnostics.ess_bulk else float("nan")
        theirs_total, ours_total = their_fit + their_maximization, our_fit + our_maximization
        print(
            f"{n:4d} {their_fit:8.2f}s {our_fit:7.3f}s {their_fit / our_fit:5.0f}x  ({their_ess:.0f}, {our_ess:.0f})"
            f"{theirs_total:10.2f}s {ours_total:7.3f}s {theirs_total / ours_total:5.0f}x"
            f"{peer_seconds:14.3f}s {our_maximization:6.3f}s {peer_seconds / our_maximization:5.1f}x"
            f"  {float(our_value) / their_value - 1:+.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
