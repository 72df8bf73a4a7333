"""Nonlinear over linear power by halofit, for any linear spectrum.

Smith et al. Stable clustering, the halo model and non-linear cosmological power spectra. MNRAS 2003.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

Array = np.ndarray
# ln R, in units of the inverse of k, between which the nonlinear scale is looked for.
LN_RADII = (np.log(1e-3), np.log(1e2))


def ratio(k: Array, power: Array, omega_m: float, omega_v: float) -> Array:
    """P_nonlinear / P_linear at each k, `K`; 1 where nothing is nonlinear yet, and an error where everything is.

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
