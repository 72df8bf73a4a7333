"""Has NEI enough samples? The true EI at the point it chooses, relative to the best there is, on models of real runs.

    OMP_NUM_THREADS=1 python scripts/validation/noisy_ei_samples.py [--samples 4096] [--results results/trajectories]

The truth is EI over the unknown best of all observed points, none pruned, in closed form given f there (Letham et al.,
2019) and averaged over many independent samples of f there; the best there is, the best of two searches of another such
estimate with twice the raw points, and of what any variant chose. Variants: `nei`, `nei_plain` (without the logarithm)
and `nei_map`, for which the ensemble is its first set alone. Seconds: processor time of a whole proposal.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from functools import partial

from scorebo.threads import limit_threads

limit_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from botorch.utils.sampling import draw_sobol_normal_samples  # noqa: E402
from linear_operator.utils.cholesky import psd_safe_cholesky  # noqa: E402
from torch import Tensor  # noqa: E402
from trajectories import arguments, make_runs, stored_fits  # noqa: E402

from scorebo.acquisition import NoisyExpectedImprovement, maximize  # noqa: E402
from scorebo.acquisition.base import PointAcquisition  # noqa: E402
from scorebo.acquisition.noisy_ei import NUM_SAMPLES  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402

TASKS = ("branin", "rosenbrock2", "hartmann3", "rosenbrock4", "hartmann4", "hartmann6", "gp8")
SEARCHED, JUDGED = 4096, 32768  # samples over all sets


class TrueEI(PointAcquisition):
    """log EI with the last normal number integrated out, for which the samples hardly matter."""

    def __init__(self, model: FullyBayesianGP, num_samples: int, seed: int) -> None:
        super().__init__(model)
        n, sets = len(model.train_X), model.num_mcmc_samples
        mean, covariance = model.joint(model.train_X)
        _, self.whitened = model.whiten(model.train_X)
        self.factor = psd_safe_cholesky(covariance)
        normal = draw_sobol_normal_samples(n, num_samples, dtype=torch.float64, seed=seed)
        self.normal = normal.unflatten(0, (sets, num_samples // sets))
        self.best = (mean.unsqueeze(-2) + self.normal @ self.factor.mT).amax(dim=-1, keepdim=True)

    def evaluate(self, points: Tensor) -> Tensor:
        model, scale = self.model, self.model.prior_variance[:, None]
        mean, whitened = model.whiten(points)
        prior = model.kernel(model.train_X, points, model.lengthscale, model.outputscale)
        weights = torch.linalg.solve_triangular(self.factor, prior - self.whitened.mT @ whitened, upper=False)
        variance = scale - whitened.square().sum(dim=-2) - weights.square().sum(dim=-2)
        std = torch.maximum(variance, 1e-12 * scale).sqrt().unsqueeze(-2)
        z = (mean.unsqueeze(-2) + self.normal @ weights - self.best) / std
        density = (-0.5 * z.square()).exp() / math.sqrt(2.0 * math.pi)
        improvement = std * (density + z * torch.special.ndtr(z)).clamp_min(0.0)
        return (improvement.mean(dim=(0, 1)) + 1e-300).log()


def main() -> None:
    """Print a row for each fit as it comes, then the table."""
    parser = arguments(__doc__.splitlines()[0], tasks=TASKS)
    parser.add_argument("--samples", type=int, nargs="+", default=[NUM_SAMPLES])
    parser.add_argument("--acquisitions", nargs="+", default=["scorebo_hr", "nei"], help="of the runs")
    options = parser.parse_args()
    make_runs(options, options.acquisitions)
    shares, seconds = defaultdict(list), defaultdict(list)
    for fit in stored_fits(options, options.acquisitions):
        for ensemble, variants in ((True, ("nei", "nei_plain")), (False, ("nei_map",))):
            context, model = fit.context, fit.context.model if ensemble else first_set(fit.context.model)
            search = partial(
                maximize,
                bounds=context.bounds,
                seed=context.stream("acquisition"),
                around=model.train_X[model.train_Y.argmax()],
            )
            chosen = {}
            for name, count in ((name, count) for name in variants for count in options.samples):
                began = time.process_time()
                seed = context.stream("acquisition")
                acquisition = NoisyExpectedImprovement(model, log=name != "nei_plain", num_samples=count, seed=seed)
                chosen[name, count] = search(acquisition)[0]
                seconds[name, count].append(time.process_time() - began)
            with torch.no_grad():
                heavy = [TrueEI(model, SEARCHED, seed) for seed in (1, 2)]
            best = [search(acquisition, raw_samples=2048, seed=k)[0] for k, acquisition in enumerate(heavy)]
            truth = TrueEI(model, JUDGED, 3)(torch.cat([*chosen.values(), *best]).unsqueeze(1)).detach()
            share = (truth - truth.max()).exp().tolist()
            for variant, found in zip(chosen, share, strict=False):
                shares[variant].append(found)
            parts = " ".join(f"{name}/{count} {found:.3f}" for (name, count), found in zip(chosen, share, strict=False))
            print(f"{fit.task} {fit.acquisition} {fit.seed} {fit.n}: {parts}", flush=True)
    print("| acquisition | samples | fits | mean | 5 % quantile | least | share of at least 0.9 | s |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, count), found in shares.items():
        low = np.quantile(found, 0.05)
        good = np.mean(np.array(found) >= 0.9)
        print(
            f"| {name} | {count} | {len(found)} | {np.mean(found):.3f} | {low:.3f} | {min(found):.3f} | {good:.2f} "
            f"| {np.median(seconds[name, count]):.2f} |"
        )


def first_set(model: FullyBayesianGP) -> FullyBayesianGP:
    """The model with its first set alone."""
    names = ("lengthscale", "outputscale", "noise", "mean")
    sets = {name: getattr(model, name)[:1] for name in names}
    return FullyBayesianGP(model.train_X, model.train_Y, noise_floor=model.noise_floor, **sets)


if __name__ == "__main__":
    main()
