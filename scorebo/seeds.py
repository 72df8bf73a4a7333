"""Seeds derived from names, never drawn from one global stream.

Iteration 37 of a run draws the same numbers whether or not the run was interrupted before it, and two acquisitions
that share (task, seed) see the same design, noise and test points: common random numbers by name.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def derive(*names: str | int) -> int:
    """A 63-bit seed that is a function of the names alone, e.g. `derive("branin", 3, "noise", 17)`."""
    key = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little") >> 1


def generator(*names: str | int) -> np.random.Generator:
    """A NumPy generator for the stream with these names."""
    import numpy as np

    return np.random.default_rng(derive(*names))
