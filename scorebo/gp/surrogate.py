"""A surrogate: which kernel, what is believed about each hyperparameter before any data, and what is sampled of it.

The parameters of a GP are D log lengthscales, log outputscale, log noise variance and mean, in this order. They are a
linear function of the coordinates that are sampled: each coordinate has a prior of its own and shifts a run of
parameters by a multiple of itself. One parameter with one prior is the simplest case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scorebo.errors import InputError, check_choice, check_number
from scorebo.gp.kernels import Kernel, as_kernel
from scorebo.gp.partitions import Partitions
from scorebo.gp.priors import Prior

Belief = Prior | float


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


@dataclass(frozen=True)
class Surrogate:
    """Kernel and beliefs; a belief is a prior (the parameter is inferred) or a number (the parameter is known).

    Args:
        name: the config's name.
        kernel: a kernel, its class or its short name.
        lengthscale: one belief for every dimension, one known value per dimension, or a prior of all of them together.
        outputscale: belief about the signal variance.
        noise: belief about the noise variance.
        mean: belief about the constant mean.
        noise_floor: added to the noise variance in the density and in prediction.
        estimate: "posterior" draws sets from the posterior, "map" takes its maximum.
        noise_lower_bound: lower bound of the noise variance when it is maximized (`estimate="map"`).
        standardize: whether a run standardizes the outputs before every fit.
        yeo_johnson: whether a run transforms the outputs by Yeo and Johnson's power transform before that.
        concentration: prior of c₀ and c₁ of every input where inputs are warped by 1 − (1 − x^c₁)^c₀, or None.
        partitions: what is known of the groups of inputs whose covariances are added; None: one covariance of all. The
            groups are drawn, and the hyperparameters are the posterior's maximum given them.
    """

    name: str
    kernel: Kernel | str
    lengthscale: Belief | SparseLengthscales | Sequence[float]
    outputscale: Belief
    noise: Belief
    mean: Belief
    noise_floor: float = 1e-6
    estimate: str = "posterior"
    noise_lower_bound: float = 1e-4
    standardize: bool = True
    yeo_johnson: bool = False
    concentration: Prior | None = None
    partitions: Partitions | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        check_choice("estimate", self.estimate, ("posterior", "map"))
        check_number("noise_floor", self.noise_floor, 0.0)
        check_number("noise_lower_bound", self.noise_lower_bound, 0.0)
        for switch in ("standardize", "yeo_johnson"):
            if not isinstance(getattr(self, switch), bool):
                raise InputError(
                    f"{switch} of model '{self.name}' must be true or false, got {getattr(self, switch)!r}."
                )
        if self.yeo_johnson and not self.standardize:
            raise InputError(f"Model '{self.name}' transforms the outputs: they must be standardized too.")
        for name, kind, what in (("concentration", Prior, "a prior"), ("partitions", Partitions, "Partitions")):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InputError(f"{name} of model '{self.name}' must be {what} or null, got {value!r}.")
        if self.partitions is not None and self.concentration is not None:
            raise InputError(f"Model '{self.name}' cannot have both partitions and warped inputs.")
        if self.concentration is not None:
            self._check_belief("concentration", minimum=0.0, exclusive=True)
        self._check_belief("lengthscale", minimum=0.0, exclusive=True)
        self._check_belief("outputscale", minimum=0.0, exclusive=True)
        self._check_belief("noise", minimum=0.0)
        self._check_belief("mean", minimum=-math.inf, exclusive=True)
        # What comes from outside the package is checked where it is first asked for: here, before any observation.
        _ = as_kernel(self.kernel).code, [coordinate.row() for coordinate in self.coordinates(1)]

    def _check_belief(self, name: str, *, minimum: float, exclusive: bool = False) -> None:
        belief = getattr(self, name)
        if name == "lengthscale" and isinstance(belief, SparseLengthscales):
            return
        if isinstance(belief, Prior):
            if belief.positive and name == "mean":
                raise InputError(f"mean of model '{self.name}' may be negative: its prior must be too, as Normal is.")
            if not belief.positive and name != "mean":
                raise InputError(
                    f"{name} of model '{self.name}' is positive: its prior must be too, as LogNormal, Gamma and "
                    "HalfCauchy are."
                )
            return
        # Only lengthscales may be known one by one.
        values = list(belief) if name == "lengthscale" and isinstance(belief, Sequence | np.ndarray) else [belief]
        for value in values:
            check_number(f"{name} of model '{self.name}', where it is no prior,", value, minimum, exclusive=exclusive)

    def check_dim(self, dim: int) -> None:
        """Refuse a task with `dim` inputs if the model is none of so many; before the first, costly observation."""
        if isinstance(self.lengthscale, Sequence | np.ndarray) and len(self.lengthscale) != dim:
            raise InputError(
                f"Model '{self.name}' has {len(self.lengthscale)} lengthscales for {dim} input dimensions."
            )
        if self.partitions is not None and self.partitions.max_groups > dim:
            raise InputError(
                f"max_groups, the most groups of a partition, must be at most the number of inputs, {dim}; "
                f"got {self.partitions.max_groups}."
            )

    @property
    def is_known(self) -> bool:
        """Whether nothing is left to infer."""
        beliefs = (self.lengthscale, self.outputscale, self.noise, self.mean, self.concentration)
        return self.partitions is None and not any(isinstance(belief, Prior | SparseLengthscales) for belief in beliefs)

    def coordinates(self, dim: int) -> list[Coordinate]:
        """What is sampled: the coordinates of the lengthscales, then log outputscale, log noise variance and mean.

        Where inputs are warped, log c₀ of every input and then log c₁ follow.
        """
        found: list[Coordinate] = []
        if isinstance(self.lengthscale, SparseLengthscales):
            found += self.lengthscale.coordinates(dim)
        elif isinstance(self.lengthscale, Prior):
            found += [Coordinate(f"log lengthscale {d + 1}", self.lengthscale, d, d + 1) for d in range(dim)]
        for position, name in enumerate(("outputscale", "noise", "mean"), start=dim):
            belief = getattr(self, name)
            if isinstance(belief, Prior):
                found.append(Coordinate(name if name == "mean" else f"log {name}", belief, position, position + 1))
        if self.concentration is not None:
            names = [f"log concentration{which} {d + 1}" for which in (0, 1) for d in range(dim)]
            found += [Coordinate(n, self.concentration, i, i + 1) for i, n in enumerate(names, start=dim + 3)]
        return found

    def known_parameters(self, dim: int) -> np.ndarray:
        """The parameters where all coordinates are 0: what is known, 0 for the others.

        `D + 3` in the order of `coordinates`, or `3D + 3` where inputs are warped.
        """
        self.check_dim(dim)
        if isinstance(self.lengthscale, Prior | SparseLengthscales):
            values = [1.0] * dim
        elif isinstance(self.lengthscale, float | int):
            values = [float(self.lengthscale)] * dim
        else:
            values = [float(value) for value in self.lengthscale]
        values += [1.0 if isinstance(belief, Prior) else float(belief) for belief in (self.outputscale, self.noise)]
        mean = 0.0 if isinstance(self.mean, Prior) else float(self.mean)
        with np.errstate(divide="ignore"):  # a noise variance known to be 0 is −inf here and 0 again in the density
            known = np.append(np.log(values), mean)
        return known if self.concentration is None else np.append(known, np.zeros(2 * dim))
