"""The maximum of the posterior, and normal draws around it."""

from __future__ import annotations

import numpy as np

from scorebo.gp.density import LogDensity

NUM_STARTS = 8
# What stands for infinity where the density is zero.
WALL = 1e100


def maximize(density: LogDensity, *, noise_lower_bound: float, seed: int, starts: int = NUM_STARTS) -> np.ndarray:
    """Highest point of the density found by L-BFGS-B from the best of many prior draws. `dim`.

    Raises:
        RuntimeError: the density is finite at none of the starts.
    """
    candidates = density.sample_prior(np.random.default_rng(seed), 8 * starts).clip(*density.bounds(noise_lower_bound))
    values = np.array([density(theta)[0] for theta in candidates])
    best = np.argsort(-values)[:starts]
    return climb(density, candidates[best[np.isfinite(values[best])]], noise_lower_bound=noise_lower_bound)


def climb(density: LogDensity, starts: np.ndarray, *, noise_lower_bound: float) -> np.ndarray:
    """Highest point of the density that L-BFGS-B reaches from any of the starts, `S x dim`. `dim`.

    Raises:
        RuntimeError: the density is finite at none of the starts.
    """
    from scipy.optimize import minimize  # a quarter of a second that most runs need not wait for

    if density.dim == 0:
        return np.empty(0)
    bounds = list(zip(*density.bounds(noise_lower_bound), strict=True))
    results = [minimize(lambda theta: _negated(density, theta), start, jac=True, bounds=bounds) for start in starts]
    best = min(results, key=lambda result: float(result.fun), default=None)
    if best is None or best.fun >= WALL:
        raise RuntimeError("The log density is finite at none of the starting points.")
    return best.x


def _negated(density: LogDensity, theta: np.ndarray) -> tuple[float, np.ndarray]:
    value, gradient = density(theta)
    # A finite wall instead of infinity lets the line search step back from a covariance that is not positive definite.
    return (WALL, np.zeros_like(theta)) if not np.isfinite(value) else (-value, -gradient)


def laplace_draws(density: LogDensity, *, size: int, seed: int) -> np.ndarray:
    """`size x dim` draws from the normal distribution that matches the density's mode and curvature.

    The fallback when a sampler keeps failing. The Hessian comes from differences of the exact gradient; directions of
    no curvature get the spread of a unit normal, so that the draws stay finite.
    """
    mode = maximize(density, noise_lower_bound=0.0, seed=seed)
    step = 1e-4
    columns = [(density(mode + step * e)[1] - density(mode - step * e)[1]) / (2 * step) for e in np.eye(density.dim)]
    hessian = np.stack(columns)
    precision, directions = np.linalg.eigh(-0.5 * (hessian + hessian.T))
    spread = 1.0 / np.sqrt(np.maximum(precision, 1.0 / 9.0))
    normal = np.random.default_rng(seed).standard_normal((size, density.dim))
    return mode + (normal * spread) @ directions.T
