"""Paths of one set and their gradients at many points at once, compiled.

The paths of a set share its frequencies: two matrix products for each block of these serve all points, whichever path
each belongs to. Structured frequencies need no matrix, see `_structured`.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._structured import add_structured_waves
from scorebo.optima._waves import BLOCK, radial, sincos

_exact = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
_sums = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**_exact)
def in_blocks(omega, a, b):  # type: ignore[no-untyped-def]
    """Frequencies `D x F` as `B x D x BLOCK`, weights `N x F` as `N x B x BLOCK`, zeros after the last."""
    (dim, count), num_paths = omega.shape, a.shape[0]
    number = (count + BLOCK - 1) // BLOCK
    parts = np.zeros((number, dim, BLOCK), omega.dtype)
    cosines, sines = np.zeros((num_paths, number, BLOCK), a.dtype), np.zeros((num_paths, number, BLOCK), a.dtype)
    for k in range(number):
        first = k * BLOCK
        size = min(BLOCK, count - first)
        for d in range(dim):
            parts[k, d, :size] = omega[d, first : first + size]
        for p in range(num_paths):
            cosines[p, k, :size] = a[p, first : first + size]
            sines[p, k, :size] = b[p, first : first + size]
    return parts, cosines, sines


@numba.njit(**_sums)
def _weigh(a, b, cosine, sine, slope):  # type: ignore[no-untyped-def]
    """The sum of one block of waves, and the weights of their frequencies in its gradient."""
    total = a.dtype.type(0)
    for f in range(BLOCK):
        total += a[f] * cosine[f] + b[f] * sine[f]
        slope[f] = b[f] * cosine[f] - a[f] * sine[f]
    return total


@numba.njit(**_exact)
def _add_waves(X, which, omega, a, b, values, gradients):  # type: ignore[no-untyped-def]
    count, dim = X.shape
    points = X.astype(omega.dtype)
    phase, product = np.empty((count, BLOCK), omega.dtype), np.empty((count, dim), omega.dtype)
    cosine, sine = np.empty(BLOCK, omega.dtype), np.empty(BLOCK, omega.dtype)
    for k in range(omega.shape[0]):
        np.dot(points, omega[k], phase)
        for i in range(count):
            sincos(phase[i], cosine, sine, BLOCK)
            values[i] += _weigh(a[which[i], k], b[which[i], k], cosine, sine, phase[i])
        np.dot(phase, omega[k].T, product)
        for i in range(count):
            for d in range(dim):
                gradients[i, d] += product[i, d]


@numba.njit(**_exact)
def _squared_distances(X, inputs, precision):  # type: ignore[no-untyped-def]
    """`k x n`, by one matrix product; always in double precision, as large weights of the update may cancel."""
    (count, dim), n = X.shape, inputs.shape[1]
    scaled, scaled_inputs, own = np.empty((count, dim)), np.empty((dim, n)), np.zeros(n)
    for d in range(dim):
        root = np.sqrt(precision[d])
        for i in range(n):
            scaled_inputs[d, i] = root * inputs[d, i]
            own[i] += scaled_inputs[d, i] * scaled_inputs[d, i]
        for i in range(count):
            scaled[i, d] = root * X[i, d]
    distance = np.dot(scaled, scaled_inputs)
    for i in range(count):
        total = 0.0
        for d in range(dim):
            total += scaled[i, d] * scaled[i, d]
        for j in range(n):
            distance[i, j] = max(total + own[j] - 2.0 * distance[i, j], 0.0)
    return distance


@numba.njit(**_exact)
def _add_update(X, which, kernel, inputs, precision, beta, values, gradients):  # type: ignore[no-untyped-def]
    """Add the update on the data under one group of inputs."""
    distance = _squared_distances(X, inputs, precision)
    count, n = distance.shape
    correlation, slope, bend = np.empty(count * n), np.empty((count, n)), np.empty(count * n)
    radial(kernel, distance.ravel(), correlation, slope.ravel(), bend, count * n)
    for i in range(count):
        row, pulls = beta[which[i]], 0.0
        for j in range(n):
            values[i] += row[j] * correlation[i * n + j]
            slope[i, j] *= row[j]
            pulls += slope[i, j]
        for d in range(X.shape[1]):
            gradients[i, d] -= precision[d] * pulls * X[i, d]
    pull = np.dot(slope, inputs.T)
    for i in range(count):
        for d in range(X.shape[1]):
            gradients[i, d] += precision[d] * pull[i, d]


@njit(**_exact)
def evaluate_batch(X, which, paths, values, gradients):  # type: ignore[no-untyped-def]
    """Value and gradient of a path at each of many points.

    Args:
        X: `k x D`.
        which: `k`, the path at each point.
        paths: as in `screen`, frequencies and weights `in_blocks`; and the structure of further waves as
            `add_structured_waves` wants it.
        values: `k`, overwritten.
        gradients: `k x D`, overwritten.
    """
    kernel, omega, a, b, inputs, precision, beta, mean, structure = paths
    values[:] = mean
    gradients[:] = 0.0
    _add_waves(X, which, omega, a, b, values, gradients)
    add_structured_waves(X, which, structure, values, gradients)
    for group in precision:
        if np.isnan(group[0]):
            break
        _add_update(X, which, kernel, inputs, group, beta, values, gradients)
