"""Waves whose frequencies are products of sign flips and Walsh–Hadamard transforms, compiled.

Structured orthogonal random features (Yu et al. 2016): F log P operations instead of F·D for the phases at a point, and
as many for a gradient. The frequencies come in blocks of P, a power of two of at least D. With H the transform and S
random signs, those of block k are the rows of

    diag(radii_k) H S_k (H S_2 H S_1 H S_0) / ℓ

cut to D columns. All blocks share the rotation in parentheses, after which no direction is special; their own signs
make them independent. With fewer shared transforms the frequencies along single inputs would lie on a coarse lattice.
Points lie side by side, so that every step is one on whole vectors.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba.cache import njit
from scorebo.optima._waves import BLOCK, sincos

# Points side by side; frequencies for which they fill a block; transforms that all blocks share.
LANES = 16
ROWS = BLOCK // LANES
SHARED = 3

_exact = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


@numba.njit(**_exact)
def _quartet(a, b, c, d):  # type: ignore[no-untyped-def]
    low, high, across, aside = a + b, c + d, a - b, c - d
    return low + high, across + aside, low - high, across - aside


@numba.njit(**_exact)
def _sixteen(x, by, y):  # type: ignore[no-untyped-def]
    """The first four steps of a transform, for 16 rows: written out, they stay in registers."""
    for c in range(LANES):
        a0, a1, a2, a3 = _quartet(by[0] * x[c], by[1] * x[16 + c], by[2] * x[32 + c], by[3] * x[48 + c])
        b0, b1, b2, b3 = _quartet(by[4] * x[64 + c], by[5] * x[80 + c], by[6] * x[96 + c], by[7] * x[112 + c])
        c0, c1, c2, c3 = _quartet(by[8] * x[128 + c], by[9] * x[144 + c], by[10] * x[160 + c], by[11] * x[176 + c])
        d0, d1, d2, d3 = _quartet(by[12] * x[192 + c], by[13] * x[208 + c], by[14] * x[224 + c], by[15] * x[240 + c])
        y[c], y[64 + c], y[128 + c], y[192 + c] = _quartet(a0, b0, c0, d0)
        y[16 + c], y[80 + c], y[144 + c], y[208 + c] = _quartet(a1, b1, c1, d1)
        y[32 + c], y[96 + c], y[160 + c], y[224 + c] = _quartet(a2, b2, c2, d2)
        y[48 + c], y[112 + c], y[176 + c], y[240 + c] = _quartet(a3, b3, c3, d3)


@numba.njit(**_exact)
def _four(first, second, third, fourth):  # type: ignore[no-untyped-def]
    for i in range(first.shape[0]):
        low, high = first[i] + second[i], third[i] + fourth[i]
        across, aside = first[i] - second[i], third[i] - fourth[i]
        first[i], second[i], third[i], fourth[i] = low + high, across + aside, low - high, across - aside


@numba.njit(**_exact)
def _two(first, second):  # type: ignore[no-untyped-def]
    for i in range(first.shape[0]):
        low, high = first[i], second[i]
        first[i], second[i] = low + high, low - high


@numba.njit(**_exact)
def hadamard(source, factors, target):  # type: ignore[no-untyped-def]
    """H diag(factors) of LANES vectors side by side, not normalized; source and target are not the same."""
    size, width = source.shape[0], 16 * LANES
    for k in range(factors.shape[0] // 16):
        i = k * width
        _sixteen(source[i : i + width], factors[16 * k : 16 * k + 16], target[i : i + width])
    while 4 * width <= size:
        for i in range(0, size, 4 * width):
            j, k, m = i + width, i + 2 * width, i + 3 * width
            _four(target[i:j], target[j:k], target[k:m], target[m : m + width])
        width *= 4
    if width < size:
        _two(target[:width], target[width:])


@numba.njit(**_exact)
def _scale_rows(tile, factors):  # type: ignore[no-untyped-def]
    for i in range(factors.shape[0]):
        row, factor = tile[i * LANES : (i + 1) * LANES], factors[i]
        for c in range(LANES):
            row[c] *= factor


@numba.njit(**_exact)
def _add_scaled_rows(tile, factors, total):  # type: ignore[no-untyped-def]
    for i in range(factors.shape[0]):
        row, to, factor = tile[i * LANES : (i + 1) * LANES], total[i * LANES : (i + 1) * LANES], factors[i]
        for c in range(LANES):
            to[c] += factor * row[c]


@numba.njit(**_exact)
def _rotate(tile, signs, between):  # type: ignore[no-untyped-def]
    """The rotation that all blocks share, in place."""
    for k in range(SHARED):
        hadamard(tile, signs[k], between)
        tile[:] = between


@numba.njit(**_exact)
def _rotate_back(tile, signs, between):  # type: ignore[no-untyped-def]
    """Its transpose, in place."""
    for k in range(SHARED - 1, -1, -1):
        hadamard(tile, np.ones_like(signs[k]), between)
        tile[:] = 0
        _add_scaled_rows(between, signs[k], tile)


@njit(**_exact)
def dense(signs, radii, inverse_lengthscale, omega):  # type: ignore[no-untyped-def]
    """The frequencies of every set themselves.

    Args:
        signs: `M x (SHARED + B) x P`.
        radii: `M x B x P`, divided by √P for each of the SHARED + 1 transforms.
        inverse_lengthscale: `M x D`.
        omega: `M x D x F`, overwritten.
    """
    num_sets, dim, count = omega.shape
    size = signs.shape[2]
    columns, between = np.empty(size * LANES), np.empty(size * LANES)
    for m in range(num_sets):
        for first in range(0, dim, LANES):
            lanes = min(LANES, dim - first)
            columns[:] = 0.0
            for c in range(lanes):
                columns[(first + c) * LANES + c] = inverse_lengthscale[m, first + c]
            _rotate(columns, signs[m], between)
            for k in range(radii.shape[1]):
                hadamard(columns, signs[m, SHARED + k], between)
                for c in range(lanes):
                    for f in range(min(size, count - k * size)):
                        omega[m, first + c, k * size + f] = radii[m, k, f] * between[f * LANES + c]


@numba.njit(**_exact)
def _spread(a, b, which, cosine_weight, sine_weight):  # type: ignore[no-untyped-def]
    """Weights of the path at each point, from `ROWS x N` of all paths."""
    for f in range(ROWS):
        row = slice(f * LANES, (f + 1) * LANES)
        to_cosines, to_sines, of_cosines, of_sines = cosine_weight[row], sine_weight[row], a[f], b[f]
        for c in range(LANES):
            to_cosines[c], to_sines[c] = of_cosines[which[c]], of_sines[which[c]]


@numba.njit(**_exact)
def _weigh(a, b, cosine, sine, slope, values):  # type: ignore[no-untyped-def]
    """Add the sums of some waves, and find the weights of their frequencies in the gradients."""
    for i in range(BLOCK):
        slope[i] = b[i] * cosine[i] - a[i] * sine[i]
        cosine[i] = a[i] * cosine[i] + b[i] * sine[i]
    width = BLOCK // 2
    while width >= LANES:
        upper, lower = cosine[:width], cosine[width : 2 * width]
        for i in range(width):
            upper[i] += lower[i]
        width //= 2
    for c in range(values.shape[0]):
        values[c] += cosine[c]


@numba.njit(**_exact)
def _add_tile(X, which, structure, values, gradients, tiles, blocks):  # type: ignore[no-untyped-def]
    """Up to LANES points."""
    signs, radii, inverse_lengthscale, a, b = structure
    points, waves, between, pull = tiles
    cosine, sine, cosine_weight, sine_weight = blocks
    points[:] = 0
    pull[:] = 0
    for c in range(X.shape[0]):
        for d in range(X.shape[1]):
            points[d * LANES + c] = X[c, d] * inverse_lengthscale[d]
    _rotate(points, signs, between)
    for k in range(radii.shape[0]):
        hadamard(points, signs[SHARED + k], waves)
        _scale_rows(waves, radii[k])
        for first in range(0, radii.shape[1], ROWS):
            phase, f = waves[first * LANES : first * LANES + BLOCK], k * radii.shape[1] + first
            sincos(phase, cosine, sine, BLOCK)
            _spread(a[f : f + ROWS], b[f : f + ROWS], which, cosine_weight, sine_weight)
            _weigh(cosine_weight, sine_weight, cosine, sine, phase, values)
        hadamard(waves, radii[k], between)
        _add_scaled_rows(between, signs[SHARED + k], pull)
    _rotate_back(pull, signs, between)
    for c in range(X.shape[0]):
        for d in range(X.shape[1]):
            gradients[c, d] += pull[d * LANES + c] * inverse_lengthscale[d]


@numba.njit(**_exact)
def add_structured_waves(X, which, structure, values, gradients):  # type: ignore[no-untyped-def]
    """Add the waves of a path at each of many points, and their gradients.

    Args:
        X: `k x D`.
        which: `k`, the path at each point.
        structure: of one set as in `dense`, in single or double precision: signs, radii, inverse lengthscales; then the
            weights of cosines and of sines, `BP x N`. Without blocks there are no waves.
        values: `k`.
        gradients: `k x D`.
    """
    radii = structure[1]
    if radii.shape[0] == 0:
        return
    rows = np.empty((4, radii.shape[1] * LANES), radii.dtype)
    tiles = rows[0], rows[1], rows[2], rows[3]
    rows = np.empty((4, BLOCK), radii.dtype)
    blocks = rows[0], rows[1], rows[2], rows[3]
    lanes = np.zeros(LANES, dtype=np.uint32)  # half as long as most indices: they are gathered twice as fast
    for first in range(0, X.shape[0], LANES):
        last = min(first + LANES, X.shape[0])
        for i in range(first, last):
            lanes[i - first] = which[i]
        _add_tile(X[first:last], lanes, structure, values[first:last], gradients[first:last], tiles, blocks)
