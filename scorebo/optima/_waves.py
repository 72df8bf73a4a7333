"""A path and its derivatives at one point, compiled: the innermost loop of the search for optima.

A path is mean + Σ_f (a_f cos ω_f·x + b_f sin ω_f·x) + Σ_i β_i k(x, x_i). With v_f = a_f cos + b_f sin and
u_f = b_f cos − a_f sin the sum of waves has gradient Σ u_f ω_f and Hessian −Σ v_f ω_f ω_fᵀ: one sine and cosine for
each frequency serves all three. Frequencies are taken in blocks that stay in the fastest cache, each stage a loop of
its own that the compiler vectorizes.
"""

from __future__ import annotations

import numba
import numpy as np

from scorebo._numba._outside import call_outside
from scorebo._numba._vectorized import exp
from scorebo._numba.cache import njit

BLOCK = 512

# No reassociation where ranges are reduced (it would undo the reduction); sums may be split over vector lanes.
_exact = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}
_sums = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@numba.njit(**_exact)
def workspace(omega):  # type: ignore[no-untyped-def]
    """What `evaluate` works in: rows for the waves, in their precision, rows for the data, and differences to them."""
    return np.empty((3, BLOCK), omega.dtype), np.empty((4, BLOCK)), np.empty((omega.shape[-2], BLOCK))


@numba.njit(**_exact)
def _sincos_double(phase, cosine, sine, size):  # type: ignore[no-untyped-def]
    """By Taylor's series to degree 16, exact to rounding within an eighth of a turn of the nearest quarter."""
    for f in range(size):
        turns = phase[f] * 0.15915494309189535
        quarter = np.floor(4.0 * turns + 0.5)
        angle = (turns - 0.25 * quarter) * 6.283185307179586
        square = angle * angle
        s = square * (-1.0 / 1307674368000.0) + 1.0 / 6227020800.0
        s = s * square - 1.0 / 39916800.0
        s = s * square + 1.0 / 362880.0
        s = s * square - 1.0 / 5040.0
        s = s * square + 1.0 / 120.0
        s = s * square - 1.0 / 6.0
        s = s * square * angle + angle
        c = square * (1.0 / 20922789888000.0) - 1.0 / 87178291200.0
        c = c * square + 1.0 / 479001600.0
        c = c * square - 1.0 / 3628800.0
        c = c * square + 1.0 / 40320.0
        c = c * square - 1.0 / 720.0
        c = c * square + 1.0 / 24.0
        c = c * square - 0.5
        c = c * square + 1.0
        # Which quarter, 0 … 3: odd ones exchange sine and cosine, and each has its signs.
        which = quarter - 4.0 * np.floor(0.25 * quarter)
        odd = which - 2.0 * np.floor(0.5 * which) == 1.0
        along = s if odd else c
        across = c if odd else s
        cosine[f] = -along if abs(which - 1.5) < 1.0 else along
        sine[f] = -across if which > 1.5 else across


@numba.njit(**_exact)
def _sincos_single(phase, cosine, sine, size):  # type: ignore[no-untyped-def]
    """By polynomials through Chebyshev nodes within a quarter of a turn of the nearest half, exact to rounding.

    There is no case to tell apart but the sign, which for so few terms is faster than quarters.
    """
    for f in range(size):
        halves = phase[f] * np.float32(0.3183098861837907)
        nearest = np.floor(halves + np.float32(0.5))
        angle = halves - nearest
        square = angle * angle
        s = square * np.float32(0.07765766031) - np.float32(0.59829128562)
        s = s * square + np.float32(2.55007752322)
        s = s * square - np.float32(5.16771008351)
        s = s * square + np.float32(3.14159264013)
        c = square * np.float32(-0.02439632434) + np.float32(0.23493731381)
        c = c * square - np.float32(1.33521200305)
        c = c * square + np.float32(4.05870915956)
        c = c * square - np.float32(4.93480213708)
        c = c * square + np.float32(0.99999999978)
        sign = np.float32(1.0) - np.float32(2.0) * (nearest - np.float32(2.0) * np.floor(np.float32(0.5) * nearest))
        cosine[f] = sign * c
        sine[f] = sign * angle * s


@numba.njit(**_exact)
def sincos(phase, cosine, sine, size):  # type: ignore[no-untyped-def]
    """Cosine and sine of the first `size` phases, in the precision of the arrays.

    In double precision to 3e-16, plus the 2e-16·|phase| that a rounded phase implies; in single to 2e-7 + 1e-7·|phase|.
    """
    if phase.itemsize == 4:
        _sincos_single(phase, cosine, sine, size)
    else:
        _sincos_double(phase, cosine, sine, size)


