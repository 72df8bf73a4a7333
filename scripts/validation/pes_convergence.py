"""Does expectation propagation for PES converge on models of real runs, and to the moments of its constraints?

    OMP_NUM_THREADS=1 python scripts/validation/pes_convergence.py [--seeds 101] [--results results/trajectories]

One Markdown row for each task and n, over runs of several acquisitions, and for each task new fits to 60 points, whose
half was drawn into a ball of radius 0.05 around one sampled optimum. Optima: for how many expectation propagation is
run. Left: those for which it did not converge, the fallbacks. Mismatch: the largest difference between a marginal and
the moments of its constraint under the cavity, in standard deviations of the marginal, or relative for a variance, over
all optima that converged; computed anew from the sites by plain linear algebra. Seconds: processor time of the fit of
the sites, median over the fits.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

from scorebo.threads import limit_threads

limit_threads(1)

import torch  # noqa: E402
from scipy import stats  # noqa: E402
from trajectories import SYNTHETIC, Fit, arguments, make_runs, stored_fits  # noqa: E402

from scorebo.acquisition import PES, orthant, pes  # noqa: E402
from scorebo.config import load_model  # noqa: E402
from scorebo.gp import FullyBayesianGP  # noqa: E402
from scorebo.inference import fit_gp  # noqa: E402

ACQUISITIONS = ("scorebo_hr", "nei", "pes")
RADIUS = 0.05


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    make_runs(options, ACQUISITIONS)
    rows, totals = defaultdict(list), torch.zeros(2)
    for fit in stored_fits(options, ACQUISITIONS):
        inputs, _ = fit.context.sample_optima()
        rows[fit.task, str(fit.n)].append(judge(fit.context.model, inputs))
        if fit.n == 60:
            context = replace(fit.context, model=clustered(fit, inputs[0, 0]))
            rows[fit.task, "60, clustered"].append(judge(context.model, context.sample_optima()[0]))
    print("| task | n | fits | optima | left | mismatch | s |")
    print("|---|---|---|---|---|---|---|")
    for task in SYNTHETIC:
        for n in [*map(str, options.observed), "60, clustered"]:
            if found := rows.get((task, n)):
                optima, left = (sum(row[k] for row in found) for k in range(2))
                seconds = statistics.median(row[3] for row in found)
                mismatch = max(row[2] for row in found)
                print(f"| {task} | {n} | {len(found)} | {optima} | {left} | {mismatch:.0e} | {seconds:.3f} |")
                totals += torch.tensor([optima, left])
    print("| all | | | " + " | ".join(f"{int(total)}" for total in totals) + " | | |")


def clustered(fit: Fit, optimum: torch.Tensor) -> FullyBayesianGP:
    """The model fitted anew after half of the points were drawn into a small ball around an optimum.

    The observations are those that the model's first set expects at all points, and noise.
    """
    model = fit.context.model
    generator = torch.Generator().manual_seed(fit.seed)
    step = torch.randn(model.train_X[::2].shape, dtype=torch.float64, generator=generator)
    X = model.train_X.clone()
    X[::2] = (optimum + RADIUS * step / model.dim**0.5).clamp(0.0, 1.0)
    noise = torch.randn(len(X), dtype=torch.float64, generator=generator) * model.noise_variance[0].sqrt()
    Y = model.marginals(X)[0][:, 0] + noise
    return fit_gp(X, (Y - Y.mean()) / Y.std(), load_model("bo_lognormal"), seed=fit.seed)


def judge(model: FullyBayesianGP, inputs: torch.Tensor) -> tuple[int, int, float, float]:
    """Optima, failures, mismatch, seconds."""
    problem: Any = {}

    def timed(*args):  # type: ignore[no-untyped-def]
        began = time.process_time()
        sites = orthant.fit_sites(*args)
        problem["seconds"], problem["is"] = time.process_time() - began, (*args, sites)
        return sites

    pes.fit_sites = timed
    try:
        acquisition = PES(model, inputs)
    finally:
        pes.fit_sites = orthant.fit_sites
    return inputs.shape[:2].numel(), acquisition.num_fallbacks, mismatch(*problem["is"]), problem["seconds"]


def mismatch(mean: torch.Tensor, covariance: torch.Tensor, sites: orthant.Sites) -> float:
    """Largest difference of the marginals under the sites and the truncated normals they are to agree with."""
    worst = 0.0
    for b in sites.converged.nonzero().squeeze(-1).tolist():
        precision, shift = sites.precision[b], sites.shift[b]
        # (S⁻¹ + T)⁻¹ = (I + S·T)⁻¹·S: another way than that of the package.
        system = torch.eye(len(precision), dtype=torch.float64) + covariance[b] * precision
        fitted = torch.linalg.solve(system, torch.cat([covariance[b], (mean[b] + covariance[b] @ shift)[:, None]], -1))
        located, variance = fitted[:, -1], fitted.diagonal()
        cavity = 1.0 / (1.0 / variance - precision)
        center = cavity * (located / variance - shift)
        threshold = (center / cavity.sqrt()).numpy()
        ratio = torch.from_numpy(stats.norm.logpdf(threshold) - stats.norm.logcdf(threshold))
        ratio = ratio.exp()
        tilted = cavity * (1.0 - ratio * (ratio + torch.from_numpy(threshold)))
        apart = (center + cavity.sqrt() * ratio - located).abs() / variance.sqrt()
        worst = max(worst, float(torch.maximum(apart, (tilted - variance).abs() / variance).max()))
    return worst


if __name__ == "__main__":
    main()
