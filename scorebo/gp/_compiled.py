"""Log marginal likelihood and log prior with their gradients, compiled: the innermost loop of all inference.

Squared differences and correlations are kept *packed*: the n(n−1)/2 pairs i > j, row after row, so that every loop over
pairs is contiguous and vectorised.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from scorebo.gp._sweep import invert

MATERN52 = 0
RBF = 1


@intrinsic
def _float_bits(typing_context, bits):  # type: ignore[no-untyped-def]  # numba's own calling convention
    """The double whose bit pattern is this integer."""

    def generate(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _integer_bits(typing_context, value):  # type: ignore[no-untyped-def]
    """The bit pattern of a double."""

    def generate(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


_SHIFT = 6755399441055744.0  # 1.5·2⁵²: adding a whole number puts it into the low bits of the double


@numba.njit(inline="always")
def _exp(x: float) -> float:
    """eˣ for −708 < x ≤ 0 to 2e-16, in arithmetic that the compiler vectorises (the library call is not)."""
    whole = np.floor(x * 1.4426950408889634 + 0.5)
    rest = (x - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10
    # Taylor's series to degree 13, by Horner's rule; a loop over a tuple of coefficients would not be unrolled.
    series = rest * (1.0 / 6227020800.0) + 1.0 / 479001600.0
    series = series * rest + 1.0 / 39916800.0
    series = series * rest + 1.0 / 3628800.0
    series = series * rest + 1.0 / 362880.0
    series = series * rest + 1.0 / 40320.0
    series = series * rest + 1.0 / 5040.0
    series = series * rest + 1.0 / 720.0
    series = series * rest + 1.0 / 120.0
    series = series * rest + 1.0 / 24.0
    series = series * rest + 1.0 / 6.0
    series = series * rest + 0.5
    series = series * rest + 1.0
    series = series * rest + 1.0
    power = _float_bits((_integer_bits(whole + _SHIFT) << 52) + 4607182418800017408)
    return series * power


@numba.njit(cache=True, error_model="numpy")
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


# No reassociation here: it would fold the two-part constant of the range reduction in `_exp`.
@numba.njit(cache=True, error_model="numpy", fastmath={"contract", "nsz"})
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
            decay = _exp(-min(scaled, 700.0))
            correlation[p] = (1.0 + scaled + scaled * scaled / 3.0) * decay
            slope[p] = (5.0 / 3.0) * (1.0 + scaled) * decay
    else:
        for p in range(pairs):
            decay = _exp(-min(0.5 * slope[p], 700.0))
            correlation[p] = decay
            slope[p] = decay


@numba.njit(cache=True, error_model="numpy", fastmath={"contract", "nsz"})
def covariances(kernel, X1, X2, precision, outputscale):  # type: ignore[no-untyped-def]
    """Covariance of every pair of points under every set, where no derivative is wanted.

    Args:
        kernel: MATERN52 or RBF.
        X1: `B x n1 x D`.
        X2: `B x n2 x D`, or `1 x n2 x D` for all batches.
        precision: `M x D`, squared inverse lengthscales.
        outputscale: `M`.

    Returns:
        `B x M x n1 x n2`.
    """
    batches, n1, dim = X1.shape
    n2 = X2.shape[1]
    sets = precision.shape[0]
    result = np.empty((batches, sets, n1, n2))
    columns = np.empty((dim, n2))
    for batch in range(batches):
        if batch == 0 or X2.shape[0] > 1:
            columns[:] = X2[batch].T
        for m in range(sets):
            for i in range(n1):
                row = result[batch, m, i]
                row[:] = 0.0
                for d in range(dim):
                    weight = precision[m, d]
                    value = X1[batch, i, d]
                    column = columns[d]
                    for j in range(n2):
                        difference = value - column[j]
                        row[j] += weight * (difference * difference)
                scale = outputscale[m]
                if kernel == 0:
                    for j in range(n2):
                        scaled = np.sqrt(5.0 * row[j])
                        row[j] = scale * (1.0 + scaled + scaled * scaled / 3.0) * _exp(-min(scaled, 700.0))
                else:
                    for j in range(n2):
                        row[j] = scale * _exp(-min(0.5 * row[j], 700.0))
    return result


@numba.njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def log_likelihood(kernel, squares, y, parameters, noise_floor, gradient):  # type: ignore[no-untyped-def]
    """Log marginal likelihood of one exact GP.

    Args:
        kernel: MATERN52 or RBF.
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


@numba.njit(cache=True, error_model="numpy")
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


@numba.njit(cache=True, error_model="numpy")
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
