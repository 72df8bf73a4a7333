"""Log marginal likelihood and log prior with their gradients, compiled: the innermost loop of all inference.

Squared distances and correlations are kept *packed*: the n(n−1)/2 pairs i > j, row after row, so that every loop over
pairs is contiguous and vectorised.
"""

from __future__ import annotations

import numpy as np

from scorebo._cached import njit
from scorebo._vectorised import exp
from scorebo.gp._sweep import sweep

# From so many dimensions on products of matrices beat sums over packed squares; these would take D·n²/2 numbers, too.
PRODUCTS_FROM = 16

# Not reassociated: that would fold the two-part constant of the range reduction in `exp`.
_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
# Reassociated, without which sums are not vectorised.
_sums = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit(error_model="numpy")
def pack_squares(X: np.ndarray) -> np.ndarray:
    """Squared differences of all pairs i > j in every dimension, `D x n(n−1)/2`; none where D is large."""
    n, dim = X.shape
    if dim >= PRODUCTS_FROM:
        return np.empty((0, 0))
    squares = np.empty((dim, n * (n - 1) // 2))
    for d in range(dim):
        pair = 0
        for i in range(n):
            for j in range(i):
                difference = X[i, d] - X[j, d]
                squares[d, pair] = difference * difference
                pair += 1
    return squares


@njit(**_options)
def _sum_squares(squares, precision, distance):  # type: ignore[no-untyped-def]
    """Scaled squared distance of every pair from the squares of each dimension."""
    distance[:] = 0.0
    for d in range(squares.shape[0]):
        weight = precision[d]
        for p in range(squares.shape[1]):
            distance[p] += weight * squares[d, p]


@njit(**_options)
def _multiply_points(X, precision, distance):  # type: ignore[no-untyped-def]
    """The same from products: |s − t|² = |s|² + |t|² − 2s·t. X is centred, so that little cancels."""
    scaled = X * np.sqrt(precision)
    product = np.dot(scaled, scaled.T)
    square = np.diag(product)
    pair = 0
    for i in range(X.shape[0]):
        own = square[i]
        for j in range(i):
            distance[pair + j] = max(own + square[j] - 2.0 * product[i, j], 0.0)
        pair += i


@njit(**_options)
def _correlations(kernel, correlation, slope):  # type: ignore[no-untyped-def]
    """Correlation of every pair, and its slope −2·∂correlation/∂r² in the place of the squared distance r²."""
    if kernel == 0:
        for p in range(slope.shape[0]):
            scaled = np.sqrt(5.0 * slope[p])
            decay = exp(-min(scaled, 700.0))
            correlation[p] = (1.0 + scaled + scaled * scaled / 3.0) * decay
            slope[p] = (5.0 / 3.0) * (1.0 + scaled) * decay
    else:
        for p in range(slope.shape[0]):
            decay = exp(-min(0.5 * slope[p], 700.0))
            correlation[p] = decay
            slope[p] = decay


@njit(**_sums)
def _pull_squares(squares, slope, gradient):  # type: ignore[no-untyped-def]
    """Σ slope·(x_d − x'_d)² over all pairs, for every dimension d."""
    for d in range(squares.shape[0]):
        total = 0.0
        for p in range(squares.shape[1]):
            total += slope[p] * squares[d, p]
        gradient[d] = total


@njit(**_sums)
def _pull_points(X, slope, gradient):  # type: ignore[no-untyped-def]
    """The same by a product, with S the lower triangle of the slopes: Σ_i (S1 + Sᵀ1)_i x_id² − 2 Σ_i x_id (SX)_id."""
    n, dim = X.shape
    S = np.zeros((n, n))
    weight = np.zeros(n)
    pair = 0
    for i in range(n):
        total = 0.0
        for j in range(i):
            S[i, j] = slope[pair + j]
            weight[j] += slope[pair + j]
            total += slope[pair + j]
        weight[i] += total
        pair += i
    product = np.dot(S, X)
    gradient[:dim] = 0.0
    for i in range(n):
        for d in range(dim):
            gradient[d] += X[i, d] * (weight[i] * X[i, d] - 2.0 * product[i, d])


@njit(**_sums)
def log_likelihood(kernel, X, squares, y, parameters, noise_floor, gradient):  # type: ignore[no-untyped-def]
    """Log marginal likelihood of one exact GP.

    Args:
        kernel: its code in `_covariances`.
        X: `n x D`, centred.
        squares: `D x n(n−1)/2` from `pack_squares`, or empty.
        y: `n`.
        parameters: `D + 3`: log lengthscales, log outputscale, log noise variance, mean.
        noise_floor: added to the noise variance.
        gradient: `D + 3`, overwritten with the derivatives by `parameters`.

    Returns:
        The value; −inf (and a zero gradient) where the covariance is not numerically positive definite.
    """
    n, dim = X.shape
    pairs = n * (n - 1) // 2
    outputscale = np.exp(parameters[dim])
    noise = np.exp(parameters[dim + 1])
    precision = np.exp(-2.0 * parameters[:dim])
    gradient[:] = 0.0

    correlation = np.empty(pairs)
    slope = np.empty(pairs)
    if squares.size > 0:
        _sum_squares(squares, precision, slope)
    else:
        _multiply_points(X, precision, slope)
    _correlations(kernel, correlation, slope)

    # K, and the residuals y − mean below it, which become K⁻¹(y − mean).
    A = np.empty((n + 1, n + 1))
    pair = 0
    for i in range(n):
        for j in range(i):
            A[i, j] = outputscale * correlation[pair + j]
        pair += i
        A[i, i] = outputscale + noise + noise_floor
        A[n, i] = y[i] - parameters[dim + 2]
    A[n, n] = 0.0
    log_determinant = sweep(A, n)  # K is −K⁻¹ from here on
    if np.isnan(log_determinant):
        return -np.inf
    value = 0.5 * (A[n, n] - log_determinant - n * 1.8378770664093453)

    # With B = ααᵀ − K⁻¹ each derivative is ½ tr(B ∂K): pairs count twice, the diagonal once.
    trace = 0.0
    signal = 0.0
    total = 0.0
    pair = 0
    for i in range(n):
        alpha = A[n, i]
        total += alpha
        trace += alpha * alpha + A[i, i]
        for j in range(i):
            weight = alpha * A[n, j] + A[i, j]
            signal += weight * correlation[pair + j]
            slope[pair + j] *= weight
        pair += i
    if squares.size > 0:
        _pull_squares(squares, slope, gradient)
    else:
        _pull_points(X, slope, gradient)
    for d in range(dim):
        gradient[d] *= outputscale * precision[d]
    gradient[dim] = outputscale * (0.5 * trace + signal)
    gradient[dim + 1] = 0.5 * noise * trace
    gradient[dim + 2] = total
    return value


@njit(error_model="numpy")
def log_prior(form, a, b, u):  # type: ignore[no-untyped-def]
    """Log density of an unconstrained coordinate u, but for its constant, and the derivative; forms as in `priors`."""
    if form == 0:
        deviation = (u - a) / b
        return -0.5 * deviation * (u - a), -deviation
    if form == 1:
        rate = b * np.exp(u)
        return a * u - rate, a - rate
    # log cosh and tanh of u − a; nothing overflows.
    distance = abs(u - a)
    decay = np.exp(-2.0 * distance)
    slope = (1.0 - decay) / (1.0 + decay)
    return -distance - np.log1p(decay), -slope if u > a else slope


@njit(error_model="numpy")
def log_density(kernel, X, squares, y, base, coordinates, noise_floor, theta):  # type: ignore[no-untyped-def]
    """Log posterior density (up to the evidence) of the free coordinates and its gradient.

    `base` holds the `D + 3` parameters of `log_likelihood` where all coordinates are 0. Each row of `coordinates`, as
    `Coordinate.row` makes it, is (form, a, b, constant, first, last, weight): the coordinate's prior, and its weight in
    the parameters first … last − 1.
    """
    parameters = base.copy()
    for c in range(len(theta)):
        shift = coordinates[c, 6] * theta[c]
        for i in range(int(coordinates[c, 4]), int(coordinates[c, 5])):
            parameters[i] += shift
    full = np.empty_like(parameters)
    value = log_likelihood(kernel, X, squares, y, parameters, noise_floor, full)
    gradient = np.zeros_like(theta)
    for c in range(len(theta)):
        prior, slope = log_prior(coordinates[c, 0], coordinates[c, 1], coordinates[c, 2], theta[c])
        value += prior + coordinates[c, 3]
        for i in range(int(coordinates[c, 4]), int(coordinates[c, 5])):
            gradient[c] += coordinates[c, 6] * full[i]
        gradient[c] += slope
    if not np.isfinite(value):
        gradient[:] = 0.0
        return -np.inf, gradient
    return value, gradient


@njit(error_model="numpy")
def log_densities(kernel, X, squares, y, base, coordinates, noise_floor, thetas):  # type: ignore[no-untyped-def]
    """`log_density` of every row of `thetas`: values `M` and gradients `M x dim`."""
    values = np.empty(thetas.shape[0])
    gradients = np.empty_like(thetas)
    for m in range(thetas.shape[0]):
        values[m], gradients[m] = log_density(kernel, X, squares, y, base, coordinates, noise_floor, thetas[m])
    return values, gradients
