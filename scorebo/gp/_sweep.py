"""Inverse, determinant and solution of a positive definite system in one pass, compiled.

The sweep operator (Beaton 1964) turns K into −K⁻¹ pivot by pivot; here eight pivots at a time, so that the bulk of the
work is a rank-eight update of the lower triangle that runs from cache, at about twice the speed of LAPACK's potrf and
potri at the sizes of interest (n = 20 … 200). With B the block of pivots, A_BB = LLᵀ and W = L⁻¹A_B·, one sweep is

    A_ij ← A_ij − Wᵢᵀ Wⱼ      A_Bi ← L⁻ᵀ Wᵢ      A_BB ← −L⁻ᵀL⁻¹      for i, j outside B.

For the rows still to be swept these are the steps of a blocked Cholesky factorisation, and as accurate.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._cached import njit

BLOCK = 8

_options = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**_options)
def invert(A, rhs):  # type: ignore[no-untyped-def]
    """Sweep all pivots.

    Args:
        A: `n x n`, of which the lower triangle is read; overwritten with that of −A⁻¹.
        rhs: `n`, overwritten with A⁻¹ rhs.

    Returns:
        log det A and rhsᵀ A⁻¹ rhs; NaN where A is not numerically positive definite (A and rhs are then of no use).
    """
    n = A.shape[0]
    border = np.empty((BLOCK, n))
    factor = np.zeros((BLOCK, BLOCK))
    log_determinant = 0.0
    quadratic = 0.0
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        if not _factorise(A, first, size, factor):
            return np.nan, np.nan
        for k in range(size):
            log_determinant += 2.0 * np.log(factor[k, k])
        _gather(A, first, size, border)
        _solve_lower(factor, size, border)
        _update(A, border)
        quadratic += _sweep_vector(rhs, first, size, factor, border)
        _solve_upper(factor, size, border)
        _scatter(A, first, size, factor, border)
    return log_determinant, quadratic


@numba.njit(**_options)
def _factorise(A, first, size, factor):  # type: ignore[no-untyped-def]
    """Cholesky factor L of A_BB; False if a pivot is not positive."""
    for i in range(size):
        for j in range(i + 1):
            total = A[first + i, first + j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = np.sqrt(total)
            else:
                return False
    return True


@numba.njit(**_options)
def _gather(A, first, size, border):  # type: ignore[no-untyped-def]
    """Copy A_B·, with zeros in the columns of B, which keep the update off them, and in unused rows."""
    last = first + size
    for k in range(BLOCK):
        row = border[k]
        row[:] = 0.0
        if k < size:
            for j in range(first):
                row[j] = A[first + k, j]
            for i in range(last, A.shape[0]):
                row[i] = A[i, first + k]


@numba.njit(**_options)
def _solve_lower(factor, size, border):  # type: ignore[no-untyped-def]
    """W = L⁻¹A_B· in the place of A_B·."""
    for k in range(size):
        row = border[k]
        for other in range(k):
            _subtract(row, factor[k, other], border[other])
        row /= factor[k, k]


@numba.njit(**_options)
def _solve_upper(factor, size, border):  # type: ignore[no-untyped-def]
    """L⁻ᵀW in the place of W."""
    for k in range(size - 1, -1, -1):
        row = border[k]
        for other in range(k + 1, size):
            _subtract(row, factor[other, k], border[other])
        row /= factor[k, k]


@numba.njit(**_options)
def _subtract(row, multiple, other):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        row[j] -= multiple * other[j]


@numba.njit(**_options)
def _update(A, border):  # type: ignore[no-untyped-def]
    """A_ij −= Wᵢᵀ Wⱼ over the lower triangle, all eight terms while A_ij is in a register."""
    w0, w1, w2, w3 = border[0], border[1], border[2], border[3]
    w4, w5, w6, w7 = border[4], border[5], border[6], border[7]
    for i in range(A.shape[0]):
        a0, a1, a2, a3, a4, a5, a6, a7 = w0[i], w1[i], w2[i], w3[i], w4[i], w5[i], w6[i], w7[i]
        row = A[i]
        for j in range(i + 1):
            row[j] -= ((a0 * w0[j] + a1 * w1[j]) + (a2 * w2[j] + a3 * w3[j])) + (
                (a4 * w4[j] + a5 * w5[j]) + (a6 * w6[j] + a7 * w7[j])
            )


@numba.njit(**_options)
def _sweep_vector(rhs, first, size, factor, border):  # type: ignore[no-untyped-def]
    """The same sweep for the right-hand side, an extra column of A; returns its part of the quadratic form, |L⁻¹b|²."""
    pivots = np.empty(size)
    for k in range(size):
        total = rhs[first + k]
        for other in range(k):
            total -= factor[k, other] * pivots[other]
        pivots[k] = total / factor[k, k]
        _subtract(rhs, pivots[k], border[k])
    for k in range(size - 1, -1, -1):
        total = pivots[k]
        for other in range(k + 1, size):
            total -= factor[other, k] * rhs[first + other]
        rhs[first + k] = total / factor[k, k]
    return np.sum(pivots * pivots)


@numba.njit(**_options)
def _scatter(A, first, size, factor, border):  # type: ignore[no-untyped-def]
    """Put −L⁻ᵀL⁻¹ and L⁻ᵀW in the place of A_BB and A_B·."""
    last = first + size
    inverse = np.zeros((size, size))
    for k in range(size):
        inverse[k, k] = 1.0 / factor[k, k]
        for i in range(k + 1, size):
            total = 0.0
            for j in range(k, i):
                total -= factor[i, j] * inverse[j, k]
            inverse[i, k] = total / factor[i, i]
    for k in range(size):
        row = border[k]
        for j in range(first):
            A[first + k, j] = row[j]
        for j in range(k + 1):
            total = 0.0
            for i in range(k, size):
                total -= inverse[i, k] * inverse[i, j]
            A[first + k, first + j] = total
        for i in range(last, A.shape[0]):
            A[i, first + k] = row[i]
