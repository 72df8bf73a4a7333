"""What a kernel that is built on another must give, from its covariance as it is defined: X1, X2 -> `M x n1 x n2`."""

import numpy as np
import torch


def check_combination(kernel, X, centers, lengthscale, outputscale, definition):
    """Weighted sums over sets and centers."""
    weight = torch.randn(len(lengthscale), len(centers), dtype=torch.float64)
    expected = torch.einsum("mbn,mn->b", definition(X, centers), weight)
    combined = kernel.combine(X, centers, lengthscale, outputscale, weight)
    torch.testing.assert_close(combined, expected, rtol=1e-11, atol=1e-13)


def check_triangle(kernel, X, lengthscale, outputscale, definition, rtol):
    """The upper triangle under one set, filled into an array."""
    triangle, result = np.triu_indices(len(X)), np.full((len(X), len(X)), np.nan)
    kernel.of_set(1).fill_upper_triangle(X.numpy(), lengthscale[1:2].numpy(), float(outputscale[1]), result)
    np.testing.assert_allclose(result[triangle], definition(X, X)[1].numpy()[triangle], rtol=rtol)


def check_pairs(kernel, X, Z, lengthscale, outputscale, definition, rtol, atol):
    """Points with points of each set's own, Z `N x M x D`."""
    pairs = kernel.paired(X, Z, lengthscale, outputscale)
    for m in range(len(lengthscale)):
        torch.testing.assert_close(pairs[:, m], definition(Z[:, m], X)[m], rtol=rtol, atol=atol)
