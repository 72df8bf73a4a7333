"""A whole SCoreBO-HR iteration with sparse lengthscales (`model=saas`): this project and BoTorch side by side.

    python scripts/speed/saas_iteration.py [--dim 25] [-n 50] [--no-peer]

Sampling (128 warm-up draws, 16 sets thinned by 8), 8 optima of each set, and the acquisition maximized with 1024 raw
points and 20 restarts, on data as in saas_speed.py. Prints processor seconds of each phase on one core, and the largest
memory of this project's part: `--dim 388 -n 150 --no-peer` is the largest of the tasks.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import time

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402

from scorebo import fit_gp  # noqa: E402
from scorebo.acquisition import SCoreBO, maximize  # noqa: E402
from scorebo.benchmarks.active_learning import Hartmann6  # noqa: E402
from scorebo.optima import sample_optima  # noqa: E402
from scorebo.search.box import unit_box  # noqa: E402

WARMUP, THINNING, NUM_MCMC_SAMPLES, NUM_OPTIMA = 128, 8, 16, 8
PHASES = ("sampling", "optima", "maximization")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=25)
    parser.add_argument("-n", type=int, default=50)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    # BoTorch's sampler has threads of its own that no variable limits.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ours(*sparse_data(10, 20), warmup=8, features=64)  # loads the compiled code
    X, Y = sparse_data(options.n, options.dim)
    own = ours(X, Y)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"D = {options.dim}, n = {options.n}, largest memory {memory:.2f} GB\n")
    rows = {"scorebo": own} if options.no_peer else {"scorebo": own, "BoTorch": botorch(X, Y)}
    print(f"| seconds | {' | '.join(PHASES)} | all | times |\n|---|---|---|---|---|---|")
    for name, seconds in rows.items():
        cells = [f"{phase:.2f}" for phase in (*seconds, sum(seconds))] + [f"{sum(seconds) / sum(own):.0f}"]
        print(f"| {name} | {' | '.join(cells)} |")


def sparse_data(n: int, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random points `n x D` and standardized outputs `n x 1` that depend on the first six coordinates."""
    rng = np.random.default_rng([n, dim])
    X = torch.from_numpy(rng.random((n, dim)))
    y = 0.1 * torch.from_numpy(rng.standard_normal(n)) - Hartmann6.wells(X[:, :6])
    return X, ((y - y.mean()) / y.std())[:, None]


def ours(X: torch.Tensor, Y: torch.Tensor, warmup: int = WARMUP, features: int = 2048) -> list[float]:
    """Seconds of the phases of this project."""
    box = unit_box(X.shape[1])
    moments = [time.process_time()]
    model = fit_gp(X, Y, "saas", warmup=warmup, thinning=THINNING, num_mcmc_samples=NUM_MCMC_SAMPLES, seed=1)
    moments.append(time.process_time())
    optima = sample_optima(model, box, NUM_OPTIMA, features, seed=1)
    moments.append(time.process_time())
    maximize(SCoreBO(model, *optima), box, 1024, 20, around=X[Y.argmax()])
    moments.append(time.process_time())
    return [after - before for before, after in itertools.pairwise(moments)]


def botorch(X: torch.Tensor, Y: torch.Tensor) -> list[float]:
    """Seconds of the phases of BoTorch and botorch_community, loaded only now: their memory is not this project's."""
    from botorch.acquisition.utils import get_optimal_samples
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch_community.acquisition.scorebo import qSelfCorrectingBayesianOptimization

    box = unit_box(X.shape[1])
    moments = [time.process_time()]
    model = SaasFullyBayesianSingleTaskGP(X, Y)
    settings = {"warmup_steps": WARMUP, "num_samples": THINNING * NUM_MCMC_SAMPLES, "thinning": THINNING}
    fit_fully_bayesian_model_nuts(model, disable_progbar=True, **settings)
    moments.append(time.process_time())
    inputs, outputs = get_optimal_samples(model, box, NUM_OPTIMA, 1024, 20)
    moments.append(time.process_time())
    acquisition = qSelfCorrectingBayesianOptimization(model, outputs, inputs, distance_metric="hellinger")
    optimize_acqf(acquisition, box, q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100})
    moments.append(time.process_time())
    return [after - before for before, after in itertools.pairwise(moments)]


if __name__ == "__main__":
    main()
