"""All paths of one set at many raw points at once, compiled.

The raw points come in tiles, each all the sums l_i + r_j of a few points. A wave at such a sum is

    a cos ω·(l + r) + b sin ω·(l + r) = (a cos ω·l + b sin ω·l) cos ω·r + (b cos ω·l − a sin ω·l) sin ω·r:

sines and cosines of the few l_i and r_j serve for all pairs, and the rest is two matrix products. Their sum is the
value at l + r, their difference that at l − r, which costs nothing more.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._outside import FIRST_ADDRESS
from scorebo._numba.cache import njit
from scorebo.optima._waves import BLOCK, correlate, phases, sincos

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@njit(**_options)
def screen(left, right, mirrored, paths):  # type: ignore[no-untyped-def]
    """The N paths at the points of every tile, their waves in single precision.

    In a coordinate in which the right points of a tile are not all zero, its left points are all the same.

    Args:
        left: `T x u x D`.
        right: `T x v x D`.
        mirrored: whether a tile has, after left_i + right_j for all j, left_i − right_j too.
        paths: kernel, omega `D x F`, a and b `N x F`, inputs `D x n`, precision `G x D`,
            beta `N x n`, mean.

    Returns:
        `N x Tuv`, or `N x Tu2v` where mirrored, float64.
    """
    omega, a, b = paths[1], paths[2], paths[3]
    (tiles, u, _), v, num_paths = left.shape, right.shape[1], a.shape[0]
    # A block of frequencies at a time stays in the cache; zeros, so that the unused end of the last is harmless.
    at_left, at_right = np.zeros((2, u, BLOCK), omega.dtype), np.zeros((2, v, BLOCK), omega.dtype)
    ahead, aside = np.empty((num_paths * u, BLOCK), omega.dtype), np.empty((num_paths * u, BLOCK), omega.dtype)
    product = np.empty((num_paths * u, v), omega.dtype)
    even, odd = np.empty(num_paths * u * v), np.empty(num_paths * u * v)
    values = np.empty((num_paths, tiles, u, 2 * v if mirrored else v))
    for t in range(tiles):
        even[:], odd[:] = paths[7], 0.0
        for first in range(0, omega.shape[1], BLOCK):
            size = min(BLOCK, omega.shape[1] - first)
            cosines_and_sines(left[t], omega, first, size, at_left)
            cosines_and_sines(right[t], omega, first, size, at_right)
            _turn(at_left, a, b, first, size, ahead, aside)
            np.dot(ahead, at_right[0].T, product)
            _add(product.ravel(), even)
            np.dot(aside, at_right[1].T, product)
            _add(product.ravel(), odd)
        for p in range(num_paths):
            for i in range(u):
                row, first = values[p, t, i], (p * u + i) * v
                for j in range(v):
                    row[j] = even[first + j] + odd[first + j]
                if mirrored:
                    for j in range(v):
                        row[v + j] = even[first + j] - odd[first + j]
        _add_update(left[t], right[t], mirrored, paths, values[:, t])
    return values.reshape(num_paths, tiles * u * values.shape[3])


@numba.njit(**_options)
def _add(part, total):  # type: ignore[no-untyped-def]
    """Add single to double precision: a loop, as array expressions of several dimensions are several times slower."""
    for i in range(total.shape[0]):
        total[i] += part[i]


@numba.njit(**_options)
def cosines_and_sines(points, omega, first, size, both):  # type: ignore[no-untyped-def]
    """Of one block of waves at every point: cosines and sines, `2 x k x BLOCK`."""
    phase = np.empty(BLOCK, omega.dtype)
    for k in range(points.shape[0]):
        phases(points[k], omega, first, size, phase)
        sincos(phase, both[0, k], both[1, k], size)


@numba.njit(**_options)
def _turn(both, a, b, first, size, ahead, aside):  # type: ignore[no-untyped-def]
    """Weights of cosines and sines of one block of waves counted from each left point, `Nu x BLOCK` each."""
    if size < BLOCK:
        ahead[:], aside[:] = 0.0, 0.0
    for p in range(a.shape[0]):
        a_row, b_row = a[p, first : first + size], b[p, first : first + size]
        for i in range(both.shape[1]):
            cosine, sine, row = both[0, i], both[1, i], p * both.shape[1] + i
            of_cosine, of_sine = ahead[row], aside[row]
            for f in range(size):
                of_cosine[f] = a_row[f] * cosine[f] + b_row[f] * sine[f]
                of_sine[f] = b_row[f] * cosine[f] - a_row[f] * sine[f]


@njit(**_options)
def waves_at(points, omega, a, b):  # type: ignore[no-untyped-def]
    """Waves of every path at the same points `k x D`, in double precision: `N x M x k`; ω is `M x D x F`."""
    values = np.zeros((a.shape[0], a.shape[1], points.shape[0]))
    both, weights = np.zeros((2, points.shape[0], BLOCK)), np.zeros((2, a.shape[0], BLOCK))
    for m in range(omega.shape[0]):
        for first in range(0, omega.shape[2], BLOCK):
            size = min(BLOCK, omega.shape[2] - first)
            cosines_and_sines(points, omega[m], first, size, both)
            weights[:] = 0.0  # so that what is left in `both` beyond a short block is harmless
            weights[0, :, :size] = a[:, m, first : first + size]
            weights[1, :, :size] = b[:, m, first : first + size]
            values[:, m] += np.dot(weights[0], both[0].T) + np.dot(weights[1], both[1].T)
    return values


@numba.njit(**_options)
def _add_update(left, right, mirrored, paths, values):  # type: ignore[no-untyped-def]
    """Add the update on the data at the points of one tile to `N x u x v` (or 2v).

    No coordinate varies on both sides, so that squared distances are sums of one from each. They stay in double
    precision: weights of the update can be so large that they cancel.
    """
    kernel, _, _, _, inputs, precision, beta, _ = paths
    (u, dim), v, n = left.shape, values.shape[2], inputs.shape[1]
    shifts = np.concatenate((right, -right)) if mirrored else right
    from_left, from_right = np.empty((u, n)), np.empty((v, n))
    correlation = np.empty((u * v, n))
    for group in precision:
        if np.isnan(group[0]):
            break
        from_left[:], from_right[:] = 0.0, 0.0
        for d in range(dim):
            if np.any(right[:, d]):
                _add_squares(left[0, d] + shifts[:, d], inputs[d], group[d], from_right)
            else:
                _add_squares(left[:, d], inputs[d], group[d], from_left)
        for i in range(u):
            for j in range(v):
                row = correlation[i * v + j]
                near, far = from_left[i], from_right[j]
                for k in range(n):
                    row[k] = near[k] + far[k]
                if kernel < FIRST_ADDRESS:
                    correlate(kernel, row, n)
        if kernel >= FIRST_ADDRESS:  # one call for all
            correlate(kernel, correlation.ravel(), correlation.size)
        updates = np.dot(beta, correlation.T)
        for p in range(beta.shape[0]):
            for i in range(u):
                _add(updates[p, i * v : (i + 1) * v], values[p, i])


@numba.njit(**_options)
def _add_squares(coordinates, inputs, weight, total):  # type: ignore[no-untyped-def]
    for i in range(len(coordinates)):
        row, coordinate = total[i], coordinates[i]
        for k in range(len(inputs)):
            difference = coordinate - inputs[k]
            row[k] += weight * (difference * difference)
