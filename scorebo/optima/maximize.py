"""The maximum of every path over a box, and where it is."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import check_integer
from scorebo.gp import FullyBayesianGP, Warped
from scorebo.optima import _search, generations
from scorebo.optima.paths import PosteriorPaths, sample_paths
from scorebo.optima.raw import MANY_DIMENSIONS, effort, raw_points
from scorebo.search.box import Bounds, check_bounds
from scorebo.seeds import derive, generator

# Above this dimension Hessians cost more than the extra steps of L-BFGS, and climbs of all paths go together.
NEWTON_DIM = 16
# Starts are chosen among this many of the highest raw points, and this many more for each.
CANDIDATES, CANDIDATES_PER_START = 200, 12
# Above NEWTON_DIM and up to MANY_DIMENSIONS, the share of the climbs that begin at raw points.
FIRST = 1 / 3
# Unit roundoff of single precision, and a bound on the error of sine, cosine and their sum over a block of waves.
SINGLE_ROUNDOFF = 6e-8
SINGLE_SUM_ERROR = 2e-5


def sample_optima(
    model: FullyBayesianGP,
    bounds: Bounds,
    num_optima: int = 8,
    num_features: int = 2048,
    raw_samples: int = 1280,
    num_restarts: int = 12,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """Draw functions from the posterior under every set, and maximize each over the box.

    Args:
        model: the ensemble.
        bounds: a `2 x D` tensor, lower and upper corner, or `scorebo.Box`, in the model's inputs.
        num_optima: functions drawn from each set, N.
        num_features: Fourier features of a function.
        raw_samples: points that cover the box, at which the search begins, for functions that are easy to search;
            times the `effort` for others.
        num_restarts: most climbs for each such function, times the effort likewise; most are soon given up.
        seed: the result is a function of it; the global random state is neither used nor changed.

    Returns:
        optimal_inputs `N x M x D` and optimal_outputs `N x M x 1`, exactly the functions at these inputs.
    """
    for name, number in (("num_optima", num_optima), ("raw_samples", raw_samples), ("num_restarts", num_restarts)):
        check_integer(name, number, 1)
    box = check_bounds(bounds, model.dim)
    if isinstance(model.kernel, Warped):
        return _sample_warped(model, model.kernel, box, (num_optima, num_features, raw_samples, num_restarts), seed)
    paths = sample_paths(model, num_optima, num_features, seed)
    return maximize_paths(paths, model, box, raw_samples, num_restarts, seed)


def _sample_warped(
    model: FullyBayesianGP, kernel: Warped, bounds: Tensor, numbers: tuple[int, int, int, int], seed: int
) -> tuple[Tensor, Tensor]:
    """The same under warped inputs: a set is an ordinary GP of the inputs as it sees them, and is searched there."""
    corners = kernel.warp(bounds)
    found = [
        sample_optima(model.unwarped(m), corners[m], *numbers, derive("optima", seed, m))
        for m in range(model.num_mcmc_samples)
    ]
    warped, outputs = (torch.cat(part, dim=1) for part in zip(*found, strict=True))
    inputs = kernel.unwarp(warped.unsqueeze(-2)).squeeze(-2)
    return torch.minimum(torch.maximum(inputs, bounds[0]), bounds[1]), outputs


def maximize_paths(
    paths: PosteriorPaths, model: FullyBayesianGP, bounds: Tensor, raw_samples: int, num_restarts: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Maximize every path over the box; arguments and results as in `sample_optima`."""
    raw = raw_points(model, bounds, raw_samples, seed)
    lower, upper = bounds.numpy()
    starts = _starts(model, bounds, num_restarts)
    unit = model.prior_variance.sqrt().tolist()
    optimal = np.empty((paths.num_mcmc_samples, paths.num_paths, paths.dim))
    for m in range(paths.num_mcmc_samples):
        single = paths.of_set(m, single=True)
        values = raw.screened(m, single)
        candidates = _highest(values, CANDIDATES + CANDIDATES_PER_START * starts[m])
        tolerance = _single_error(single, np.maximum(abs(lower), abs(upper)))
        scale = np.minimum(paths.lengthscale[m].numpy(), upper - lower)
        task = (
            raw.of_set(m).numpy(), values, candidates, tolerance, starts[m], paths.of_set(m), single, scale,
            lower, upper, unit[m], optimal[m],
        )  # fmt: skip
        if paths.dim <= NEWTON_DIM:
            _search.search_set(*task)
        else:
            structures = paths.structure_of_set(m), paths.structure_of_set(m, single=True)
            generations.search_set(*task, structures, generator("optima", seed, "generations", m))
    inputs = torch.from_numpy(optimal).transpose(0, 1).contiguous()
    return inputs, paths.own(inputs.unsqueeze(-2))[0]


def _starts(model: FullyBayesianGP, bounds: Tensor, num_restarts: int) -> list[int]:
    """Most climbs from raw points for the paths of each set."""
    share = FIRST if NEWTON_DIM < model.dim <= MANY_DIMENSIONS else 1.0
    return (share * num_restarts * effort(model.lengthscale, bounds[1] - bounds[0])).ceil().int().tolist()


def _highest(values: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` highest values in each row (or all), from the highest down."""
    count = min(count, values.shape[1])
    columns = np.argpartition(values, -count, axis=1)[:, -count:]
    order = np.argsort(-np.take_along_axis(values, columns, axis=1), axis=1)
    return np.take_along_axis(columns, order, axis=1)


def _single_error(single: tuple, reach: np.ndarray) -> np.ndarray:
    """Bounds on the errors of a set's paths with waves in single precision, `N`.

    `reach` is the largest size of a coordinate in each dimension.
    """
    omega, a, b = single[1:4]
    phase = reach @ abs(omega)
    return (abs(a) + abs(b)) @ (SINGLE_SUM_ERROR + (len(omega) + 3) * SINGLE_ROUNDOFF * phase)
