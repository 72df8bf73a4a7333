"""Warped inputs: against BoTorch's transform, and the kernel against automatic differentiation."""

from functools import partial

import numpy as np
import pytest
import torch
from botorch.models.transforms.input import Warp
from composed_kernels import check_combination, check_pairs, check_triangle

from scorebo.errors import InputError
from scorebo.gp import RBF, FullyBayesianGP, Matern52, Warped
from scorebo.gp.warping import inside
from tests.conftest import warped_ensemble

C0 = torch.tensor([[0.5, 1.0, 2.5], [1.3, 0.8, 1.0]], dtype=torch.float64)
C1 = torch.tensor([[1.0, 0.6, 2.0], [0.7, 3.0, 1.0]], dtype=torch.float64)
LENGTHSCALE = torch.tensor([[0.2, 0.7, 3.0], [1.1, 0.05, 0.4]], dtype=torch.float64)
OUTPUTSCALE = torch.tensor([0.5, 4.0], dtype=torch.float64)


@pytest.fixture(params=[RBF(), Matern52()], ids=["rbf", "matern52"])
def kernel(request):
    return Warped(request.param, C0, C1)


def points(*shape):
    X = torch.rand(*shape, 3, dtype=torch.float64)
    X[..., 0, :] = torch.tensor([0.0, 1.0, 0.5])  # the ends of the box are inputs like all others
    return X


def botorch_warp(m):
    box = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
    warp = Warp(d=3, indices=[0, 1, 2], bounds=box).double()
    warp._set_concentration(0, C0[m])
    warp._set_concentration(1, C1[m])
    return warp


def test_is_botorch_s_warping(kernel):
    X = points(50)
    for m in range(2):
        torch.testing.assert_close(kernel.warp(X)[m], botorch_warp(m)(X).detach(), rtol=1e-9, atol=1e-12)


def test_unwarping_is_the_inverse(kernel):
    X = points(4, 2, 20)
    torch.testing.assert_close(kernel.unwarp(kernel.warp_own(X)), X, rtol=1e-7, atol=1e-7)
    outside = torch.tensor([[-1.0, 2.0, 0.5]], dtype=torch.float64).expand(2, 1, 3)
    assert kernel.unwarp(outside)[:, 0, :2].tolist() == [[0.0, 1.0]] * 2


def by_definition(kernel, X1, X2):
    sets = []
    for m in range(2):
        one = [w[m : m + 1] for w in (LENGTHSCALE, OUTPUTSCALE)]
        sets.append(kernel.base.by_autograd(kernel.warp(X1)[..., m, :, :], kernel.warp(X2)[..., m, :, :], *one))
    return torch.cat(sets, dim=-3)


@pytest.mark.parametrize("shapes", [((6,), (5,)), ((3, 6), (5,)), ((2, 3, 6), (2, 3, 5))])
def test_is_the_covariance_of_warped_points(kernel, shapes):
    X1, X2 = points(*shapes[0]).requires_grad_(), points(*shapes[1])
    ours, expected = kernel(X1, X2, LENGTHSCALE, OUTPUTSCALE), by_definition(kernel, X1, X2)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-13)
    weight = torch.randn(ours.shape, dtype=torch.float64)
    gradients = [torch.autograd.grad((weight * k).sum(), X1)[0] for k in (ours, expected)]
    assert gradients[0].isfinite().all()
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-9)
    pulled = kernel.pull(X1.detach(), X2, LENGTHSCALE, OUTPUTSCALE, weight)
    torch.testing.assert_close(pulled, gradients[1], rtol=1e-8, atol=1e-9)


def test_combination_triangle_and_pairs_are_those_of_the_covariance(kernel):
    definition = partial(by_definition, kernel)
    check_combination(kernel, points(6), points(9), LENGTHSCALE, OUTPUTSCALE, definition)
    check_triangle(kernel, points(6), LENGTHSCALE, OUTPUTSCALE, definition, rtol=1e-12)
    check_pairs(kernel, points(6), points(7, 2), LENGTHSCALE, OUTPUTSCALE, definition, rtol=1e-11, atol=1e-13)


def test_gradients_of_the_posterior_go_through_the_warping():
    model = warped_ensemble(3)
    X = torch.rand(5, 2, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda X: model.marginals(X), (X,))
    assert torch.autograd.gradcheck(model.mixture_mean, (X,))


def test_concentrations_of_one_change_next_to_nothing():
    """But for the margin of 1e-7, by which inputs are moved in."""
    plain = warped_ensemble(4)
    ones = torch.ones_like(plain.lengthscale)
    sets = {name: getattr(plain, name) for name in ("lengthscale", "outputscale", "noise", "mean")}
    warped = FullyBayesianGP(plain.train_X, plain.train_Y, kernel=Warped(Matern52(), ones, ones), **sets)
    straight = FullyBayesianGP(plain.train_X, plain.train_Y, kernel=Matern52(), **sets)
    X = torch.rand(9, 2, dtype=torch.float64)
    for ours, theirs in zip(warped.marginals(X), straight.marginals(X), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_refuses_inputs_outside_the_box_and_concentrations_that_are_none():
    with pytest.raises(InputError, match=r"unit box, got values from 0 to 1\.5"):
        inside(np.array([[0.0, 1.5]]))
    with pytest.raises(InputError, match="concentration1 must be M x D and positive"):
        Warped(RBF(), C0, -C1)
    with pytest.raises(InputError, match="one value each"):
        Warped(RBF(), C0, C1[:1])
    with pytest.raises(InputError, match=r"\(2, 3\) do not fit 1 sets of 3"):
        Warped(RBF(), C0, C1)(points(2), points(2), LENGTHSCALE[:1], OUTPUTSCALE[:1])
