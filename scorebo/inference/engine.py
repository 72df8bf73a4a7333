"""The one place that calls nutpie's extension module, which has no public interface of its own.

Its Python package is left out because it imports arviz and matplotlib, which takes seconds and which a run that only
draws hyperparameters does not need. The module is registered under its own name, so that `import nutpie` elsewhere in
the process finds it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

from scorebo.errors import missing_interface

_NAME = "nutpie._lib"
_WORKING = ">=0.16.8,<0.17"
_SAMPLER = ("settings", "cores", "model", "progress_type", "store")
# What is called, and the arguments it must take.
_INTERFACE: dict[str, tuple[str, ...]] = {
    "PyNutsSettings.LowRank": ("seed",),
    "PyNutsSettings.Diag": ("seed",),
    "LogpFunc": ("ptr", "user_data_ptr", "keep_alive"),
    "ExpandFunc": ("dim", "expanded_dim", "ptr", "user_data_ptr", "keep_alive"),
    "PyVariable.new_variables": ("names", "item_types", "shapes", "dim_sizes", "dims"),
    "PyMcModel": ("density", "expand", "variables", "dim", "dim_sizes", "coords", "init_func", "transform_adapter"),
    "ProgressType.none": (),
    "PyStorage.arrow": (),
    "PySampler.from_pymc": _SAMPLER,
}
# `from_pymc` takes these as well from 0.16.9 on: a callback, here none, and its rate in milliseconds.
_CALLBACK = {"extra_callback": None, "extra_callback_rate": 500}


@functools.cache
def library() -> Any:
    """The extension module of nutpie, checked; a Rust extension can be loaded only once in a process."""
    if _NAME in sys.modules:
        return _check(sys.modules[_NAME])
    package = importlib.util.find_spec("nutpie")
    spec = PathFinder.find_spec(_NAME, None if package is None else package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise missing_interface("nutpie", _WORKING, "its extension module nutpie._lib")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return _check(module)


def _check(module: Any) -> Any:
    """The module, if it has what `start` calls."""
    for path, wanted in _INTERFACE.items():
        try:
            found: tuple[str, ...] | None = _arguments(functools.reduce(getattr, path.split("."), module))
        except (AttributeError, ValueError):  # not there, or without a signature
            found = None
        if found is None or tuple(name for name in found if name not in _CALLBACK) != wanted:
            raise missing_interface("nutpie", _WORKING, f"{path}({', '.join(wanted)})")
    return module


def _arguments(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def start(
    density: Any, expand: Any, block: np.ndarray, start: np.ndarray, *, low_rank: bool, seed: int, **settings: Any
) -> Any:
    """Begin one chain in the background; it has `wait`, `abort` and `take_results`.

    Args:
        density: compiled C function of θ, writing value and gradient, with `block` as its data.
        expand: compiled C function that copies what is stored of a draw.
        block: the data of both; it has to outlive the chain.
        start: θ `dim` where the chain begins.
        low_rank: whether the mass matrix is diagonal plus low rank, or only diagonal.
        seed: of the chain.
        settings: of nutpie, by their names there.
    """
    lib, dim = library(), len(start)
    sizes: dict[str, int] = {}  # filled in by `new_variables`
    options = lib.PyNutsSettings.LowRank(seed) if low_rank else lib.PyNutsSettings.Diag(seed)
    for name, value in settings.items():
        setattr(options, name, value)
    model = lib.PyMcModel(
        lib.LogpFunc(density.address, block.ctypes.data, block),
        lib.ExpandFunc(dim, dim, expand.address, block.ctypes.data, block),
        lib.PyVariable.new_variables(["theta"], ["float64"], [(dim,)], sizes, {}),
        dim,
        sizes,
        {},
        lambda _: start,
        _no_flow,
    )
    given = dict(zip(_SAMPLER, (options, 1, model, lib.ProgressType.none(), lib.PyStorage.arrow()), strict=True))
    from_pymc = lib.PySampler.from_pymc
    return from_pymc(*((given | _CALLBACK)[name] for name in _arguments(from_pymc)))


def _no_flow(*_: Any, **__: Any) -> None:
    raise RuntimeError("Only the transformation by a normalizing flow asks for an adapter.")
