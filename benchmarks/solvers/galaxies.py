"""Minus the log likelihood of cosmological constants, given the power spectrum of the SDSS luminous red galaxies (DR7).

Reid et al. Cosmological constraints from the clustering of the Sloan Digital Sky Survey DR7 luminous red galaxies.
MNRAS 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.interpolate import CubicSpline, LSQUnivariateSpline
from scipy.optimize import brentq
from scipy.special import erf, logsumexp

from scorebo.benchmarks.solvers.boltzmann import EFFECTIVE_REDSHIFT, K, Universe, check_version, universe
from scorebo.benchmarks.solvers.reading import Array, read
from scorebo.errors import InputError

POINTS, BANDS = 45, 250
# NEAR, MID and FAR: share of the galaxies, smearing of the baryon wiggles in (Mpc/h)².
SHARES = (0.395, 0.355, 0.250)
SMEARING = (86.9988, 85.1374, 84.5958)
# The model in which the halofit corrections of the galaxies were made: h, Ω_b, Ω_m, n_s and A_s.
H, OMEGA_B, OMEGA_M, SPECTRAL_INDEX, AMPLITUDE = 0.701, 0.0462, 0.2792, 0.96, 2.2e-9


@dataclass(frozen=True)
class Correction:
    """Halo over halofit power in the fiducial model: polynomials in k (h/Mpc) below and above a transition."""

    below: Sequence[float]
    transition: float
    factor: float
    above: Sequence[float]

    def __call__(self, k: Array) -> Array:
        rising = np.polynomial.polynomial.polyval
        return np.where(k < self.transition, rising(k, self.below), self.factor * rising(k, self.above))


CORRECTIONS = (
    Correction((1, -0.680886, 6.48151), 0.194055, 1.04482, (1, -2.13627, 21.0537, -50.1167, 36.8155)),
    Correction((1, -0.530799, 6.31822), 0.19431, 1.04384, (1, -1.97873, 20.8551, -50.0376, 36.4056)),
    Correction((1, -0.475028, 6.69004), 0.19148, 1.03753, (1, -1.84891, 21.3479, -52.4846, 38.9541)),
)
# Where the spectrum without wiggles has its knots, per Mpc, and below which k it is the linear one.
KNOTS = 0.7 * np.array([0.001, *np.arange(0.025, 0.4, 0.05)])
LINEAR_BELOW = 0.007
# ln R, in units of the inverse of k, between which the nonlinear scale is looked for.
LN_RADII = (np.log(1e-3), np.log(1e2))


def without_wiggles(k: Array, power: Array) -> Array:
    """A smooth spectrum through P, `K`: a least-squares cubic spline of P k^1.5; k per Mpc."""
    inside = (k >= KNOTS[0]) & (k <= KNOTS[-1])
    x = k[inside]
    spline = LSQUnivariateSpline(x, power[inside] * x**1.5, KNOTS[1:-1], w=np.sqrt(np.gradient(x)), k=3)
    smooth = power.copy()
    fitted = inside & (k >= LINEAR_BELOW)
    smooth[fitted] = spline(k[fitted]) / k[fitted] ** 1.5
    return smooth


def halo_power(model: Universe, fiducial: Array) -> Array:
    """The galaxies' power at `K`, the three samples together, scaled to today, before nuisance terms.

    Args:
        model: the cosmological model.
        fiducial: `3 x K`, halofit ratios of the fiducial one.
    """
    total = np.zeros_like(K)
    reference = int(np.argmax(K > 0.02))
    for i, ratio in enumerate(halofit_ratios(model)):
        power = model.power[i + 1]
        linear = np.exp(-0.5 * K**2 * SMEARING[i])
        smeared = power * linear + without_wiggles(K * model.h, power) * (1.0 - linear)
        growth = model.power[0, reference] / power[reference]
        total += SHARES[i] * growth * smeared * ratio / fiducial[i] * CORRECTIONS[i](K)
    return total


def halofit_ratios(model: Universe) -> list[Array]:
    """Of the smooth spectra at the three redshifts, each `K`."""
    return [
        halofit(K, without_wiggles(K * model.h, model.power[i]), model.omega_m[i], model.omega_v[i]) for i in (1, 2, 3)
    ]


def halofit(k: Array, power: Array, omega_m: float, omega_v: float) -> Array:
    """P_nonlinear / P_linear at each k, `K`; 1 where nothing is nonlinear yet, and an error where everything is.

    Smith et al. Stable clustering, the halo model and non-linear cosmological power spectra. MNRAS 2003.

    Args:
        k: `K`, rising, evenly spaced in ln k.
        power: linear P, `K`, in units of k⁻³.
        omega_m: matter density at the redshift of `power`, in units of the critical one there.
        omega_v: density of the cosmological constant, likewise.
    """
    delta = k**3 * power / (2 * np.pi**2)
    step = np.log(k[1] / k[0])

    def variance(ln_radius: float) -> tuple[float, float, float]:
        """Of the field smoothed by a Gaussian of this radius, with its first two derivatives in ln R."""
        x2 = np.square(k * np.exp(ln_radius))
        weight = step * delta * np.exp(-x2)
        return weight.sum(), -2 * (weight * x2).sum(), (weight * (4 * x2**2 - 4 * x2)).sum()

    if variance(LN_RADII[0])[0] <= 1.0:
        return np.ones_like(k)
    nonlinear = brentq(lambda ln_radius: np.log(variance(ln_radius)[0]), *LN_RADII, xtol=1e-10)
    total, first, second = variance(nonlinear)
    slope = -3.0 - first / total
    curvature = np.square(first / total) - second / total
    return _nonlinear(k * np.exp(nonlinear), delta, slope, curvature, omega_m, omega_v) / delta


def _nonlinear(y: Array, delta: Array, n: float, curvature: float, omega_m: float, omega_v: float) -> Array:
    """Δ² of the nonlinear field: quasi-linear and halo terms, equations C9 to C18. y is k over the nonlinear one."""
    a = 10 ** np.polyval([0.1670756, 0.7940, 1.67618, 1.83693, 1.4861 - 0.620695 * curvature], n)
    b = 10 ** np.polyval([0.3084, 0.9466, 0.9463 - 0.940 * curvature], n)
    c = 10 ** np.polyval([0.3214, 0.6669, -0.2807 - 0.0793 * curvature], n)
    gamma = 0.86485 + 0.2989 * n + 0.1631 * curvature
    alpha, beta = np.polyval([-0.1452, 0.3701, 1.38848], n), np.polyval([0.3400, 0.9854, 0.8291], n)
    mu, nu = 10 ** (-3.54419 + 0.19086 * n), 10 ** (0.95897 + 1.2857 * n)
    # Between the powers of Ω_m for open models and those for flat ones with a cosmological constant.
    flat = omega_v / (1.0 - omega_m)
    powers = ((-0.0732, -0.1423, 0.0725), (-0.0307, -0.0585, 0.0743))
    f1, f2, f3 = (
        flat * omega_m**closed + (1.0 - flat) * omega_m**opened for opened, closed in zip(*powers, strict=True)
    )
    quasi_linear = delta * (1 + delta) ** beta / (1 + alpha * delta) * np.exp(-y / 4 - y**2 / 8)
    halo = a * y ** (3 * f1) / (1 + b * y**f2 + (c * f3 * y) ** (3 - gamma))
    return quasi_linear + halo / (1 + mu / y + nu / y**2)


def fiducial_volume() -> float:
    """`Universe.volume` of the flat model with Ω_m = 0.25 in which the distances to the galaxies were computed."""

    def expansion(z: float) -> float:
        return np.sqrt(0.25 * (1.0 + z) ** 3 + 0.75)

    distance = 2997.92458 * quad(lambda z: 1.0 / expansion(z), 0.0, EFFECTIVE_REDSHIFT)[0]
    return distance**2 / expansion(EFFECTIVE_REDSHIFT)


def nuisance_grid() -> Array:
    """The terms a₁k + a₂k² that are allowed: at most 4 % below k = 0.1 h/Mpc and 10 % below 0.2. `325 x 2`."""
    first = 1.1482
    second = min(0.04 / 0.1**2 + first / 0.1, 0.1 / 0.2**2 + first / 0.2)
    steps = np.arange(-20, 21) / 20.0
    a1, a2 = (grid.ravel() for grid in np.meshgrid(first * steps, second * steps, indexing="ij"))
    with np.errstate(divide="ignore", invalid="ignore"):
        extremum = -a1 / (2.0 * a2)
    allowed = np.ones(len(a1), dtype=bool)
    for k, most in ((0.1, 0.04), (0.2, 0.10)):
        allowed &= np.abs(a1 * k + a2 * k**2) <= most * (1 + 1e-9)
        turns = (extremum > 0.0) & (extremum <= k)
        allowed &= ~(turns & (np.abs(0.5 * a1 * extremum) > most * (1 + 1e-9)))
    return np.column_stack([a1, a2])[allowed]


class Likelihood:
    """Of a model, given the measured band powers; the galaxies' bias and the nuisance terms are integrated out.

    Args:
        folder: with the files of the measurement.
        fiducial: the model of the halofit ratios that the corrections were made with.
    """

    def __init__(self, folder: str | Path, fiducial: Universe) -> None:
        files = Path(folder)

        def numbers(name: str, *shape: int) -> Array:
            return read(files / f"lrgdr7_{name}.txt", np.loadtxt, shape)

        self.k = numbers("kbands", BANDS)
        self.windows = numbers("windows", POINTS, BANDS)
        self.zero_window = numbers("zerowindowfxn", BANDS)
        norm, *subtracted = numbers("zerowindowfxnsubtractdat", POINTS + 1)
        self.measured = numbers("ccmeasurements", POINTS, 6)[:, 3]
        self.precision = numbers("invcov", POINTS, POINTS)
        if not np.allclose(self.precision, self.precision.T, rtol=1e-3):
            raise InputError(f"{files / 'lrgdr7_invcov.txt'} holds no symmetric matrix.")
        # What is measured is the power less that of the mean density, which is not known: linear in P as all the rest.
        self.response = self.windows - np.outer(subtracted, self.zero_window) / norm
        self.fiducial = np.array(halofit_ratios(fiducial))
        self.volume = fiducial_volume()
        self.nuisance = nuisance_grid()

    def chi_squares(self, model: Universe) -> tuple[Array, Array]:
        """For every nuisance term χ² at the best bias, and −2 ln of the likelihood with the bias integrated out."""
        scale = np.cbrt(self.volume / model.volume)
        k = scale * self.k
        power = CubicSpline(np.log(K), halo_power(model, self.fiducial))(np.log(k)) / scale**3
        terms = self.response @ np.column_stack([power, power * k, power * k**2])
        theory = terms[:, :1] + terms[:, 1:] @ self.nuisance.T
        weighted = self.precision @ theory
        data = self.measured @ self.precision @ self.measured
        cross, square = self.measured @ weighted, (theory * weighted).sum(0)
        chi_square = data - cross**2 / square
        marginal = chi_square + np.log(square) - 2.0 * np.log1p(erf(cross / (2.0 * np.sqrt(square))))
        return chi_square, marginal

    def __call__(self, model: Universe) -> float:
        """−ln L."""
        _, marginal = self.chi_squares(model)
        return float(np.log(len(marginal)) - logsumexp(-0.5 * marginal))


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
