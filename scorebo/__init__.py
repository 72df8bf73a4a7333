"""scorebo: self-correcting Bayesian optimization and Bayesian active learning, reproducibly.

Hvarfner, Hellsten, Hutter, Nardi: Self-Correcting Bayesian Optimization through Bayesian Active Learning, NeurIPS 2023.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorebo.config import load_benchmark
    from scorebo.fit import fit_gp
    from scorebo.optimizer.ask_tell import Optimizer, optimize
    from scorebo.search.box import Box

__version__ = "0.1.0"
__all__ = ["Box", "Optimizer", "__version__", "fit_gp", "load_benchmark", "optimize"]

_MODULES = {
    "Box": "scorebo.search.box",
    "Optimizer": "scorebo.optimizer.ask_tell",
    "fit_gp": "scorebo.fit",
    "load_benchmark": "scorebo.config",
    "optimize": "scorebo.optimizer.ask_tell",
}


def __getattr__(name: str) -> Any:
    """Import on first use: the command line sets the number of threads before the numerical libraries load."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'scorebo' has no attribute {name!r}")