@numba.njit(**_exact)
def phases(x, omega, first, size, phase):  # type: ignore[no-untyped-def]
    """ω_f·x for one block of frequencies."""
    # Two dimensions in a pass: half the loads and stores of the phases.
    odd = omega.shape[0] % 2
    if odd == 0:
        phase[:size] = 0.0
    else:
        row, coordinate = omega[0, first : first + size], omega.dtype.type(x[0])
        for f in range(size):
            phase[f] = coordinate * row[f]
    for d in range(odd, omega.shape[0], 2):
        row, coordinate = omega[d, first : first + size], omega.dtype.type(x[d])
        other_row, other = omega[d + 1, first : first + size], omega.dtype.type(x[d + 1])
        for f in range(size):
            phase[f] += coordinate * row[f] + other * other_row[f]


@numba.njit(**_exact)
def radial(kernel, distance, correlation, slope, bend, size):  # type: ignore[no-untyped-def]
    """Correlation c(r²), slope −2c′ and bend 4c″ at squared distances r²."""
    if kernel == 0:
        for i in range(size):
            scaled = np.sqrt(5.0 * distance[i])
            decay = exp(-min(scaled, 700.0))
            correlation[i] = (1.0 + scaled + scaled * scaled / 3.0) * decay
            slope[i] = (5.0 / 3.0) * (1.0 + scaled) * decay
            bend[i] = (25.0 / 3.0) * decay
    elif kernel == 1:
        for i in range(size):
            decay = exp(-min(0.5 * distance[i], 700.0))
            correlation[i] = decay
            slope[i] = decay
            bend[i] = decay
    else:
        radial = call_outside(kernel, distance[:size], 3)
        for i in range(size):
            correlation[i] = radial[0, i]
            slope[i] = -2.0 * radial[1, i]
            bend[i] = 4.0 * radial[2, i]


@numba.njit(**_exact)
def correlate(kernel, row, size):  # type: ignore[no-untyped-def]
    """Turn squared distances into correlations, in place: `radial` without slopes and bends."""
    if kernel == 0:
        for i in range(size):
            scaled = np.sqrt(5.0 * row[i])
            row[i] = (1.0 + scaled + scaled * scaled / 3.0) * exp(-min(scaled, 700.0))
    elif kernel == 1:
        for i in range(size):
            row[i] = exp(-min(0.5 * row[i], 700.0))
    else:
        row[:size] = call_outside(kernel, row[:size], 3)[0]


@numba.njit(**_exact)
def correlations(kernel, x, inputs, precision, first, size, data):  # type: ignore[no-untyped-def]
    """Squared distances, correlations, slopes and bends with one block of the observed: rows 0 … 3 of `data`."""
    distance = data[0]
    distance[:size] = 0.0
    for d in range(x.shape[0]):
        row, coordinate, weight = inputs[d, first : first + size], x[d], precision[d]
        for i in range(size):
            difference = coordinate - row[i]
            distance[i] += weight * (difference * difference)
    radial(kernel, distance, data[1], data[2], data[3], size)


@numba.njit(**_sums)
def dot(a, b, size):  # type: ignore[no-untyped-def]
    total = a.dtype.type(0)  # not a double where the arrays are single
    for i in range(size):
        total += a[i] * b[i]
    return total


@numba.njit(**_sums)
def _two_dots(upper, lower, b, size):  # type: ignore[no-untyped-def]
    """The dot products of two rows with a third."""
    zero = b.dtype.type(0)
    of_upper, of_lower = zero, zero
    for f in range(size):
        of_upper += upper[f] * b[f]
        of_lower += lower[f] * b[f]
    return of_upper, of_lower


@numba.njit(**_sums)
def _two_by_two(v, upper, lower, left, right, size):  # type: ignore[no-untyped-def]
    """Σ_f v_f times each product of one of two rows with one of two others: half the loads of row by row."""
    zero = v.dtype.type(0)
    upper_left, upper_right, lower_left, lower_right = zero, zero, zero, zero
    for f in range(size):
        weighted_upper, weighted_lower = v[f] * upper[f], v[f] * lower[f]
        upper_left += weighted_upper * left[f]
        upper_right += weighted_upper * right[f]
        lower_left += weighted_lower * left[f]
        lower_right += weighted_lower * right[f]
    return upper_left, upper_right, lower_left, lower_right


