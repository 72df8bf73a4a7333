"""The tasks, one file a suite; `configs/benchmark/` names each by its class here, e.g. `scorebo.benchmarks.Branin`.

The paths of this module are part of the run id. They stay when a class moves to another file.
"""

from __future__ import annotations

import importlib
from typing import Any

_CLASSES = {
    "base": ("Benchmark",),
    "active_learning": ("Branin", "Gramacy1", "Gramacy2", "Hartmann6", "Higdon", "Ishigami"),
    "gp_samples": ("GPSample", "AdditiveGPSample"),
    "real": ("SVMCT", "SVMCT757", "LassoDNA", "Cosmology"),
    "sparse": ("Ackley4In25", "Hartmann6In25"),
    "synthetic": ("Hartmann3", "Hartmann4", "Rosenbrock2", "Rosenbrock4"),
    "tuning": ("PD1", "LCBench"),
}
_MODULES = {name: module for module, names in _CLASSES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import on first use: the child processes of `scorebo.benchmarks.outside` do without torch."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
