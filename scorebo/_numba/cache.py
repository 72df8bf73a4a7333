"""Compiled functions whose cache on disk is valid only for all compiled files as they are.

Numba looks at the file of a function alone. After an update of another file, code inlined from there would stay as it
was: wrong at best.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba

from scorebo.errors import missing_interface

_WORKING = ">=0.60,<0.69"
try:
    from numba.core.caching import IndexDataCacheFile
    from numba.core.ccallback import CFunc
    from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
    from numba.core.sigutils import normalize_signature
except ImportError as error:
    raise missing_interface("numba", _WORKING, str(error)) from error

PACKAGE = Path(__file__).parents[1]


def check_numba(cache_file: type = IndexDataCacheFile) -> None:
    """Refuse a numba that has not the methods that `CacheFile` and `OwnCopies` call or replace."""
    takes = {"__init__": 3, "load": 1, "save": 2, "_save_data": 2, "_load_index": 0, "_save_index": 1}
    methods = [(cache_file, name, count) for name, count in takes.items()]
    methods += [(JITCodeLibrary, name, 0) for name in ("_get_module_for_linking", "_finalize_final_module")]
    for owner, name, count in methods:
        method = getattr(owner, name, None)
        if method is None or len(inspect.signature(method).parameters) != count + 1:
            raise missing_interface("numba", _WORKING, f"{owner.__name__}.{name} of {count} arguments")
    if not issubclass(getattr(JITCPUCodegen, "_library_class", object), JITCodeLibrary):
        raise missing_interface("numba", _WORKING, "JITCPUCodegen._library_class")


class OwnCopies(JITCodeLibrary):
    """Compiled code that calls its own copies of this package's functions.

    The code of a function has copies of those it calls, optimized in their place, so that two copies may round
    differently. Numba leaves the choice to the linker, which takes the copy that was loaded first for all callers: the
    last bits of a result would depend on what the process compiled, loaded or ran before.
    """

    _shared_module: Any

    def _finalize_final_module(self) -> None:
        if self._shared_module is None:  # Compiled now; what comes from the cache has its own copies already.
            self._finalized = True
            linked = self._get_module_for_linking()  # In what others link the functions keep their names.
            self._shared_module = linked.clone() if linked is self._final_module else linked
            for function in self._final_module.functions:
                if function.linkage.name == "linkonce_odr" and _MANGLED in function.name:
                    function.linkage = "internal"
        super()._finalize_final_module()


_MANGLED = f"{len(PACKAGE.name)}{PACKAGE.name}"
check_numba()
JITCPUCodegen._library_class = OwnCopies


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
    """A digest of all compiled files, whose names begin with an underscore, and of this one, which links them."""
    digest = hashlib.sha256()
    for path in sorted([*folder.rglob("_*.py"), *folder.glob("_numba/cache.py")]):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


class CacheFile(IndexDataCacheFile):
    """The cache of one function, of which many processes may be writers at once.

    Numba numbers the files of compiled code, and names one in the index before it is there. After an update of the
    source a process that looked into the index in between would load the code of before; and two that add an entry at
    the same time (other types of arguments, or processors of another kind on a shared file system) would both write
    file 1, so that one loads the code of the other. Here a file is named after what is in it, and comes first.
    """

    def save(self, key: Any, data: Any) -> None:
        base = self._index_name.removesuffix(".nbi")
        current = f"{base}.{_digest(self._source_stamp)}."
        name = f"{current}{_digest(key)}.nbc"
        self._save_data(name, data)
        overloads = self._load_index()
        if not overloads:  # the first after an update
            for path in Path(self._cache_path).glob(f"{base}.*.nbc"):
                if not path.name.startswith(current):
                    path.unlink(missing_ok=True)
        overloads[key] = name
        self._save_index(overloads)

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except OSError:  # On a network file system one that was replaced while it was read is a stale handle.
            return {}


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _stamped(compiled: Any) -> Any:
    cache = compiled._cache
    if not isinstance(getattr(cache, "_cache_file", None), IndexDataCacheFile):
        raise missing_interface("numba", _WORKING, "the cache file of a compiled function")
    cache._cache_file = CacheFile(cache._cache_path, cache._impl.filename_base, fingerprint())
    return compiled
