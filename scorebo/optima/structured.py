"""Structured orthogonal frequencies for many dimensions: phases at a point cost F log D instead of F·D.

Yu et al. 2016, Orthogonal random features; the transforms are in `_structured`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from scorebo.gp import Kernel
from scorebo.gp.kernels import strictly_inside
from scorebo.optima._structured import SHARED, dense
from scorebo.seeds import generator

# Up to this dimension quasi-random frequencies have the smaller error, and matrix products cost little more.
DENSE_DIM = 64

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Structure:
    """What the frequencies of every hyperparameter sample are products of, as in `_structured`.

    Args:
        signs: `M x (SHARED + B) x P`.
        radii: `M x B x P`, zero after the last of the F frequencies.
    """

    signs: Tensor
    radii: Tensor

    def frequencies(self, lengthscale: Tensor, count: int) -> Tensor:
        """The frequencies themselves, `M x F x D`, those of each dimension contiguous."""
        omega = np.empty((*lengthscale.shape, count))
        dense(self.signs.numpy(), self.radii.numpy(), lengthscale.reciprocal().numpy(), omega)
        return torch.from_numpy(omega).mT

    def of_samples(self, keep: slice) -> Structure:
        """That of some of the samples."""
        return Structure(self.signs[keep], self.radii[keep])

    def of_sample(
        self, m: int, lengthscale: Tensor, cosine_weights: Tensor, sine_weights: Tensor, dtype: DTypeLike
    ) -> Arrays:
        """What `add_structured_waves` wants of sample m: lengthscales `M x D`, weights `N x M x F`."""
        weights = np.zeros((2, self.radii[m].numel(), len(cosine_weights)), dtype)
        weights[:, : cosine_weights.shape[2]] = torch.stack([cosine_weights[:, m].T, sine_weights[:, m].T])
        rest = (self.signs[m], self.radii[m], lengthscale[m].reciprocal())
        return *(part.numpy().astype(dtype) for part in rest), *weights


def no_structure(dtype: DTypeLike) -> Arrays:
    """What `add_structured_waves` wants where there is none."""
    rows = np.empty((0, 0), dtype)
    return rows, rows, np.empty(0, dtype), rows, rows


def draw_structure(kernel: Kernel, num_mcmc_samples: int, dim: int, count: int, seed: int) -> Structure | None:
    """Draw the structure of `count` frequencies for each sample; None where dense ones are cheaper or none other known.

    The directions of a block are orthogonal, their lengths those of normal vectors. Frequencies of a kernel are such
    vectors times a random scale: stratified, and in order, so that a block has nearly one scale, over which
    orthogonality cancels errors.
    """
    size = 1 << (dim - 1).bit_length()
    if dim <= DENSE_DIM or count < size or kernel.compiled is None:
        return None
    random = generator("paths", seed, "structure")
    number = -(-count // size)
    signs = 1.0 - 2.0 * random.integers(2, size=(num_mcmc_samples, SHARED + number, size))
    uniform = (np.arange(count) + random.random((num_mcmc_samples, count))) / count
    scale = kernel.radial_scale(strictly_inside(torch.from_numpy(uniform))).numpy()
    radii = np.zeros((num_mcmc_samples, number * size))
    length = np.sqrt(random.chisquare(size, (num_mcmc_samples, count)))
    radii[:, :count] = scale * length / np.sqrt(size) ** (SHARED + 1)
    return Structure(torch.from_numpy(signs), torch.from_numpy(radii.reshape(num_mcmc_samples, number, size)))
