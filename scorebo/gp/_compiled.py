"""Log marginal likelihood and log prior with their gradients, compiled: the innermost loop of all inference.

Squared distances and correlations are kept *packed*: the n(n−1)/2 pairs i > j, row after row, so that every loop over
pairs is contiguous and vectorized.
"""

from __future__ import annotations

import numpy as np

from scorebo._numba._outside import FIRST_ADDRESS, call_outside
from scorebo._numba._vectorized import exp
from scorebo._numba.cache import njit
from scorebo.errors import InputError
from scorebo.gp._inverse import sweep
from scorebo.gp._warp import pull_concentrations, warp_points

# From so many dimensions on products of matrices beat sums over packed squares; these would take D·n²/2 numbers, too.
PRODUCTS_FROM = 16

# Not reassociated: that would fold the two-part constant of the range reduction in `exp`.
_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
# Reassociated, without which sums are not vectorized.
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
        if weight > 0.0:
            for p in range(squares.shape[1]):
                distance[p] += weight * squares[d, p]


@njit(**_options)
def _multiply_points(X, precision, distance):  # type: ignore[no-untyped-def]
    """The same from products: |s − t|² = |s|² + |t|² − 2s·t. X is centered, so that little cancels."""
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
    elif kernel == 1:
        for p in range(slope.shape[0]):
            decay = exp(-min(0.5 * slope[p], 700.0))
            correlation[p] = decay
            slope[p] = decay
    else:
        radial = call_outside(kernel, slope, 3)
        for p in range(slope.shape[0]):
            correlation[p] = radial[0, p]
            slope[p] = -2.0 * radial[1, p]


@njit(**_sums)
def _pull_squares(squares, slope, groups, gradient):  # type: ignore[no-untyped-def]
    """Σ slope·(x_d − x'_d)² over all pairs, for every dimension d and the slopes of its group."""
    for d in range(squares.shape[0]):
        row = slope[groups[d]]
        total = 0.0
        for p in range(squares.shape[1]):
            total += row[p] * squares[d, p]
        gradient[d] = total


@njit(**_sums)
def _pull_points(X, slope, groups, group, gradient):  # type: ignore[no-untyped-def]
    """The same by a product for the dimensions of one group, with S the lower triangle of its slopes.

    Σ_i (S1 + Sᵀ1)_i x_id² − 2 Σ_i x_id (SX)_id.
    """
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
    for d in range(dim):
        if groups[d] == group:
            gradient[d] = 0.0
            for i in range(n):
                gradient[d] += X[i, d] * (weight[i] * X[i, d] - 2.0 * product[i, d])


@njit(**_sums)
def _pull_inputs(X, slope, groups, pulls):  # type: ignore[no-untyped-def]
    """−Σ_j slope_ij·(x_id − x_jd) of every point and dimension into `pulls`, `n x D`."""
    n, dim = X.shape
    pulls[:] = 0.0
    for d in range(dim):
        row, pair = slope[groups[d]], 0
        for i in range(n):
            for j in range(i):
                pull = row[pair + j] * (X[i, d] - X[j, d])
                pulls[i, d] -= pull
                pulls[j, d] += pull
            pair += i


@njit(**_options)
def _correlate(kernel, X, squares, precision, correlation, slope):  # type: ignore[no-untyped-def]
    """Correlations of all pairs and their slopes under one group, whose dimensions alone have a precision."""
    if squares.size > 0:
        _sum_squares(squares, precision, slope)
    else:
        _multiply_points(X, precision, slope)
    _correlations(kernel, correlation, slope)


@njit(**_options)
def _add_groups(kernel, X, squares, precision, groups, correlation, slope):  # type: ignore[no-untyped-def]
    """Sum of the correlations under every group, and the slopes of each, `G x n(n−1)/2`."""
    part = np.empty_like(correlation)
    correlation[:] = 0.0
    for g in range(slope.shape[0]):
        _correlate(kernel, X, squares, np.where(groups == g, precision, 0.0), part, slope[g])
        for p in range(part.shape[0]):
            correlation[p] += part[p]


@njit(**_options)
def _weigh_slopes(A, slope):  # type: ignore[no-untyped-def]
    """Multiply slopes of all pairs by B = ααᵀ − K⁻¹, from what `sweep` left in A."""
    n = A.shape[0] - 1
    pair = 0
    for i in range(n):
        alpha = A[n, i]
        for j in range(i):
            slope[pair + j] *= alpha * A[n, j] + A[i, j]
        pair += i