@numba.njit(**_sums)
def _subtract_outer(omega, first, size, v, hessian):  # type: ignore[no-untyped-def]
    """Subtract Σ_f v_f ω_f ω_fᵀ over one block of columns from the lower triangle."""
    dim = omega.shape[0]
    for d in range(0, dim, 2):
        below = min(d + 1, dim - 1)  # the last row again where the dimension is odd
        upper, lower = omega[d, first : first + size], omega[below, first : first + size]
        for e in range(0, d + 1, 2):
            beside = min(e + 1, dim - 1)
            left, right = omega[e, first : first + size], omega[beside, first : first + size]
            upper_left, upper_right, lower_left, lower_right = _two_by_two(v, upper, lower, left, right, size)
            hessian[d, e] -= upper_left
            if beside > e:
                hessian[d, beside] -= upper_right
            if below > d:
                hessian[below, e] -= lower_left
                if beside > e:
                    hessian[below, beside] -= lower_right


@numba.njit(**_sums)
def _update(order, kernel, x, inputs, precision, beta, gradient, hessian, data, differences):  # type: ignore[no-untyped-def]
    """Σ_i β_i corr(x, x_i) under one group; its derivatives are added, as `evaluate` wants them."""
    value = 0.0
    correlation, slope, bend = data[1], data[2], data[3]
    for first in range(0, inputs.shape[1], BLOCK):
        size = min(BLOCK, inputs.shape[1] - first)
        correlations(kernel, x, inputs, precision, first, size, data)
        beta_block = beta[first : first + size]
        value += dot(beta_block, correlation, size)
        if order == 0:
            continue
        pulls = 0.0
        for i in range(size):
            slope[i] *= beta_block[i]
            bend[i] *= -beta_block[i]
            pulls += slope[i]
        for d in range(x.shape[0]):
            row, coordinate, weight = inputs[d, first : first + size], x[d], precision[d]
            difference = differences[d]
            for i in range(size):
                difference[i] = weight * (coordinate - row[i])
            gradient[d] -= dot(slope, difference, size)
            if order > 1:
                hessian[d, d] -= weight * pulls
        if order > 1:
            _subtract_outer(differences, 0, size, bend, hessian)
    return value


@njit(**_sums)
def evaluate(order, kernel, x, omega, a, b, inputs, precision, beta, mean, gradient, hessian, work):  # type: ignore[no-untyped-def]
    """Value of one path at one point; its gradient too with `order` 1, and its Hessian with `order` 2.

    Args:
        order: 0, 1 or 2.
        kernel: MATERN52, RBF or the address of another's radial function.
        x: `D`.
        omega: `D x F`, frequencies; these and their weights in double or all in single precision.
        a: `F`, weights of the cosines.
        b: `F`, weights of the sines.
        inputs: `D x n`, observed.
        precision: `G x D`, squared inverse lengthscales of each group; a row of NaN is no group.
        beta: `n`, weights of the correlations with the observed.
        mean: constant.
        gradient: `D`, overwritten where wanted.
        hessian: `D x D`, overwritten (both triangles) where wanted.
        work: a `workspace`.

    Returns:
        The value.
    """
    dim, count = omega.shape
    value = mean
    if order > 0:
        gradient[:] = 0.0
    if order > 1:
        hessian[:] = 0.0
    waves, data, differences = work
    phase, cosine, sine = waves[0], waves[1], waves[2]
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        phases(x, omega, first, size, phase)
        sincos(phase, cosine, sine, size)
        a_block, b_block = a[first : first + size], b[first : first + size]
        total = omega.dtype.type(0)
        for f in range(size):
            v = a_block[f] * cosine[f] + b_block[f] * sine[f]
            u = b_block[f] * cosine[f] - a_block[f] * sine[f]
            cosine[f], sine[f] = v, u
            total += v
        value += total
        if order > 0:
            for d in range(0, dim, 2):
                below = min(d + 1, dim - 1)
                upper, lower = _two_dots(omega[d, first : first + size], omega[below, first : first + size], sine, size)
                gradient[d] += upper
                if below > d:
                    gradient[below] += lower
        if order > 1:
            _subtract_outer(omega, first, size, cosine, hessian)

    for group in precision:
        if np.isnan(group[0]):
            break
        value += _update(order, kernel, x, inputs, group, beta, gradient, hessian, data, differences)
    if order > 1:
        for d in range(dim):
            for e in range(d):
                hessian[e, d] = hessian[d, e]
    return value
