"""The maximum of every path over a box, and where it is."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from scorebo.box import check_bounds
from scorebo.errors import check_integer
from scorebo.gp import FullyBayesianGP
from scorebo.optima import _search
from scorebo.optima.paths import PosteriorPaths, sample_paths
from scorebo.seeds import derive

# Raw points are stretched about the centre and clipped: a third of the optimal coordinates lie on a bound.
STRETCH = 1.25
# Spread of the raw points around promising ones, as a fraction of the box, and how many: one for each 16 over the box.
AROUND = 0.1
AROUND_SHARE = 16
# In many dimensions only about this many coordinates are perturbed: moving all of them leaves the neighbourhood.
MAX_PERTURBED = 20
# From this dimension on there are twice as many raw points over the box: cheaper for the hills found than more starts.
DOUBLED_DIM = 4
# The sparser the raw points, the less they tell which hills are high: this many starts for each restart and dimension,
# within limits. Most are given up after one or two evaluations; climbs by L-BFGS take many more.
STARTS_PER_DIMENSION = 2.0
MOST_STARTS_PER_RESTART = 12.0
MOST_LBFGS_STARTS_PER_RESTART = 2.0
# Starts are at least this far apart, in lengthscales (or box widths, where these are shorter).
START_DISTANCE = 0.5
# Unit roundoff of single precision, and a bound on the error of sine, cosine and their sum over a block of waves.
SINGLE_ROUNDOFF = 6e-8
SINGLE_SUM_ERROR = 2e-5


def sample_optima(
    model: FullyBayesianGP,
    bounds: Tensor,
    num_optima: int = 8,
    num_features: int = 2048,
    raw_samples: int = 2048,
    restarts: int = 20,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """Draw functions from the posterior under every set, and maximise each over the box.

    Args:
        model: the ensemble.
        bounds: `2 x D`, lower and upper, in the model's inputs.
        num_optima: functions drawn from each set, N.
        num_features: Fourier features of a function.
        raw_samples: points that cover the box, at which the search begins; twice as many from four dimensions on.
        restarts: climbs for each function; more in many dimensions, most of which are soon given up.
        seed: the result is a function of it; the global random state is neither used nor changed.

    Returns:
        optimal_inputs `N x M x D` and optimal_outputs `N x M x 1`, exactly the functions at these inputs.
    """
    for name, number in (("num_optima", num_optima), ("raw_samples", raw_samples), ("restarts", restarts)):
        check_integer(name, number, 1)
    bounds = check_bounds(bounds, model.dim)
    paths = sample_paths(model, num_optima, num_features, seed)
    return maximise_paths(paths, model, bounds, raw_samples, restarts, seed)


def maximise_paths(
    paths: PosteriorPaths, model: FullyBayesianGP, bounds: Tensor, raw_samples: int, restarts: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Maximise every path over the box; arguments and results as in `sample_optima`."""
    raw = raw_points(model, bounds, raw_samples, seed)
    lower, upper = bounds.numpy()
    starts_per_restart = min(
        max(1.0, STARTS_PER_DIMENSION * paths.dim),
        MOST_STARTS_PER_RESTART if paths.dim <= _search.NEWTON_DIM else MOST_LBFGS_STARTS_PER_RESTART,
    )
    num_starts = round(restarts * starts_per_restart)
    unit = model.outputscale.sqrt().tolist()
    optimal = np.empty((paths.num_paths, paths.num_sets, paths.dim))
    for m in range(paths.num_sets):
        values, tolerance = _screen(paths, m, raw[m], np.maximum(abs(lower), abs(upper)))
        points = raw[m].numpy()
        scale = np.minimum(paths.lengthscale[m].numpy(), upper - lower)
        for p, (screened, order) in enumerate(zip(values, np.argsort(-values), strict=True)):
            starts = _search.choose_starts(points, order, scale, num_starts, START_DISTANCE)
            path, single, x = paths.one(p, m), paths.one(p, m, single=True), optimal[p, m]
            _search.search(points, screened, tolerance[p], starts, path, single, scale, lower, upper, unit[m], x)
    inputs = torch.from_numpy(optimal)
    return inputs, paths.own(inputs.unsqueeze(-2))[0]


def _screen(paths: PosteriorPaths, m: int, points: Tensor, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every path of set m at the points, the waves in single precision: values `N x R`, and bounds on their errors `N`.

    `reach` is the largest size of a coordinate in each dimension.
    """
    omega, a, b = paths.single
    a, b = np.ascontiguousarray(a[:, m]), np.ascontiguousarray(b[:, m])
    waves = _search.screen(points.numpy().astype(np.float32), omega[m], a, b)
    phase = reach @ abs(omega[m])
    error = (abs(a) + abs(b)) @ (SINGLE_SUM_ERROR + (paths.dim + 3) * SINGLE_ROUNDOFF * phase)
    one = torch.ones(1, dtype=torch.float64)
    correlation = paths.kernel(points, paths.inputs, paths.lengthscale[m : m + 1], one)[0]
    update = paths.update_weights[:, m] @ correlation.mT
    return waves.T + (paths.mean[m] + update).numpy(), error


def raw_points(model: FullyBayesianGP, bounds: Tensor, count: int, seed: int) -> Tensor:
    """Points at which the search begins, all inside the box: `M x R x D`.

    Scrambled Sobol points over the box; more around the best observed and around the observed point with the highest
    posterior mean under each set; and the observed points themselves.
    """
    lower, width, dim = bounds[0], bounds[1] - bounds[0], bounds.shape[1]
    engine = SobolEngine(dim, scramble=True, seed=derive("optima", seed, "raw") % 2**31)
    covering = 2 * count if dim >= DOUBLED_DIM else count
    cover = (0.5 + STRETCH * (engine.draw(covering, dtype=torch.float64) - 0.5)).clamp(0.0, 1.0)
    generator = torch.Generator().manual_seed(derive("optima", seed, "around"))
    spread = AROUND * torch.randn(2, -(-count // AROUND_SHARE), dim, dtype=torch.float64, generator=generator)
    if dim > MAX_PERTURBED:
        spread *= torch.rand(spread.shape, dtype=torch.float64, generator=generator) < MAX_PERTURBED / dim
    observed = (model.train_X - lower) / width
    with torch.no_grad():
        mean, _ = model.marginals(model.train_X)  # n x M
    believed = observed[mean.argmax(dim=0)]
    best = observed[model.train_Y[:, 0].argmax()]
    shared = torch.cat([cover, best + spread[0], observed]).expand(model.num_sets, -1, -1)
    raw = torch.cat([shared, believed.unsqueeze(-2) + spread[1]], dim=-2).clamp(0.0, 1.0)
    return torch.minimum(torch.maximum(lower + width * raw, bounds[0]), bounds[1])
