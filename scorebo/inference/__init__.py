"""How θ is drawn: NUTS, sets carried from fit to fit, Pyro as the reference, the posterior's maximum; and the diagnostics kept with every fit."""

from scorebo.inference.diagnostics import Diagnostics
from scorebo.inference.fit import Carry, fit_gp

__all__ = ["Carry", "Diagnostics", "fit_gp"]
