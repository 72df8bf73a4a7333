"""The cosmological constants as a function to minimize: minus the log likelihood of the SDSS galaxies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scorebo.benchmarks.solvers.boltzmann import Universe, check_version, universe
from scorebo.benchmarks.solvers.galaxies import Likelihood
from scorebo.benchmarks.solvers.reading import Array

# The model in which the halofit corrections of the galaxies were made: h, Ω_b, Ω_m, n_s and A_s.
H, OMEGA_B, OMEGA_M, SPECTRAL_INDEX, AMPLITUDE = 0.701, 0.0462, 0.2792, 0.96, 2.2e-9


def sdss(folder: str) -> Callable[[Array], Array]:
    """The function constants `n x 11` -> −ln L, `n`; raises where a spectrum cannot be computed."""
    check_version()
    likelihood = Likelihood(folder, fiducial())
    return lambda points: np.array([likelihood(universe(*map(float, point))) for point in points])


def fiducial() -> Universe:
    """The model of the halofit corrections."""
    return universe(
        ombh2=OMEGA_B * H**2,
        omch2=(OMEGA_M - OMEGA_B) * H**2,
        omk=0.0,
        hubble=100.0 * H,
        temperature=2.726,
        helium=0.24,
        neutrinos=3.04,
        amplitude=AMPLITUDE,
        spectral_index=SPECTRAL_INDEX,
        fudge=1.14,
        helium_fudge=0.86,
    )
