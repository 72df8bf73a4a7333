"""Sampling of hyperparameters: the `Sampler` interface, NUTS, sequential, Pyro, MAP, partitions; their diagnostics."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorebo.inference.base import Carry, ChainSampler, Sampler, Samples
from scorebo.inference.samplers import NUTS, Sequential

if TYPE_CHECKING:
    from scorebo.gp.diagnostics import Diagnostics
    from scorebo.inference.diagnostics import Chain
    from scorebo.inference.fit import fit_gp

__all__ = ["NUTS", "Carry", "Chain", "ChainSampler", "Diagnostics", "Sampler", "Samples", "Sequential", "fit_gp"]

_MODULES = {"Chain": "inference.diagnostics", "Diagnostics": "gp.diagnostics", "fit_gp": "inference.fit"}


def __getattr__(name: str) -> Any:
    """Import on first use what needs numerical libraries: configurations are checked without them."""
    if name in _MODULES:
        return getattr(import_module(f"scorebo.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'scorebo.inference' has no attribute {name!r}")