@njit(**_sums)
def log_likelihood(kernel, X, squares, y, parameters, groups, noise_floor, gradient, pulls):  # type: ignore[no-untyped-def]
    """Log marginal likelihood of one exact GP, whose covariance is a sum over groups of dimensions.

    Args:
        kernel: its code in `_covariances`, or the address of its radial function.
        X: `n x D`, centered.
        squares: `D x n(n−1)/2` from `pack_squares`, or empty.
        y: `n`.
        parameters: `D + 3`: log lengthscales, log outputscale, log noise variance, mean.
        groups: `D`, the group of each dimension, from 0 and without gaps; all 0 for one ordinary covariance.
        noise_floor: added to the noise variance.
        gradient: `D + 3`, overwritten with the derivatives by `parameters`.
        pulls: `n x D`, overwritten with the derivatives by X; empty if they are not wanted.

    Returns:
        The value; −inf (and a zero gradient) where the covariance is not numerically positive definite.
    """
    n, dim = X.shape
    pairs = n * (n - 1) // 2
    outputscale = np.exp(parameters[dim])
    noise = np.exp(parameters[dim + 1])
    precision = np.exp(-2.0 * parameters[:dim])
    gradient[:] = 0.0

    count = 1 + groups.max()
    correlation = np.empty(pairs)
    slope = np.empty((count, pairs))
    if count == 1:
        _correlate(kernel, X, squares, precision, correlation, slope[0])
    else:
        _add_groups(kernel, X, squares, precision, groups, correlation, slope)

    # K, and the residuals y − mean below it, which become K⁻¹(y − mean).
    A = np.empty((n + 1, n + 1))
    pair = 0
    for i in range(n):
        for j in range(i):
            A[i, j] = outputscale * correlation[pair + j]
        pair += i
        A[i, i] = count * outputscale + noise + noise_floor
        A[n, i] = y[i] - parameters[dim + 2]
    A[n, n] = 0.0
    log_determinant = sweep(A, n)  # K is −K⁻¹ from here on
    if np.isnan(log_determinant):
        return -np.inf
    value = 0.5 * (A[n, n] - log_determinant - n * 1.8378770664093453)

    # With B = ααᵀ − K⁻¹ each derivative is ½ tr(B ∂K): pairs count twice, the diagonal once.
    for g in range(1, count):
        _weigh_slopes(A, slope[g])
    trace = 0.0
    signal = 0.0
    total = 0.0
    pair = 0
    first = slope[0]
    for i in range(n):
        alpha = A[n, i]
        total += alpha
        trace += alpha * alpha + A[i, i]
        for j in range(i):
            weight = alpha * A[n, j] + A[i, j]
            signal += weight * correlation[pair + j]
            first[pair + j] *= weight
        pair += i
    if squares.size > 0:
        _pull_squares(squares, slope, groups, gradient)
    else:
        for g in range(count):
            _pull_points(X, slope[g], groups, g, gradient)
    for d in range(dim):
        gradient[d] *= outputscale * precision[d]
    if pulls.size > 0:
        _pull_inputs(X, slope, groups, pulls)
        pulls *= outputscale * precision
    gradient[dim] = outputscale * (0.5 * count * trace + signal)
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
    if form == 2:  # log cosh and tanh of u − a; nothing overflows
        distance = abs(u - a)
        decay = np.exp(-2.0 * distance)
        slope = (1.0 - decay) / (1.0 + decay)
        return -distance - np.log1p(decay), -slope if u > a else slope
    raise InputError("Unknown form of a prior: it has no compiled density.")


@njit(error_model="numpy")
def log_priors(coordinates, theta):  # type: ignore[no-untyped-def]
    """`log_prior` of every coordinate and its derivative, `2 x dim`.

    A prior from outside is called once for neighboring coordinates; its density is complete, and its constant is 0.
    """
    found = np.empty((2, len(theta)))
    first = 0
    while first < len(theta):
        form, last = coordinates[first, 0], first + 1
        if form < FIRST_ADDRESS:
            a, b = coordinates[first, 1], coordinates[first, 2]
            found[0, first], found[1, first] = log_prior(form, a, b, theta[first])
        else:
            while last < len(theta) and coordinates[last, 0] == form:
                last += 1
            found[:, first:last] = call_outside(int(form), theta[first:last], 2)
        first = last
    return found


@njit(error_model="numpy")
def log_density(kernel, X, squares, y, base, coordinates, groups, noise_floor, theta):  # type: ignore[no-untyped-def]
    """Log posterior density (up to the evidence) of the free coordinates and its gradient.

    `base` holds the parameters where all coordinates are 0: the `D + 3` of `log_likelihood`, and where inputs are
    warped the `2D` log concentrations too; `X` then holds the logarithms of the inputs, and `squares` nothing. Each row
    of `coordinates`, as `Coordinate.row` makes it, is (form, a, b, constant, first, last, weight): the coordinate's
    prior, and its weight in the parameters first … last − 1.
    """
    parameters = base.copy()
    for c in range(len(theta)):
        shift = coordinates[c, 6] * theta[c]
        for i in range(int(coordinates[c, 4]), int(coordinates[c, 5])):
            parameters[i] += shift
    full = np.empty_like(parameters)
    last = X.shape[1] + 3
    if len(base) == last:
        value = log_likelihood(kernel, X, squares, y, parameters, groups, noise_floor, full, np.empty((0, 0)))
    else:
        by_first, by_second, pulls = np.empty_like(X), np.empty_like(X), np.zeros_like(X)
        warped = warp_points(X, parameters[last:], by_first, by_second)
        value = log_likelihood(
            kernel, warped, pack_squares(warped), y, parameters[:last], groups, noise_floor, full[:last], pulls
        )
        pull_concentrations(pulls, by_first, by_second, full[last:])
        if not np.all(np.isfinite(full)):  # concentrations so large that the warping is a step
            value = -np.inf
    gradient = np.zeros_like(theta)
    priors = log_priors(coordinates, theta)
    for c in range(len(theta)):
        value += priors[0, c] + coordinates[c, 3]
        for i in range(int(coordinates[c, 4]), int(coordinates[c, 5])):
            gradient[c] += coordinates[c, 6] * full[i]
        gradient[c] += priors[1, c]
    if not np.isfinite(value):
        gradient[:] = 0.0
        return -np.inf, gradient
    return value, gradient


@njit(error_model="numpy")
def log_densities(kernel, X, squares, y, base, coordinates, groups, noise_floor, thetas):  # type: ignore[no-untyped-def]
    """`log_density` of every row of `thetas`: values `M` and gradients `M x dim`."""
    values = np.empty(thetas.shape[0])
    gradients = np.empty_like(thetas)
    for m in range(thetas.shape[0]):
        values[m], gradients[m] = log_density(kernel, X, squares, y, base, coordinates, groups, noise_floor, thetas[m])
    return values, gradients
