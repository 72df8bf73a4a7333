"""scorebo: self-correcting Bayesian optimisation and Bayesian active learning, reproducibly.

Hvarfner, Hellsten, Hutter, Nardi: Self-Correcting Bayesian Optimization through Bayesian Active Learning, NeurIPS 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorebo.asktell import Optimizer, optimize
    from scorebo.config import load_benchmark
    from scorebo.inference import fit_gp

__version__ = "0.1.0"
__all__ = ["Optimizer", "__version__", "fit_gp", "load_benchmark", "optimize"]


def __getattr__(name: str) -> Any:
    """Import on first use: the command line sets the number of threads before the numerical libraries load."""
    if name == "fit_gp":
        from scorebo.inference import fit_gp

        return fit_gp
    if name == "load_benchmark":
        from scorebo.config import load_benchmark

        return load_benchmark
    if name in ("Optimizer", "optimize"):
        from scorebo import asktell

        return getattr(asktell, name)
    raise AttributeError(f"module 'scorebo' has no attribute {name!r}")
