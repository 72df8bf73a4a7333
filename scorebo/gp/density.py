"""The log density of θ in unconstrained coordinates: written once, used by every sampler."""

from __future__ import annotations

import math

import numpy as np
import torch

from scorebo.errors import InputError
from scorebo.gp import _callback, _compiled
from scorebo.gp.kernels import Kernel, as_kernel
from scorebo.gp.surrogate import Surrogate
from scorebo.gp.warping import Warped, inside


class LogDensity:
    """log p(θ | X, y) up to the evidence, with its closed-form gradient, for the free coordinates of a surrogate.

    θ holds the surrogate's coordinates: those of the lengthscales, log outputscale, log noise variance, mean and log
    concentrations, in this order and where they are not known.

    Args:
        X: `n x D`.
        y: `n`.
        surrogate: kernel and beliefs.
        of_logarithms: whether the density is that of the logarithms of the positive quantities (for sampling) or
            that of the quantities themselves (whose maximum is the MAP estimate; no Jacobian).
        noise_floor: added to the noise variance; the surrogate's by default.
        labels: `D`, the group of each input where covariances of groups are added; one group by default.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        surrogate: Surrogate,
        *,
        of_logarithms: bool = True,
        noise_floor: float | None = None,
        labels: np.ndarray | None = None,
    ) -> None:
        self.X, self.y, self.surrogate = X, y, surrogate
        self.noise_floor = surrogate.noise_floor if noise_floor is None else noise_floor
        self.dim_inputs = X.shape[1]
        self.coordinates = surrogate.coordinates(self.dim_inputs)
        self.evaluations = 0
        kernel = as_kernel(surrogate.kernel)
        self._positive = np.array([coordinate.prior.positive for coordinate in self.coordinates], dtype=bool)
        # The density of v = eᵘ is that of u divided by v: its logarithm falls by one u for each positive quantity.
        self._jacobian = None if of_logarithms else self._positive.astype(np.float64)
        # The parameter that a coordinate shifts, the first of them where it shifts several.
        self._shifts = np.array([coordinate.first for coordinate in self.coordinates], dtype=np.int64)
        groups = np.zeros(self.dim_inputs, np.int64) if labels is None else np.unique(labels, return_inverse=True)[1]
        if surrogate.concentration is None:
            points = np.ascontiguousarray(X - X.mean(axis=0), dtype=np.float64)
            squares = _compiled.pack_squares(points)
        else:  # every θ has its own distances
            points, squares = np.log(inside(np.ascontiguousarray(X, dtype=np.float64))), np.empty((0, 0))
        table = [coordinate.row() for coordinate in self.coordinates]
        outside = [kernel.outside, *(coordinate.prior.outside for coordinate in self.coordinates)]
        self._outside = {function for function in outside if function is not None}
        self._arguments = (
            kernel.code,
            points,
            squares,
            np.ascontiguousarray(y, dtype=np.float64),
            surrogate.known_parameters(self.dim_inputs),
            np.array(table, dtype=np.float64).reshape(-1, _callback.COLUMNS),
            groups,
            self.noise_floor,
        )

    @property
    def dim(self) -> int:
        """Number of free coordinates."""
        return len(self.coordinates)

    @property
    def names(self) -> list[str]:
        """What each coordinate of θ is."""
        return [coordinate.name for coordinate in self.coordinates]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at θ; −inf and a zero gradient where the covariance is not positive definite."""
        self.evaluations += 1
        value, gradient = _compiled.log_density(*self._arguments, theta)
        self.raise_error()
        if self._jacobian is not None:
            value, gradient = value - float(self._jacobian @ theta), gradient - self._jacobian
        return value, gradient

    def raise_error(self) -> None:
        """Raise what a kernel or prior from outside the package raised when compiled code called it."""
        for function in self._outside:
            function.raise_error()

    def packed(self) -> np.ndarray:
        """All that `_callback.evaluate` needs of a density of logarithms, in one block of memory."""
        if self._jacobian is not None:
            raise InputError("Only the density of the logarithms is sampled from.")
        return _callback.pack(*self._arguments)

    def batch(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values `M` and gradients `M x dim` at the rows of θ `M x dim`, in one call; as `__call__` for each row."""
        self.evaluations += len(thetas)
        values, gradients = _compiled.log_densities(*self._arguments, np.ascontiguousarray(thetas))
        self.raise_error()
        if self._jacobian is not None:
            values, gradients = values - thetas @ self._jacobian, gradients - self._jacobian
        return values, gradients

    def log_likelihood(self, theta: np.ndarray) -> float:
        """Log p(y | X, θ): the density without the priors."""
        table = self._arguments[5]
        prior = sum(_compiled.log_priors(table, theta)[0] + table[:, 3])
        value, _ = _compiled.log_density(*self._arguments, theta)
        self.raise_error()
        return float(value - prior)

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """`size x dim` draws of θ from the prior."""
        columns = [coordinate.prior.sample(rng, size) for coordinate in self.coordinates]
        theta = np.stack(columns, axis=1) if columns else np.empty((size, 0))
        theta[:, self._positive] = np.log(theta[:, self._positive])
        return theta

    def rescale(self, theta: np.ndarray, slope: float, shift: float) -> np.ndarray:
        """θ `M x dim` of the same functions after every output y has become slope·y + shift, with a positive slope."""
        rescaled = theta.copy()
        variances = (self._shifts == self.dim_inputs) | (self._shifts == self.dim_inputs + 1)
        mean = self._shifts == self.dim_inputs + 2
        rescaled[:, variances] += 2.0 * math.log(slope)
        rescaled[:, mean] = slope * rescaled[:, mean] + shift
        return rescaled

    def bounds(self, noise_lower_bound: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on θ for a maximizer: the noise variance at least `noise_lower_bound`, scales within e^±20."""
        low, high = np.where(self._positive, -20.0, -np.inf), np.where(self._positive, 20.0, np.inf)
        if noise_lower_bound > 0:
            low[self._shifts == self.dim_inputs + 1] = math.log(noise_lower_bound)
        return low, high

    def constrain(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """The hyperparameters of `M x dim` coordinates: lengthscale `M x D`, outputscale, noise and mean `M`."""
        d, full = self.dim_inputs, self._parameters(theta)
        return {
            "lengthscale": np.exp(full[:, :d]),
            "outputscale": np.exp(full[:, d]),
            "noise": np.exp(full[:, d + 1]),
            "mean": full[:, d + 2],
        }

    def kernel(self, theta: np.ndarray) -> Kernel:
        """The kernel of the sets `M x dim`, with what it has of its own for each."""
        base = as_kernel(self.surrogate.kernel)
        if self.surrogate.concentration is None:
            return base
        concentrations = torch.from_numpy(np.exp(self._parameters(theta)[:, self.dim_inputs + 3 :]))
        return Warped(base, *concentrations.split(self.dim_inputs, dim=-1))

    def _parameters(self, theta: np.ndarray) -> np.ndarray:
        full = np.tile(self.surrogate.known_parameters(self.dim_inputs), (len(theta), 1))
        for u, coordinate in zip(theta.T, self.coordinates, strict=True):
            full[:, coordinate.first : coordinate.last] += coordinate.weight * u[:, None]
        return full
