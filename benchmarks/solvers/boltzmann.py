"""Linear matter power spectra and distances by CAMB.

Lewis, Challinor, Lasenby. Efficient computation of CMB anisotropies in closed FRW models. ApJ 2000.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from scorebo.errors import InputError

Array = np.ndarray
REDSHIFTS = (0.0, 0.235, 0.342, 0.421)  # today, and those of the NEAR, MID and FAR galaxies
EFFECTIVE_REDSHIFT = 0.312782
# In h/Mpc: evenly spaced in ln k. CAMB computes up to K_MAX (per Mpc), beyond which P is a power of k.
K = np.geomspace(1e-4, 30.0, 1200)
K_MAX = 1.0
# Of CAMB's own number of wavenumbers, each of which takes as long as any other. −ln L moves by 0.001 where it is low
# (24) and by up to 0.1 at random points (170).
WAVENUMBERS = 0.6


@dataclass(frozen=True)
class Universe:
    """What the likelihood needs of a cosmological model.

    Args:
        h: the Hubble constant in units of 100 km/s/Mpc.
        power: `4 x K`, P at the redshifts, in (Mpc/h)³ at `K`.
        omega_m: `4`, the density of matter at the redshifts, in units of the critical one there.
        omega_v: `4`, that of the cosmological constant.
        volume: (1+z)²D_A²/E at the effective redshift, D_A in Mpc/h: its cube root scales lengths.
    """

    h: float
    power: Array
    omega_m: Array
    omega_v: Array
    volume: float


def universe(
    ombh2: float,
    omch2: float,
    omk: float,
    hubble: float,
    temperature: float,
    helium: float,
    neutrinos: float,
    amplitude: float,
    spectral_index: float,
    fudge: float,
    helium_fudge: float,
) -> Universe:
    """The model with these constants; neutrinos are massless, the fudge factors those of RECFAST."""
    import camb  # here, and not where the parent process would load it too

    parameters = camb.CAMBparams(WantCls=False, WantTransfer=True)
    parameters.set_cosmology(
        H0=hubble,
        ombh2=ombh2,
        omch2=omch2,
        omk=omk,
        TCMB=temperature,
        YHe=helium,
        nnu=neutrinos,
        num_massive_neutrinos=0,
        mnu=0.0,
    )
    parameters.Recomb.RECFAST_fudge = fudge
    parameters.Recomb.RECFAST_fudge_He = helium_fudge
    parameters.InitPower.set_params(As=amplitude, ns=spectral_index)
    parameters.set_matter_power(redshifts=REDSHIFTS, kmax=K_MAX, silent=True)
    parameters.Accuracy.TransferkBoost = WAVENUMBERS
    results = camb.get_results(parameters)
    k, redshifts, power = results.get_linear_matter_power_spectrum(hubble_units=True, k_hunit=True)
    order = np.argsort(redshifts)
    h = hubble / 100.0
    expansion = np.array([results.hubble_parameter(z) for z in (*REDSHIFTS, EFFECTIVE_REDSHIFT)]) / hubble
    cube = (1.0 + np.array(REDSHIFTS)) ** 3
    square = expansion[:4] ** 2
    distance = (1.0 + EFFECTIVE_REDSHIFT) * results.angular_diameter_distance(EFFECTIVE_REDSHIFT) * h
    return Universe(
        h=h,
        power=np.array([interpolated(k, power[i]) for i in order]),
        omega_m=(ombh2 + omch2) / h**2 * cube / square,
        omega_v=results.get_Omega("de") / square,
        volume=distance**2 / expansion[4],
    )


def check_version() -> None:
    """Refuse a CAMB that is not of the extra's versions: later ones fail at most points, which would score 300."""
    import camb

    if not (1, 5, 9) <= tuple(int(part) for part in re.findall(r"\d+", camb.__version__)[:3]) < (2,):
        raise InputError(
            f"CAMB {camb.__version__} is installed, the task needs camb>=1.5.9,<2: pip install 'scorebo[cosmology]'."
        )


def interpolated(k: Array, power: Array) -> Array:
    """P at `K`, by a cubic spline in ln k and ln P that goes on as a straight line at both ends."""
    x, y = np.log(k), np.log(power)
    inside = CubicSpline(x, y)
    at = np.log(K)
    low, high = (y[0] - y[1]) / (x[0] - x[1]), (y[-1] - y[-2]) / (x[-1] - x[-2])
    ends = np.where(at < x[0], y[0] + low * (at - x[0]), y[-1] + high * (at - x[-1]))
    return np.exp(np.where((at < x[0]) | (at > x[-1]), ends, inside(np.clip(at, x[0], x[-1]))))
