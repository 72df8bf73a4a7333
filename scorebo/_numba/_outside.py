"""Python functions that compiled code calls by address: kernels and priors that have no compiled arithmetic.

A compiled function takes a kernel or a prior as a number: its code where it has one, otherwise the address of a C
function that takes the interpreter's lock and calls Python, at some 20 µs a call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scorebo.errors import InputError, reason_of

# Above every code and below every address: the first page of memory is never mapped.
FIRST_ADDRESS = 4096

_Signature = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 4)


class OutsideFunction:
    """A function and its derivatives, written in PyTorch, as compiled code calls them.

    Args:
        function: float64 points `size` -> `K x size`, each row the derivative of the row before.
        name: what the function is, for messages.
        probe: points at which it is checked here, by differences.
    """

    def __init__(self, function: Callable[[Tensor], Tensor], name: str, probe: Tensor) -> None:
        _check_derivatives(function, name, probe)
        self.__setstate__((function, name))

    def __getstate__(self) -> tuple[Callable[[Tensor], Tensor], str]:
        return self._function, self._name  # an address is valid in one process

    def __setstate__(self, state: tuple[Callable[[Tensor], Tensor], str]) -> None:
        self._function, self._name = state
        self._error: BaseException | None = None
        self._pointer = _Signature(self._call)
        self.address = int(ctypes.cast(self._pointer, ctypes.c_void_p).value or 0)

    def _call(self, size: int, count: int, points: int, values: int) -> None:
        result = _array(values, count * size).reshape(count, size)
        result[:] = 0.0  # after an error: searches end on finite numbers alone
        if self._error is None:
            try:
                result[:] = self._function(torch.from_numpy(_array(points, size))).detach().numpy()
            except BaseException as error:  # C passes nothing on, not even an interrupt
                self._error = error

    def raise_error(self) -> None:
        """Raise what the function raised in compiled code, which has returned meanwhile."""
        error, self._error = self._error, None
        if isinstance(error, Exception):
            raise InputError(f"{self._name} failed: {reason_of(error)}") from error
        if error is not None:
            raise error


def _array(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_double * size).from_address(address))  # type: ignore[call-overload]


def _check_derivatives(function: Callable[[Tensor], Tensor], name: str, probe: Tensor) -> None:
    step = 1e-5 * probe.abs().clamp_min(0.1)
    try:
        rows, above, below = function(probe), function(probe + step), function(probe - step)
    except Exception as error:
        raise InputError(f"{name} failed: {reason_of(error)}") from error
    slopes = (above - below)[:-1] / (2.0 * step)
    wrong = ((rows[1:] - slopes).abs() > 1e-4 * (1.0 + slopes.abs())) | ~rows[1:].isfinite()
    if bool(wrong.any()):
        k, i = wrong.nonzero()[0].tolist()
        raise InputError(
            f"{name}: derivative {k + 1} at {float(probe[i]):.6g} is {float(rows[k + 1, i]):.6g}, but differences "
            f"of the values give {float(slopes[k, i]):.6g}."
        )


@intrinsic
def _call_address(typing_context, address, size, count, points, values):  # type: ignore[no-untyped-def]
    """Call the C function at an address with these whole numbers."""

    def generate(context, builder, sig, args):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * 4)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.none(*(types.int64,) * 5), generate


@numba.njit
def call_outside(code, points, count):  # type: ignore[no-untyped-def]
    """The `count x size` values of the function at the address `code` at points `size`.

    Raises:
        InputError: the code is no address.
    """
    if code < FIRST_ADDRESS:
        raise InputError("Unknown code of a kernel or prior: it has no compiled arithmetic.")
    values = np.empty((count, points.size))
    _call_address(code, points.size, count, points.ctypes.data, values.ctypes.data)
    return values
