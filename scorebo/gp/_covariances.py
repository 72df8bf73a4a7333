"""Covariances of all pairs of points under all sets, compiled, with their gradients by the points.

One pass over memory; PyTorch's ten passes cost several times as much.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._vectorized import exp
from scorebo._numba.cache import njit
from scorebo.errors import InputError

MATERN52 = 0
RBF = 1


@numba.njit
def _check_code(kernel):  # type: ignore[no-untyped-def]
    if kernel != 0 and kernel != 1:
        raise InputError("Unknown code of a kernel: only Matérn-5/2 and RBF have compiled covariances.")


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def covariances(kernel, X1, X2, precision, outputscale):  # type: ignore[no-untyped-def]
    """Covariance of every pair of points under every set.

    Args:
        kernel: MATERN52 or RBF.
        X1: `B x n1 x D`.
        X2: `B x n2 x D`, or `1 x n2 x D` for all batches.
        precision: `M x D`, squared inverse lengthscales.
        outputscale: `M`.

    Returns:
        `B x M x n1 x n2`.
    """
    _check_code(kernel)
    batches, n1, dim = X1.shape
    n2 = X2.shape[1]
    sets = precision.shape[0]
    result = np.empty((batches, sets, n1, n2))
    columns, row = np.empty((dim, n2)), np.empty(n2)
    for batch in range(batches):
        if batch == 0 or X2.shape[0] > 1:
            columns[:] = X2[batch].T
        points = X1[batch]
        for m in range(sets):
            values = result[batch, m]
            for i in range(n1):
                _squared_distances(points, i, columns, 0, precision, m, row)
                _covariance(kernel, outputscale[m], row, values, i, 0)
    return result


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def fill_upper_triangle(kernel, X, precision, outputscale, result):  # type: ignore[no-untyped-def]
    """The upper triangle, diagonal included, of the covariance of points X `q x D` under one set, into `q x q`.

    The set's squared inverse lengthscales are `1 x D`.
    """
    _check_code(kernel)
    columns, row = np.ascontiguousarray(X.T), np.empty(X.shape[0])
    for i in range(X.shape[0]):
        _squared_distances(X, i, columns, i, precision, 0, row)
        _covariance(kernel, outputscale, row, result, i, i)


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def covariances_gradient(kernel, X1, X2, precision, outputscale, weight, by_X2):  # type: ignore[no-untyped-def]
    """Derivatives of Σ weight·covariances, weight `B x M x n1 x n2`, by X1.

    The first five arguments as in `covariances`. The derivatives by X2 are added to `by_X2`, of the shape of X2 or
    empty if they are not wanted.

    Returns:
        `B x n1 x D`.
    """
    _check_code(kernel)
    batches, n1, dim = X1.shape
    n2 = X2.shape[1]
    sets = precision.shape[0]
    by_X1 = np.zeros((batches, n1, dim))
    columns, pulls = np.empty((dim, n2)), np.empty((dim, n2))
    slope = np.empty(n2)
    for batch in range(batches):
        if batch == 0 or X2.shape[0] > 1:
            columns[:] = X2[batch].T
        pulls[:] = 0.0
        points = X1[batch]
        for m in range(sets):
            for i in range(n1):
                _squared_distances(points, i, columns, 0, precision, m, slope)
                scale = outputscale[m]
                row = weight[batch, m, i]
                # ∂k/∂x = −slope·(x − x')/ℓ².
                if kernel == 0:
                    for j in range(n2):
                        scaled = np.sqrt(5.0 * slope[j])
                        slope[j] = row[j] * scale * (5.0 / 3.0) * (1.0 + scaled) * exp(-min(scaled, 700.0))
                else:
                    for j in range(n2):
                        slope[j] = row[j] * scale * exp(-min(0.5 * slope[j], 700.0))
                for d in range(dim):
                    by_X1[batch, i, d] -= precision[m, d] * _weighted_difference(slope, points[i, d], columns[d])
                if by_X2.size > 0:
                    for d in range(dim):
                        value, factor = X1[batch, i, d], precision[m, d]
                        for j in range(n2):
                            pulls[d, j] += factor * slope[j] * (value - columns[d, j])
        if by_X2.size > 0:
            by_X2[batch if X2.shape[0] > 1 else 0] += pulls.T
    return by_X1


@njit(error_model="numpy", fastmath={"contract", "nsz"})
def combine(kernel, X, centers, precision, outputscale, weight, gradient):  # type: ignore[no-untyped-def]
    """Σ over sets m and centers j of weight_mj·covariance, a posterior mean for one, without keeping the covariances.

    As `Kernel.combine`, but for `precision`, as in `covariances`. The derivatives by X are added to `gradient`, `b x D`
    or empty if they are not wanted.
    """
    _check_code(kernel)
    size, dim = X.shape
    n = centers.shape[0]
    columns = np.ascontiguousarray(centers.T)
    value = np.zeros(size)
    distance, slope = np.empty(n), np.empty(n)
    for i in range(size):
        for m in range(precision.shape[0]):
            _squared_distances(X, i, columns, 0, precision, m, distance)
            if kernel == 0:
                for j in range(n):
                    scaled = np.sqrt(5.0 * distance[j])
                    decay = exp(-min(scaled, 700.0))
                    slope[j] = (5.0 / 3.0) * (1.0 + scaled) * decay
                    distance[j] = (1.0 + scaled + scaled * scaled / 3.0) * decay
            else:
                for j in range(n):
                    slope[j] = exp(-min(0.5 * distance[j], 700.0))
                    distance[j] = slope[j]
            for j in range(n):
                slope[j] *= weight[m, j]
                distance[j] *= weight[m, j]
            value[i] += outputscale[m] * _total(distance)
            if gradient.size > 0:
                for d in range(dim):
                    factor = outputscale[m] * precision[m, d]
                    gradient[i, d] -= factor * _weighted_difference(slope, X[i, d], columns[d])
    return value


@numba.njit(inline="always")
def _squared_distances(X, i, columns, first, precision, m, row):  # type: ignore[no-untyped-def]
    """Σ_d (x_d − x'_d)²/ℓ_d² from point i to the points `first` … of `columns` `D x n2`, into the front of `row`.

    From plain differences: nothing cancels. Two dimensions at a time halve what is read and written.
    """
    count, dim = columns.shape[1] - first, columns.shape[0]
    for j in range(count):
        row[j] = 0.0
    for d in range(0, dim - 1, 2):
        weight, value = precision[m, d], X[i, d]
        next_weight, next_value = precision[m, d + 1], X[i, d + 1]
        for j in range(count):
            difference = value - columns[d, first + j]
            next_difference = next_value - columns[d + 1, first + j]
            row[j] = (row[j] + weight * (difference * difference)) + next_weight * (next_difference * next_difference)
    if dim % 2 == 1:
        weight, value = precision[m, dim - 1], X[i, dim - 1]
        for j in range(count):
            difference = value - columns[dim - 1, first + j]
            row[j] += weight * (difference * difference)


@numba.njit(inline="always")
def _covariance(kernel, scale, row, result, i, first):  # type: ignore[no-untyped-def]
    """Turn the squared distances in front of `row` into covariances, in row i of `result` from column `first` on."""
    if kernel == 0:
        for j in range(result.shape[1] - first):
            scaled = np.sqrt(5.0 * row[j])
            result[i, first + j] = scale * (1.0 + scaled + scaled * scaled / 3.0) * exp(-min(scaled, 700.0))
    else:
        for j in range(result.shape[1] - first):
            result[i, first + j] = scale * exp(-min(0.5 * row[j], 700.0))


# Reassociated to be vectorized, which loops with `exp` must not be.
@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _weighted_difference(weight, value, column):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(weight.shape[0]):
        total += weight[j] * (value - column[j])
    return total


@njit(error_model="numpy", fastmath={"reassoc", "nsz"})
def _total(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j]
    return total
