"""The compiled covariances as a function of tensors, differentiable by the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from scorebo.errors import InputError
from scorebo.gp import _covariances

if TYPE_CHECKING:
    from scorebo.gp.kernels import Kernel


class Arguments(NamedTuple):
    """What the compiled code takes: the arguments of a kernel as arrays, with all batches in one dimension."""

    arrays: tuple[Any, ...]
    batch: torch.Size
    shape1: torch.Size
    shape2: torch.Size

    @classmethod
    def of(cls, kernel: int | None, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Arguments:
        """From tensors as a kernel takes them."""
        batch = X1.shape[:-2]
        if X2.ndim > 2 and X2.shape[:-2] != batch:
            batch = torch.broadcast_shapes(batch, X2.shape[:-2])
        left = X1.detach().expand(*batch, *X1.shape[-2:]).reshape(-1, *X1.shape[-2:])
        right = X2.detach() if X2.ndim == 2 else X2.detach().expand(*batch, *X2.shape[-2:])
        arrays = (
            kernel,
            left.contiguous().numpy(),
            right.reshape(-1, *X2.shape[-2:]).contiguous().numpy(),
            lengthscale.detach().pow(-2).contiguous().numpy(),
            outputscale.detach().contiguous().numpy(),
        )
        return cls(arrays, batch, X1.shape, X2.shape)

    def covariances(self) -> Tensor:
        """`batch x M x n1 x n2`."""
        values = _covariances.covariances(*self.arrays)
        return torch.from_numpy(values.reshape(*self.batch, *values.shape[1:]))

    def pull(self, weight: Tensor, by_second: bool = False) -> tuple[Tensor, Tensor | None]:
        """The derivatives of Σ weight·covariance by X1 and, if wanted, by X2."""
        right = self.arrays[2]
        by_X2 = np.zeros_like(right if by_second else right[:0])
        weights = weight.reshape(-1, *weight.shape[-3:]).contiguous().numpy()
        by_X1 = torch.from_numpy(_covariances.covariances_gradient(*self.arrays, weights, by_X2))
        # The derivatives by a point that serves several batches add up.
        first = by_X1.reshape(*self.batch, *self.shape1[-2:]).sum_to_size(self.shape1)
        return first, torch.from_numpy(by_X2).reshape(self.shape2) if by_second else None

    def combine(self, weight: Tensor, wanted: bool) -> tuple[Tensor, Tensor]:
        """Σ weight·covariance of one batch, `b`, and its derivatives by X1, `b x D` (empty unless wanted)."""
        kernel, points, centers, *scales = self.arrays
        gradient = np.zeros_like(points[0] if wanted else points[0, :0])
        value = _covariances.combine(kernel, points[0], centers[0], *scales, weight.contiguous().numpy(), gradient)
        return torch.from_numpy(value), torch.from_numpy(gradient)


class Radial(torch.autograd.Function):
    """The correlation of a kernel or a derivative of it by r², of order 0 to 2, from its `radial`."""

    @staticmethod
    def forward(context: Any, kernel: Kernel, squared_distance: Tensor, order: int) -> Tensor:
        context.kernel, context.order = kernel, order
        context.save_for_backward(squared_distance)
        return kernel.finite_radial(squared_distance)[order]

    @staticmethod
    def backward(context: Any, cotangent: Tensor) -> tuple[None, Tensor, None]:
        if context.order == 2:
            raise InputError(f"{type(context.kernel).__name__} has no third derivatives.")
        slope: Tensor = Radial.apply(context.kernel, *context.saved_tensors, context.order + 1)
        return None, cotangent * slope, None


class Covariances(torch.autograd.Function):
    """The compiled covariances of a kernel, differentiable by the points."""

    @staticmethod
    def forward(
        context: Any, kernel: Kernel, X1: Tensor, X2: Tensor, lengthscale: Tensor, outputscale: Tensor
    ) -> Tensor:
        context.kernel = kernel
        context.save_for_backward(X1, X2, lengthscale, outputscale)
        return Arguments.of(kernel.compiled, X1, X2, lengthscale, outputscale).covariances()

    @staticmethod
    def backward(context: Any, weight: Tensor) -> tuple[Tensor | None, ...]:
        kernel, arguments, wanted = context.kernel, context.saved_tensors, context.needs_input_grad[1:3]
        if not torch.is_grad_enabled():
            pulled = Arguments.of(kernel.compiled, *arguments).pull(weight, by_second=wanted[1])
            return None, *pulled, None, None
        # A derivative of the derivative is wanted, which the compiled code does not give.
        points = [X for X, needed in zip(arguments[:2], wanted, strict=True) if needed]
        found = iter(torch.autograd.grad(kernel.by_autograd(*arguments), points, weight, create_graph=True))
        return None, *(next(found) if needed else None for needed in wanted), None, None


def weighted_sum(covariance: Tensor, weight: Tensor) -> Tensor:
    """Σ over sets m and centers j of weight_mj·covariance_mbj, `b`."""
    return (covariance @ weight.unsqueeze(-1)).squeeze(-1).sum(dim=0)


class Combination(torch.autograd.Function):
    """Weighted sum of covariances, differentiable by the points; the gradient comes with the value."""

    @staticmethod
    def forward(context: Any, kernel: Kernel, *arguments: Tensor) -> Tensor:
        value, gradient = kernel.combine_with_gradient(*arguments, wanted=context.needs_input_grad[1])
        context.kernel = kernel
        context.save_for_backward(gradient, *arguments)
        return value

    @staticmethod
    def backward(context: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        gradient, *arguments = context.saved_tensors
        if not torch.is_grad_enabled():
            return None, cotangent.unsqueeze(-1) * gradient, *(None,) * 4
        *of_kernel, weight = arguments  # a derivative of the derivative is wanted
        value = weighted_sum(context.kernel(*of_kernel), weight)
        (found,) = torch.autograd.grad(value, arguments[0], cotangent, create_graph=True)
        return None, found, *(None,) * 4
