"""The log density as a C function of a block of memory, for samplers that call no Python: a call costs nothing.

The block begins with the number of evaluations, the kernel, D, n, the length of the packed squares, the number of
parameters and the noise floor; then come the arrays that `log_density` takes, in the order of `pack`.
"""

from __future__ import annotations

import numpy as np
from numba import carray, types

from scorebo._numba.cache import cfunc
from scorebo.gp._compiled import log_density

HEADER = 7
COLUMNS = 7  # of the table of coordinates
# What nutpie takes for a point outside the support, to be survived.
NOT_FINITE = 1

_doubles = types.CPointer(types.double)
_size = types.uint64


def pack(kernel, X, squares, y, base, coordinates, groups, noise_floor) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The arguments of `log_density`, but for θ, in one block; its first number counts the evaluations."""
    if groups.any():
        raise ValueError("What is sampled has one group of dimensions.")
    header = [0.0, kernel, X.shape[1], len(y), squares.size, len(base), noise_floor]
    return np.concatenate([header, base, coordinates.ravel(), y, X.ravel(), squares.ravel()])


@cfunc(types.int64(_size, _doubles, _doubles, _doubles, _doubles), error_model="numpy")
def evaluate(dim, theta, gradient, value, block):  # type: ignore[no-untyped-def]
    """Write value and gradient at θ `dim`; anything but 0 is returned where they are not finite."""
    header = carray(block, HEADER)
    header[0] += 1.0
    free, kernel, inputs, n, packed = np.int64(dim), int(header[1]), int(header[2]), int(header[3]), int(header[4])
    table = HEADER + int(header[5])
    y = table + COLUMNS * free
    X = y + n
    squares = X + n * inputs
    whole = carray(block, squares + packed)
    rows = inputs if packed > 0 else 0
    found, slope = log_density(
        kernel,
        whole[X:squares].reshape((n, inputs)),
        whole[squares:].reshape((rows, packed // max(rows, 1))),
        whole[y:X],
        whole[HEADER:table],
        whole[table:y].reshape((free, COLUMNS)),
        np.zeros(inputs, np.int64),
        header[6],
        carray(theta, dim),
    )
    value[0] = found
    carray(gradient, dim)[:] = slope
    return 0 if np.isfinite(found) else NOT_FINITE


@cfunc(types.int64(_size, _size, _doubles, _doubles, _doubles))
def copy(dim, size, theta, result, block):  # type: ignore[no-untyped-def]
    """What is stored of a draw: θ itself."""
    for i in range(dim):
        result[i] = theta[i]
    return 0
