import gpytorch
import numpy as np
import pytest
import torch

from scorebo.errors import InputError
from scorebo.gp import kernels
from scorebo.gp.kernels import RBF, Matern52, as_kernel, scaled_squared_distance
from tests import outside_models

LENGTHSCALE = torch.tensor([[0.2, 0.7, 3.0], [1.1, 0.05, 0.4]], dtype=torch.float64)
OUTPUTSCALE = torch.tensor([0.5, 4.0], dtype=torch.float64)


class KernelContract:
    """What every kernel is held to; a new kernel's test inherits it."""

    kernel: kernels.Kernel
    reference: type

    def points(self, *shape: int) -> torch.Tensor:
        return torch.rand(*shape, 3, dtype=torch.float64)

    def test_agrees_with_gpytorch(self):
        X1, X2 = self.points(7), self.points(5)
        ours = self.kernel(X1, X2, LENGTHSCALE, OUTPUTSCALE)
        assert ours.shape == (2, 7, 5)
        for m in range(2):
            peer = gpytorch.kernels.ScaleKernel(self.reference(ard_num_dims=3)).double()
            peer.outputscale, peer.base_kernel.lengthscale = OUTPUTSCALE[m], LENGTHSCALE[m]
            torch.testing.assert_close(ours[m], peer(X1, X2).to_dense(), rtol=1e-10, atol=1e-12)

    def test_batches_are_independent(self):
        X1, X2 = self.points(4, 6), self.points(5)
        batched = self.kernel(X1, X2, LENGTHSCALE, OUTPUTSCALE)
        assert batched.shape == (4, 2, 6, 5)
        for b in range(4):
            torch.testing.assert_close(batched[b], self.kernel(X1[b], X2, LENGTHSCALE, OUTPUTSCALE))

    def by_autograd(self, X1, X2):
        """The covariances as PyTorch computes them."""
        return self.kernel.by_autograd(X1, X2, LENGTHSCALE, OUTPUTSCALE)

    def test_compiled_values_agree_with_autograd(self):
        X1, X2 = self.points(3, 6), self.points(3, 5)
        compiled = self.kernel(X1, X2, LENGTHSCALE, OUTPUTSCALE)
        torch.testing.assert_close(compiled, self.by_autograd(X1, X2).detach(), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("shapes", [((6,), (5,)), ((3, 6), (5,)), ((2, 3, 6), (2, 3, 5)), ((3, 1), (1,))])
    def test_compiled_gradients_agree_with_autograd(self, shapes):
        X1, X2 = (self.points(*shape).requires_grad_() for shape in shapes)
        differentiated = (X1, X2) if X1.ndim == X2.ndim else (X1,)
        covariances = [
            self.kernel(X1, X2 if len(differentiated) == 2 else X2.detach(), LENGTHSCALE, OUTPUTSCALE),
            self.by_autograd(X1, X2),
        ]
        weight = torch.randn(covariances[0].shape, dtype=torch.float64)
        ours, theirs = (torch.autograd.grad((weight * k).sum(), differentiated) for k in covariances)
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-11)

    def test_a_combination_agrees_with_autograd(self):
        X, centers = self.points(6).requires_grad_(), self.points(9)
        weight = torch.randn(2, 9, dtype=torch.float64)
        ours = self.kernel.combine(X, centers, LENGTHSCALE, OUTPUTSCALE, weight)
        theirs = torch.einsum("mbn,mn->b", self.by_autograd(X, centers), weight)
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-13)
        cotangent = torch.randn(6, dtype=torch.float64)
        gradients = [torch.autograd.grad(value, X, cotangent, retain_graph=True)[0] for value in (ours, theirs)]
        torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-11)
        second = [
            torch.autograd.grad(torch.autograd.grad(value, X, cotangent, create_graph=True)[0].square().sum(), X)[0]
            for value in (ours, theirs)
        ]
        torch.testing.assert_close(*second, rtol=1e-10, atol=1e-10)

    def test_gradient_by_one_set_of_points_as_both(self):
        X = self.points(2, 6).requires_grad_()
        weight = torch.randn(2, 2, 6, 6, dtype=torch.float64)
        compiled, autograd = self.kernel(X, X, LENGTHSCALE, OUTPUTSCALE), self.by_autograd(X, X)
        ours, theirs = (torch.autograd.grad((weight * k).sum(), X) for k in (compiled, autograd))
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-11)

    def test_upper_triangle_of_one_set(self):
        X, result = self.points(6), np.full((6, 6), np.nan)
        self.kernel.fill_upper_triangle(X.numpy(), LENGTHSCALE[1:2].numpy(), float(OUTPUTSCALE[1]), result)
        expected = self.kernel(X, X, LENGTHSCALE, OUTPUTSCALE)[1].numpy()
        np.testing.assert_allclose(result[np.triu_indices(6)], expected[np.triu_indices(6)], rtol=1e-15)

    def test_outputscale_on_the_diagonal(self):
        X = self.points(6)
        diagonal = self.kernel(X, X, LENGTHSCALE, OUTPUTSCALE).diagonal(dim1=-2, dim2=-1)
        assert torch.equal(diagonal, OUTPUTSCALE[:, None].expand(2, 6))

    def test_gradients(self):
        X1, X2 = self.points(3).requires_grad_(), self.points(4)
        assert torch.autograd.gradcheck(lambda X: self.kernel(X, X2, LENGTHSCALE, OUTPUTSCALE), (X1,))

    def test_second_derivatives(self):
        X1, X2 = self.points(3).requires_grad_(), self.points(4)
        assert torch.autograd.gradgradcheck(lambda X: self.kernel(X, X2, LENGTHSCALE, OUTPUTSCALE), (X1,))

    def test_gradient_is_zero_at_the_same_point(self):
        X2 = self.points(2)
        X1 = X2[:1].clone().requires_grad_()
        self.kernel(X1, X2[:1], LENGTHSCALE, OUTPUTSCALE).sum().backward()
        assert torch.equal(X1.grad, torch.zeros_like(X1))

    def test_short_form(self):
        assert as_kernel(self.kernel.name) == self.kernel


