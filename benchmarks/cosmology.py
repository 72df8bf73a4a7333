"""Cosmological constants: CAMB and the power spectrum of the SDSS luminous red galaxies (DR7).

Kandasamy, Schneider, Póczos. High dimensional Bayesian optimization and bandits via additive models. ICML 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scorebo.benchmarks.outside.process import Solve
from scorebo.benchmarks.outside.task import OutsideTask
from scorebo.benchmarks.solvers import constants
from scorebo.data.check import required
from scorebo.errors import check_integer


class Cosmology(OutsideTask):
    """Minus the log likelihood of 11 constants, to be minimized; a failed or too long computation scores 300.

    In order: baryon density Ω_b h², cold dark matter Ω_c h², curvature Ω_k, Hubble constant (km/s/Mpc), temperature of
    the microwave background (K), helium fraction, number of massless neutrinos, scalar amplitude, spectral index, and
    the fudge factors of RECFAST for hydrogen and helium.

    Args:
        num_groups: most groups of an additive model of it, which takes them from here; the function has none.
        options: those of every task that outside code evaluates.
    """

    bounds = (
        (0.01, 0.01, 0.01, 52.5, 2.7, 0.2, 2.9, 1.5e-9, 0.72, 0.0, 0.0),
        (0.08, 0.25, 0.25, 100.0, 2.8, 0.3, 3.09, 2.6e-8, 2.7, 100.0, 100.0),
    )
    quantity = "-ln L of the galaxies' power spectrum, up to a constant"
    expensive = True
    failure_value = 300.0
    package = ("camb", "cosmology")

    def __init__(self, *, num_groups: int = 4, **options: Any) -> None:
        self.num_groups = check_integer("num_groups", num_groups, 1)
        super().__init__(**options)

    def solver(self) -> tuple[Callable[..., Solve], dict[str, Any]]:
        folder = required("sdss_lrg_dr7")[0].parent
        return constants.sdss, {"folder": str(folder)}
