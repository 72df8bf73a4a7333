"""The covariance of some draws, estimated so that it can be factorized however few they are."""

from __future__ import annotations

import numpy as np

# Weight of the guess about every variance, in draws, and its value: as in Stan's regularization of its mass matrix.
GUESS_DRAWS, GUESS_VARIANCE = 5.0, 1e-3
# Correlations are never taken at their full value: the draws come from several posteriors, if neighboring ones.
LEAST_SHRINKAGE = 0.02


def whitening_factor(draws: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor `dim x dim` of the covariance of the draws `R x dim`.

    The correlations are shrunk towards zero by the share of their squares that is estimation error (Schäfer, Strimmer:
    A shrinkage approach to large-scale covariance matrix estimation, 2005), so that 128 draws do for 400 dimensions.
    """
    count, dim = draws.shape
    centered = draws - draws.mean(axis=0)
    observed = np.mean(centered**2, axis=0)
    variance = (count * observed + GUESS_DRAWS * GUESS_VARIANCE) / (count + GUESS_DRAWS)
    scaled = centered / np.sqrt(np.where(observed > 0.0, observed, 1.0))
    correlation = scaled.T @ scaled / count
    # The variance over the draws of each product z_i z_j, whose mean the correlation is.
    error = ((scaled**2).T @ scaled**2 / count - correlation**2) / count
    off_diagonal = ~np.eye(dim, dtype=bool)
    squares = np.sum(correlation[off_diagonal] ** 2)
    share = 1.0 if squares == 0.0 else float(np.sum(error[off_diagonal]) / squares)
    shrinkage = min(1.0, max(LEAST_SHRINKAGE, share))
    shrunk = (1.0 - shrinkage) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return np.sqrt(variance)[:, None] * np.linalg.cholesky(shrunk)
