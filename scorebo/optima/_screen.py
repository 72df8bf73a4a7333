"""All paths of one set at many raw points at once, compiled.

The raw points come in tiles, each all the sums l_i + r_j of a few points. A wave at such a sum is

    a cos ω·(l + r) + b sin ω·(l + r) = (a cos ω·l + b sin ω·l) cos ω·r + (b cos ω·l − a sin ω·l) sin ω·r:

sines and cosines of the few l_i and r_j serve for all pairs, and the rest is one matrix product.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._cached import njit
from scorebo.optima._waves import BLOCK, correlate, phases, sincos

_options = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@njit(**_options)
def screen(left, right, paths):  # type: ignore[no-untyped-def]
    """The N paths at the points of every tile, left_i + right_j, their waves in single precision.

    A coordinate that is not zero in all the right points of a tile is zero in all its left ones.

    Args:
        left: `T x u x D`.
        right: `T x v x D`.
        paths: kernel, omega `D x F`, a and b `N x F`, inputs `D x n`, precision `G x D`,
            beta `N x n`, mean.

    Returns:
        `N x Tuv`, float64.
    """
    omega, a, b = paths[1], paths[2], paths[3]
    (tiles, u, _), v, num_paths = left.shape, right.shape[1], a.shape[0]
    # A block of frequencies at a time stays in the cache; zeros, so that the unused end of the last is harmless.
    at_left, at_right = np.zeros((u, 2 * BLOCK), omega.dtype), np.zeros((v, 2 * BLOCK), omega.dtype)
    turned = np.empty((num_paths * u, 2 * BLOCK), omega.dtype)
    waves = np.empty((num_paths * u, v), omega.dtype)
    correlation = np.empty((u * v, paths[4].shape[1]))
    values = np.empty((num_paths, tiles, u, v))
    for t in range(tiles):
        values[:, t] = paths[7]
        for first in range(0, omega.shape[1], BLOCK):
            size = min(BLOCK, omega.shape[1] - first)
            cosines_and_sines(left[t], omega, first, size, at_left)
            cosines_and_sines(right[t], omega, first, size, at_right)
            _turn(at_left, a, b, first, size, turned)
            np.dot(turned, at_right.T, waves)
            values[:, t] += waves.reshape(num_paths, u, v)
        _add_update(left[t], right[t], paths, correlation, values[:, t])
    return values.reshape(num_paths, tiles * u * v)


@numba.njit(**_options)
def cosines_and_sines(points, omega, first, size, both):  # type: ignore[no-untyped-def]
    """Of one block of waves at every point, `k x 2·BLOCK`: cosines in the first half, sines in the second."""
    phase = np.empty(BLOCK, omega.dtype)
    for k in range(points.shape[0]):
        phases(points[k], omega, first, size, phase)
        sincos(phase, both[k, :BLOCK], both[k, BLOCK:], size)


@numba.njit(**_options)
def _turn(both, a, b, first, size, turned):  # type: ignore[no-untyped-def]
    """Weights of one block of waves counted from each left point, `Nu x 2·BLOCK`."""
    if size < BLOCK:
        turned[:] = 0.0
    for p in range(a.shape[0]):
        a_row, b_row = a[p, first : first + size], b[p, first : first + size]
        for i in range(both.shape[0]):
            cosine, sine, row = both[i, :BLOCK], both[i, BLOCK:], turned[p * both.shape[0] + i]
            ahead, aside = row[:BLOCK], row[BLOCK:]
            for f in range(size):
                ahead[f] = a_row[f] * cosine[f] + b_row[f] * sine[f]
                aside[f] = b_row[f] * cosine[f] - a_row[f] * sine[f]


@njit(**_options)
def waves_at(points, omega, a, b):  # type: ignore[no-untyped-def]
    """Waves of every path at the same points, in double precision: `N x M x k`, as `PosteriorPaths` without update.

    Args:
        points: `k x D`.
        omega: `M x D x F`.
        a: `N x M x F`.
        b: `N x M x F`.
    """
    values = np.zeros((a.shape[0], a.shape[1], points.shape[0]))
    both, weights = np.zeros((points.shape[0], 2 * BLOCK)), np.zeros((a.shape[0], 2 * BLOCK))
    for m in range(omega.shape[0]):
        for first in range(0, omega.shape[2], BLOCK):
            size = min(BLOCK, omega.shape[2] - first)
            cosines_and_sines(points, omega[m], first, size, both)
            weights[:] = 0.0  # so that what is left in `both` beyond a short block is harmless
            weights[:, :size] = a[:, m, first : first + size]
            weights[:, BLOCK : BLOCK + size] = b[:, m, first : first + size]
            values[:, m] += np.dot(weights, both.T)
    return values


@numba.njit(**_options)
def _add_update(left, right, paths, correlation, values):  # type: ignore[no-untyped-def]
    """Add the update on the data at left_i + right_j to `N x u x v`; `correlation`, `uv x n`, is overwritten.

    No coordinate varies on both sides, so that squared distances are sums of one from each. They stay in double
    precision: weights of the update can be so large that they cancel.
    """
    kernel, _, _, _, inputs, precision, beta, _ = paths
    (u, dim), v, n = left.shape, right.shape[0], inputs.shape[1]
    from_left, from_right = np.empty((u, n)), np.empty((v, n))
    for group in precision:
        if np.isnan(group[0]):
            break
        from_left[:], from_right[:] = 0.0, 0.0
        for d in range(dim):
            if np.any(right[:, d]):
                _add_squares(right[:, d], inputs[d], group[d], from_right)
            else:
                _add_squares(left[:, d], inputs[d], group[d], from_left)
        for i in range(u):
            for j in range(v):
                row = correlation[i * v + j]
                near, far = from_left[i], from_right[j]
                for k in range(n):
                    row[k] = near[k] + far[k]
                correlate(kernel, row, n)
        values += np.dot(beta, correlation.T).reshape(values.shape)


@numba.njit(**_options)
def _add_squares(coordinates, inputs, weight, total):  # type: ignore[no-untyped-def]
    for i in range(len(coordinates)):
        row, coordinate = total[i], coordinates[i]
        for k in range(len(inputs)):
            difference = coordinate - inputs[k]
            row[k] += weight * (difference * difference)
