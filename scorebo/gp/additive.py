"""Sums of covariances, each of a group of the inputs: functions that are sums of functions of few inputs.

Every hyperparameter set has a partition of the inputs of its own. To the compiled code a set of G groups is G sets, in
which the inputs of other groups have an infinite lengthscale.

Duvenaud, Nickisch, Rasmussen. Additive Gaussian processes. NeurIPS 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from scorebo._numba._outside import OutsideFunction
from scorebo.errors import InputError
from scorebo.gp.kernels import Array, Kernel, scaled_differences


@dataclass(frozen=True)
class Additive(Kernel):
    """k_m(x, x') = outputscale_m · Σ over the groups of set m of the base's correlation in the inputs of the group.

    Args:
        base: the kernel of one group.
        partitions: M label vectors of D whole numbers from 1; inputs with the same label are a group. A label that is
            not used is no group: an empty group adds nothing.
    """

    base: Kernel
    partitions: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.partitions or not self.partitions[0] or len({len(labels) for labels in self.partitions}) != 1:
            raise InputError("An additive kernel needs a label vector for each set, one label for each input.")
        for labels in self.partitions:
            if any(isinstance(label, bool) or not isinstance(label, int) or label < 1 for label in labels):
                raise InputError(f"The labels of a partition are whole numbers from 1, got {list(labels)}.")

    @property
    def outside(self) -> OutsideFunction | None:
        """The base's."""
        return self.base.outside

    @property
    def code(self) -> int:
        """The base's."""
        return self.base.code

    @cached_property
    def members(self) -> Tensor:
        """Whether an input belongs to a group: `M x G x D`, G the most groups of a set; further rows are empty."""
        rows = [[[label == own for label in labels] for own in sorted(set(labels))] for labels in self.partitions]
        most = max(len(groups) for groups in rows)
        empty = [False] * len(self.partitions[0])
        return torch.tensor([groups + [empty] * (most - len(groups)) for groups in rows])

    @cached_property
    def is_group(self) -> Tensor:
        """Which groups there are: `M x G`."""
        return self.members.any(dim=-1)

    def check_samples(self, num_mcmc_samples: int, dim: int) -> None:
        if self.members.shape[0] != num_mcmc_samples or self.members.shape[2] != dim:
            raise InputError(
                f"An additive kernel with partitions of {self.members.shape[2]} inputs for {self.members.shape[0]} "
                f"sets does not fit {num_mcmc_samples} sets of {dim} lengthscales."
            )

    def of_set(self, m: int) -> Additive:
        return Additive(self.base, self.partitions[m : m + 1])

    def structure(self) -> dict[str, list[list[int]]]:
        return {"group": [list(labels) for labels in self.partitions]}

    def prior_variance(self, outputscale: Tensor) -> Tensor:
        return outputscale * self.is_group.sum(dim=-1)

    def correlation(self, squared_distance: Tensor) -> Tensor:
        raise InputError("The correlation under an additive kernel is no function of one distance.")

    def _widened(self, lengthscale: Tensor, outputscale: Tensor) -> tuple[Tensor, Tensor]:
        """Lengthscales `MG x D` and outputscales `MG` of all groups; those there are not have no variance."""
        self.check_samples(*lengthscale.shape)
        infinite = torch.full((), torch.inf, dtype=lengthscale.dtype)
        own = torch.where(self.members, lengthscale.unsqueeze(1), infinite)
        return own.flatten(0, 1), (outputscale.unsqueeze(-1) * self.is_group).flatten()

    def _each_group(self, weight: Tensor, dim: int) -> Tensor:
        return weight.repeat_interleave(self.members.shape[1], dim=dim)

    def __call__(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        parts = self.base(X1, X2, *self._widened(lengthscale, outputscale))
        return parts.unflatten(-3, self.is_group.shape).sum(dim=-3)

    def combine_with_gradient(
        self, X: Tensor, centers: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor, *, wanted: bool
    ) -> tuple[Tensor, Tensor]:
        wide = self._widened(lengthscale, outputscale)
        return self.base.combine_with_gradient(X, centers, *wide, self._each_group(weight, 0), wanted=wanted)

    def paired(self, X: Tensor, Z: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        squares = scaled_differences(X, Z, lengthscale).square() @ self.members.mT.to(X)  # N x M x b x G
        correlation = self.base.correlation(squares) * self.is_group.unsqueeze(-2)
        return outputscale[:, None] * correlation.sum(dim=-1)

    def fill_upper_triangle(self, X: Array, lengthscale: Array, outputscale: float, result: Array) -> None:
        part = np.empty_like(result)
        result[:] = 0.0
        scale = torch.tensor([outputscale], dtype=torch.float64)
        for own, of_group in zip(*self._widened(torch.from_numpy(lengthscale), scale), strict=True):
            self.base.fill_upper_triangle(X, own.unsqueeze(0).numpy(), float(of_group), part)
            result += np.triu(part)

    def pull(self, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor, weight: Tensor) -> Tensor:
        wide = self._widened(lengthscale, outputscale)
        return self.base.pull(X1, X2, *wide, self._each_group(weight, -3))

    def frequencies(self, uniform: Tensor) -> Tensor:
        """Each wave is one of a single group; the groups take as many as each other, one after the other.

        Args:
            uniform: `M x F x D + 1`.

        Returns:
            `M x F x D`, 0 for the inputs of other groups.
        """
        owner = self._owners(uniform.shape[-2])
        member = self.members.gather(1, owner.unsqueeze(-1).expand(-1, -1, self.members.shape[2]))
        return self.base.frequencies(uniform) * member

    def wave_shares(self, count: int) -> Tensor:
        owner = self._owners(count)
        sizes = torch.zeros(self.is_group.shape, dtype=torch.float64).scatter_add_(
            1, owner, torch.ones(owner.shape, dtype=torch.float64)
        )
        return 1.0 / sizes.gather(1, owner)

    def _owners(self, count: int) -> Tensor:
        """The group of every wave: `M x count`."""
        groups = self.is_group.sum(dim=-1, keepdim=True)
        if count < int(groups.max()):
            raise InputError(f"{int(groups.max())} groups need as many frequencies at least, got {count}.")
        return (torch.arange(count) * groups) // count

    def precisions(self, lengthscale: Tensor) -> Tensor:
        own = self.members * lengthscale.pow(-2).unsqueeze(1)
        return own.masked_fill(~self.is_group.unsqueeze(-1), torch.nan)
