"""The log density as a C function of a block of memory, for samplers that call no Python: a call costs nothing.

The block begins with the number of evaluations, the kernel, D, n and the noise floor; then come the other arguments of
`log_density`, in its order but for the data, which are last because they are long.
"""

from __future__ import annotations

import numpy as np
from numba import carray, types

from scorebo._cached import cfunc
from scorebo.gp._compiled import log_density

HEADER = 5
# What nutpie takes for a point outside the support, to be survived.
NOT_FINITE = 1

_doubles = types.CPointer(types.double)
_size = types.uint64


def pack(kernel, squares, y, base, free, form, a, b, constant, noise_floor) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The arguments of `log_density`, but for θ, in one block; its first number counts the evaluations."""
    header = [0.0, kernel, squares.shape[0], len(y), noise_floor]
    return np.concatenate([header, base, free, form, a, b, constant, y, squares.ravel()])


@cfunc(types.int64(_size, _doubles, _doubles, _doubles, _doubles), error_model="numpy")
def evaluate(dim, theta, gradient, value, block):  # type: ignore[no-untyped-def]
    """Write value and gradient at θ `dim`; anything but 0 is returned where they are not finite."""
    header = carray(block, HEADER)
    header[0] += 1.0
    kernel, dim_inputs, n = int(header[1]), int(header[2]), int(header[3])
    free, pairs = np.int64(dim), n * (n - 1) // 2
    base, y = HEADER + dim_inputs + 3, HEADER + dim_inputs + 3 + 5 * free
    whole = carray(block, y + n + dim_inputs * pairs)
    priors = whole[base:y].reshape((5, free))
    found, slope = log_density(
        kernel,
        whole[y + n :].reshape((dim_inputs, pairs)),
        whole[y : y + n],
        whole[HEADER:base],
        priors[0].astype(np.int64),
        priors[1].astype(np.int64),
        priors[2],
        priors[3],
        priors[4],
        header[4],
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
