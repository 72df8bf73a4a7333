"""nutpie's compiled sampler, without its Python package: that one imports arviz and matplotlib, which takes seconds.

A run that only draws hyperparameters needs neither. The module is entered under its own name, so that `import nutpie`
elsewhere in the process finds it.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

_NAME = "nutpie._lib"


@cache
def library() -> Any:
    """The extension module of nutpie; a Rust extension can be loaded only once in a process."""
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    package = importlib.util.find_spec("nutpie")
    spec = PathFinder.find_spec(_NAME, None if package is None else package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise RuntimeError("The sampler needs nutpie with its compiled part: install the project's requirements.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module


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
    return lib.PySampler.from_pymc(options, 1, model, lib.ProgressType.none(), lib.PyStorage.arrow())


def _no_flow(*_: Any, **__: Any) -> None:
    raise RuntimeError("Only the transformation by a normalising flow asks for an adapter.")