class TestMatern52(KernelContract):
    kernel = Matern52()

    @staticmethod
    def reference(ard_num_dims):
        return gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=ard_num_dims)


class TestRBF(KernelContract):
    kernel = RBF()
    reference = gpytorch.kernels.RBFKernel


class FromOutside(KernelContract):
    def test_short_form(self):
        assert type(as_kernel(type(self.kernel))) is type(self.kernel)


class TestMatern52FromOutside(FromOutside):
    kernel = outside_models.Matern52()
    reference = staticmethod(TestMatern52.reference)


class TestRBFFromOutside(FromOutside):
    kernel = outside_models.RBF()
    reference = gpytorch.kernels.RBFKernel


class TestMatern32FromOutside(FromOutside):
    kernel = outside_models.Matern32()

    @staticmethod
    def reference(ard_num_dims):
        return gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=ard_num_dims)


def test_close_points_lose_no_digits():
    """Points 1e-9 apart at lengthscale 1e-9 are one lengthscale apart; an expanded square would see noise."""
    X = torch.tensor([[0.7], [0.7 + 1e-9]], dtype=torch.float64)
    gap = float(X[1] - X[0])
    r2 = scaled_squared_distance(X, X, torch.tensor([[1e-9]], dtype=torch.float64))
    assert float(r2[0, 0, 1]) == pytest.approx((gap / 1e-9) ** 2, rel=1e-14)


def test_slices_change_nothing(monkeypatch):
    X1, X2 = torch.rand(9, 3, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    whole = scaled_squared_distance(X1, X2, LENGTHSCALE)
    monkeypatch.setattr(kernels, "MAX_PAIRWISE", 40)
    assert torch.equal(scaled_squared_distance(X1, X2, LENGTHSCALE), whole)


def test_unknown_kernel_lists_the_allowed():
    with pytest.raises(InputError, match=r"matern25.*Did you mean matern52.*Allowed: matern52, rbf"):
        as_kernel("matern25")
