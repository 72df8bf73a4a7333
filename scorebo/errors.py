"""What the user can put right: these errors become one message and exit code 2 on the command line."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

# A point of more coordinates than the first buries the message it is in, and is told by as many as the second.
SHOWN, FEW = 12, 4


class InputError(ValueError):
    """Something that was handed in cannot be used; the message says what and what is allowed."""


class TaskError(InputError):
    """A task that can be evaluated nowhere, since its data or its solver cannot be used: no failed evaluation."""


class EvaluationError(InputError):
    """The task's function raised, or returned what is no observation; `x` is the point, `reason` what happened."""

    def __init__(self, message: str, x: Sequence[float] = (), reason: str = "") -> None:
        super().__init__(message)
        self.x = list(x)
        self.reason = reason


def missing_interface(package: str, works: str, what: str) -> InputError:
    """The error for a release of `package` without the private interface `what`; those in `works` have it."""
    try:
        found = f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        found = f"{package} (not installed)"
    return InputError(f"{found} lacks a private interface that scorebo uses: {what}. Install {package}{works}.")


def describe_point(x: Sequence[float]) -> str:
    """A point in a message: its coordinates, of many the first ones."""
    if len(x) <= SHOWN:
        return str(list(x))
    return f"[{', '.join(map(str, x[:FEW]))}, …] ({len(x)} coordinates)"


def reason_of(error: Exception) -> str:
    """What went wrong, in words: an error of ours speaks for itself, any other is named."""
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def check_choice(what: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`; otherwise name the nearest and all allowed ones."""
    choices = sorted(allowed)
    if isinstance(value, str) and value in choices:
        return value
    nearest = difflib.get_close_matches(str(value), choices, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    raise InputError(f"Unknown {what} '{value}'.{hint} Allowed: {', '.join(choices)}.")


def load_class(what: str, value: object, named: Mapping[str, T], expected: type) -> T:
    """The subclass of `expected` that `value` is: the class itself, a name among `named`, or an import path."""
    found: Any = value
    if isinstance(value, str) and "." in value:
        module, _, name = value.rpartition(".")
        try:
            found = getattr(import_module(module), name)
        except Exception as error:  # whatever the user's module raises
            raise InputError(f"The {what} '{value}' cannot be loaded. {reason_of(error)}") from error
    elif not isinstance(value, type):
        found = named[check_choice(what, value, [*named, "your_package.YourClass"])]
    fits = isinstance(found, type) and issubclass(found, expected)
    if not fits:
        raise InputError(f"The {what} '{value}' is not a subclass of {expected.__module__}.{expected.__qualname__}.")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise InputError(f"The {what} '{value}' lacks the method {', '.join(missing)}.")
    return found


def check_integer(what: str, value: object, minimum: int) -> int:
    """Return `value` if it is a whole number of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{what} must be a whole number of at least {minimum}, got {value!r}.")
    return value


def check_number(
    what: str, value: object, minimum: float, *, exclusive: bool = False, below: float = float("inf")
) -> float:
    """Return `value` as a float if it is finite, at least (`exclusive`: above) `minimum`, and below `below`."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if usable:
        number = float(value)  # type: ignore[arg-type]
        if minimum < number < below or (not exclusive and number == minimum):
            return number
    bound = f"above {minimum:g}" if exclusive else f"of at least {minimum:g}"
    bound += f" and below {below:g}" if below < float("inf") else ""
    raise InputError(f"{what} must be a finite number {bound}, got {value!r}.")


def check_tensor(what: str, value: object, allowed: str = "a tensor, an array or a nested list of numbers") -> Tensor:
    """Return `value` (a tensor, an array, a data frame, a nested list) as a float64 tensor without gradient."""
    import numpy as np
    import torch

    try:
        if isinstance(value, torch.Tensor):
            return value.detach().to(torch.float64)
        if value is None:  # NumPy takes it for NaN
            raise TypeError
        return torch.from_numpy(np.array(value, dtype=np.float64))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{what} must be {allowed}, got {reprlib.repr(value)}.") from error
