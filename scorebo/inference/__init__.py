"""How θ is drawn: NUTS, sets carried from fit to fit, Pyro as the reference, the maximum; and their diagnostics."""

from scorebo.gp.diagnostics import Diagnostics
from scorebo.inference.fit import Carry, fit_gp

__all__ = ["Carry", "Diagnostics", "fit_gp"]
