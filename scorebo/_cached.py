"""Compiled functions whose cache on disk is valid only for all compiled files as they are.

Numba looks at the file of a function alone. After an update of another file, code inlined from there would stay as it
was: wrong at best.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

PACKAGE = Path(__file__).parent


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with such a cache."""
    return lambda function: _stamped(numba.njit(cache=True, **options)(function))


def cfunc(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.cfunc` with such a cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        # What numba's own decorator does, but for the stamp, which must be there before the cache is looked into.
        compiled = CFunc(function, normalize_signature(signature), locals={}, options=options)
        compiled.enable_caching()
        _stamped(compiled).compile()
        return compiled

    return decorate


@lru_cache
def fingerprint(folder: Path = PACKAGE) -> str:
    """A digest of all compiled files: those whose names begin with an underscore."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("_*.py")):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _stamped(compiled: Any) -> Any:
    compiled._cache._cache_file._source_stamp = fingerprint()
    return compiled
