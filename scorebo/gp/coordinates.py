"""From beliefs to coordinates: what is sampled, and how the parameters of a GP follow from it.

The parameters are D log lengthscales, log outputscale, log noise variance and mean, in this order. They are a linear
function of the coordinates: each coordinate has a prior of its own and shifts a run of parameters by a multiple of
itself. One parameter with one prior is the simplest case.
"""

from __future__ import annotations

from dataclasses import dataclass

from scorebo.errors import InputError
from scorebo.gp.priors import Prior


@dataclass(frozen=True)
class Coordinate:
    """One unconstrained coordinate u: the logarithm of a quantity with a positive prior, or that quantity itself.

    Args:
        name: what it is.
        prior: of the quantity.
        first: the first parameter it shifts.
        last: the one after the last it shifts.
        weight: by which multiple of u.
    """

    name: str
    prior: Prior
    first: int
    last: int
    weight: float = 1.0

    def row(self) -> tuple[float, ...]:
        """As the compiled density takes it: form, a, b, constant, first, last, weight."""
        return *self.prior.unconstrained, self.first, self.last, self.weight


@dataclass(frozen=True)
class SparseLengthscales:
    """Sparse axis-aligned subspaces: 1/ℓ_d² = τ² κ_d², so that few dimensions matter unless the data say so.

    The coordinates are the logarithms of τ² and of each κ², in which half-Cauchy priors are hyperbolic
    secants: smooth, with tails no heavier than exponential. Log lengthscales in their place would be tied to τ²
    by D priors at once; these are tied to it by the data alone, and only where a dimension matters.

    Eriksson, Jankowiak. High-dimensional Bayesian optimization with sparse axis-aligned subspaces. UAI 2021.

    Args:
        global_shrinkage: prior of τ², how much the dimensions matter on the whole.
        local_shrinkage: prior of κ², how much each one matters.
    """

    global_shrinkage: Prior
    local_shrinkage: Prior

    def __post_init__(self) -> None:
        for name in ("global_shrinkage", "local_shrinkage"):
            prior = getattr(self, name)
            if not (isinstance(prior, Prior) and prior.positive):
                raise InputError(f"{name} of SparseLengthscales must be a positive prior, got {prior!r}.")

    def coordinates(self, dim: int) -> list[Coordinate]:
        """One for each of `dim` dimensions, then the global one."""
        local = [Coordinate(f"log local precision {d + 1}", self.local_shrinkage, d, d + 1, -0.5) for d in range(dim)]
        return [*local, Coordinate("log global precision", self.global_shrinkage, 0, dim, -0.5)]
