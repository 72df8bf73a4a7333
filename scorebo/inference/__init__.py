"""How θ is drawn: NUTS, Pyro as the reference, the posterior's maximum; and the diagnostics kept with every fit."""

from scorebo.inference.diagnostics import Diagnostics
from scorebo.inference.fit import fit_gp

__all__ = ["Diagnostics", "fit_gp"]
