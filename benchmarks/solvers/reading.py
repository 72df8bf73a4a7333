"""Numbers read from files, seen to be what they should be; every message names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from scorebo.errors import InputError

Array = np.ndarray


def read(file: str | Path, how: Callable[[Path], Array], shape: tuple[int, ...]) -> Array:
    """What `how` reads from a file: float64 numbers of this shape, all finite.

    Raises:
        InputError: it cannot be read, has another shape, or holds NaN or infinity.
    """
    try:
        numbers = np.asarray(how(Path(file)), dtype=np.float64)
    except Exception as error:  # whatever a reader raises at bytes that are none of its format
        raise InputError(f"{file} cannot be read ({type(error).__name__}: {error}).") from error
    return check(file, numbers, shape)


def check(file: str | Path, numbers: Array, shape: tuple[int, ...]) -> Array:
    """The numbers of a file if they have this shape and are finite."""
    if numbers.shape != shape:
        expected, found = (" x ".join(map(str, s)) for s in (shape, numbers.shape))
        raise InputError(f"{file} must hold {expected} numbers, it holds {found}.")
    if not np.isfinite(numbers).all():
        place = ", ".join(str(int(i) + 1) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise InputError(f"{file} holds a value that is no finite number (at {place}, counted from 1).")
    return numbers


def minmax(numbers: Array) -> Array:
    """Every column scaled to [0, 1]; a constant one becomes 0."""
    low, high = numbers.min(0), numbers.max(0)
    return (numbers - low) / np.where(high > low, high - low, 1.0)
