"""Log marginal likelihood and log prior with their gradients, compiled: the innermost loop of all inference.

Squared differences and correlations are kept *packed*: the n(n−1)/2 pairs i > j, row after row, so that every loop over
pairs is contiguous and vectorised.
"""

from __future__ import annotations

import numpy as np

from scorebo._cached import njit
from scorebo._vectorised import exp
from scorebo.gp._sweep import invert


@njit(error_model="numpy")
def pack_squares(X: np.ndarray) -> np.ndarray:
    """Squared differences of all pairs i > j in every dimension: `D x n(n−1)/2`."""
    n, dim = X.shape
    squares = np.empty((dim, n * (n - 1) // 2))
    for d in range(dim):
        pair = 0
        for i in range(n):
            for j in range(i):
                difference = X[i, d] - X[j, d]
                squares[d, pair] = difference * difference
                pair += 1
    return squares


# No reassociation here: it would fold the two-part constant of the range reduction in `exp`.
@njit(error_model="numpy", fastmath={"contract", "nsz"})
def _correlations(kernel, squares, precision, correlation, slope):  # type: ignore[no-untyped-def]
    """Correlation of every pair, and its slope −2·∂correlation/∂r², from which all lengthscale gradients follow."""
    dim, pairs = squares.shape
    slope[:] = 0.0
    for d in range(dim):
        weight = precision[d]
        row = squares[d]
        for p in range(pairs):
            slope[p] += weight * row[p]
    if kernel == 0:
        for p in range(pairs):
            scaled = np.sqrt(5.0 * slope[p])
            decay = exp(-min(scaled, 700.0))
            correlation[p] = (1.0 + scaled + scaled * scaled / 3.0) * decay
            slope[p] = (5.0 / 3.0) * (1.0 + scaled) * decay
    else:
        for p in range(pairs):
            decay = exp(-min(0.5 * slope[p], 700.0))
            correlation[p] = decay
            slope[p] = decay


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def log_likelihood(kernel, squares, y, parameters, noise_floor, gradient):  # type: ignore[no-untyped-def]
    """Log marginal likelihood of one exact GP.

    Args:
        kernel: its code in `_covariances`.
        squares: `D x n(n−1)/2` from `pack_squares`.
        y: `n`.
        parameters: `D + 3`: log lengthscales, log outputscale, log noise variance, mean.
        noise_floor: added to the noise variance.
        gradient: `D + 3`, overwritten with the derivatives by `parameters`.

    Returns:
        The value; −inf (and a zero gradient) where the covariance is not numerically positive definite.
    """
    n = y.shape[0]
    dim, pairs = squares.shape
    outputscale = np.exp(parameters[dim])
    noise = np.exp(parameters[dim + 1])
    precision = np.exp(-2.0 * parameters[:dim])
    gradient[:] = 0.0

    correlation = np.empty(pairs)
    slope = np.empty(pairs)
    _correlations(kernel, squares, precision, correlation, slope)

    covariance = np.empty((n, n))
    pair = 0
    for i in range(n):
        for j in range(i):
            covariance[i, j] = outputscale * correlation[pair + j]
        pair += i
        covariance[i, i] = outputscale + noise + noise_floor

    alpha = y - parameters[dim + 2]
    log_determinant, quadratic = invert(covariance, alpha)  # `covariance` is −K⁻¹, `alpha` K⁻¹(y − mean) from here on
    if np.isnan(log_determinant):
        return -np.inf
    value = -0.5 * (quadratic + log_determinant + n * 1.8378770664093453)

    # With A = ααᵀ − K⁻¹ each derivative is ½ tr(A ∂K): pairs count twice, the diagonal once.
    trace = 0.0
    signal = 0.0
    pair = 0
    for i in range(n):
        trace += alpha[i] * alpha[i] + covariance[i, i]
        for j in range(i):
            weight = alpha[i] * alpha[j] + covariance[i, j]
            signal += weight * correlation[pair + j]
            slope[pair + j] *= weight
        pair += i
    for d in range(dim):
        row = squares[d]
        total = 0.0
        for p in range(pairs):
            total += slope[p] * row[p]
        gradient[d] = outputscale * precision[d] * total
    gradient[dim] = outputscale * (0.5 * trace + signal)
    gradient[dim + 1] = 0.5 * noise * trace
    gradient[dim + 2] = np.sum(alpha)
    return value


@njit(error_model="numpy")
def log_prior(form, a, b, constant, theta, gradient):  # type: ignore[no-untyped-def]
    """Sum of the log densities of the unconstrained coordinates; adds its derivatives to `gradient`.

    `form`, `a`, `b` are as in `scorebo.gp.priors`; `constant` holds each coordinate's normalising constant.
    """
    value = 0.0
    for i in range(theta.shape[0]):
        value += constant[i]
        if form[i] == 0:
            deviation = (theta[i] - a[i]) / b[i]
            value -= 0.5 * deviation * (theta[i] - a[i])
            gradient[i] -= deviation
        else:
            value += a[i] * theta[i] - b[i] * np.exp(theta[i])
            gradient[i] += a[i] - b[i] * np.exp(theta[i])
    return value


@njit(error_model="numpy")
def log_density(kernel, squares, y, base, free, form, a, b, constant, noise_floor, theta):  # type: ignore[no-untyped-def]
    """Log posterior density (up to the evidence) of the free coordinates and its gradient.

    `base` holds the `D + 3` parameters of `log_likelihood`, of which those at the positions `free` are replaced by
    `theta`; `form`, `a`, `b` and `constant` are those of `log_prior`.
    """
    parameters = base.copy()
    parameters[free] = theta
    full = np.empty_like(parameters)
    value = log_likelihood(kernel, squares, y, parameters, noise_floor, full)
    gradient = full[free]
    value += log_prior(form, a, b, constant, theta, gradient)
    if not np.isfinite(value):
        gradient[:] = 0.0
        return -np.inf, gradient
    return value, gradient


@njit(error_model="numpy")
def log_densities(kernel, squares, y, base, free, form, a, b, constant, noise_floor, thetas):  # type: ignore[no-untyped-def]
    """`log_density` of every row of `thetas`: values `M` and gradients `M x dim`."""
    values = np.empty(thetas.shape[0])
    gradients = np.empty_like(thetas)
    for m in range(thetas.shape[0]):
        values[m], gradients[m] = log_density(
            kernel, squares, y, base, free, form, a, b, constant, noise_floor, thetas[m]
        )
    return values, gradients
