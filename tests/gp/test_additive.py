"""Sums over groups of inputs: the kernel, and the ensemble of partitions that differ from set to set."""

import math
import pickle
from functools import partial

import pytest
import torch
from composed_kernels import check_combination, check_pairs, check_triangle

from scorebo.errors import InputError
from scorebo.gp import RBF, Additive, FullyBayesianGP, Matern52
from tests.conftest import additive_ensemble

PARTITIONS = ((1, 1, 2), (3, 1, 2))
LENGTHSCALE = torch.tensor([[0.2, 0.7, 3.0], [1.1, 0.05, 0.4]], dtype=torch.float64)
OUTPUTSCALE = torch.tensor([0.5, 4.0], dtype=torch.float64)


def by_definition(kernel, X1, X2):
    """The sum over groups, written out for every set."""
    sets = []
    for m, labels in enumerate(kernel.partitions):
        total = 0.0
        for group in set(labels):
            own = [d for d, label in enumerate(labels) if label == group]
            scaled = (X1[..., :, None, own] - X2[..., None, :, own]) / LENGTHSCALE[m, own]
            total = total + OUTPUTSCALE[m] * kernel.base.correlation(scaled.square().sum(-1))
        sets.append(total)
    return torch.stack(sets, dim=-3)


@pytest.fixture(params=[RBF(), Matern52()], ids=["rbf", "matern52"])
def kernel(request):
    return Additive(request.param, PARTITIONS)


def points(*shape):
    return torch.rand(*shape, 3, dtype=torch.float64)


def test_is_the_sum_over_groups(kernel):
    X1, X2 = points(4, 6).requires_grad_(), points(4, 5)
    ours, expected = kernel(X1, X2, LENGTHSCALE, OUTPUTSCALE), by_definition(kernel, X1, X2)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-14)
    weight = torch.randn(ours.shape, dtype=torch.float64)
    gradients = [torch.autograd.grad((weight * k).sum(), X1)[0] for k in (ours, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(kernel.pull(X1.detach(), X2, LENGTHSCALE, OUTPUTSCALE, weight), gradients[0])


def test_combination_triangle_and_pairs_are_those_of_the_sum(kernel):
    definition = partial(by_definition, kernel)
    check_combination(kernel, points(6), points(9), LENGTHSCALE, OUTPUTSCALE, definition)
    check_triangle(kernel, points(6), LENGTHSCALE, OUTPUTSCALE, definition, rtol=1e-13)
    check_pairs(kernel, points(6), points(7, 2), LENGTHSCALE, OUTPUTSCALE, definition, rtol=1e-12, atol=1e-14)


def test_prior_variance_counts_the_groups(kernel):
    diagonal = kernel(points(4), points(4)[:1], LENGTHSCALE, OUTPUTSCALE)
    assert diagonal.shape == (2, 4, 1)
    X = points(5)
    variance = kernel(X, X, LENGTHSCALE, OUTPUTSCALE).diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(variance, kernel.prior_variance(OUTPUTSCALE)[:, None].expand(2, 5))
    assert kernel.prior_variance(OUTPUTSCALE).tolist() == [2 * 0.5, 3 * 4.0]


def test_an_empty_group_adds_nothing():
    """Label 2 of the first is nobody's: the partition is that of the second."""
    X = points(5)
    gap, dense = (Additive(RBF(), (labels,)) for labels in ((1, 3, 3), (1, 2, 2)))
    arguments = (X, X, LENGTHSCALE[:1], OUTPUTSCALE[:1])
    assert torch.equal(gap(*arguments), dense(*arguments))
    assert torch.equal(gap.prior_variance(OUTPUTSCALE[:1]), dense.prior_variance(OUTPUTSCALE[:1]))


@pytest.mark.parametrize(
    "partitions", [(), ((),), ((1, 2), (1,)), ((0, 1),), ((1, -1),), ((1.0, 2.0),), ((True, True),)]
)
def test_refuses_what_is_no_partition(partitions):
    with pytest.raises(InputError, match=r"label"):
        Additive(RBF(), partitions)


def test_refuses_sets_and_inputs_that_do_not_fit():
    with pytest.raises(InputError, match=r"partitions of 3 inputs for 2 sets .* 3 sets of 3"):
        Additive(RBF(), PARTITIONS)(points(2), points(2), torch.ones(3, 3), torch.ones(3))
    with pytest.raises(InputError, match="does not fit 1 sets of 2"):
        FullyBayesianGP(
            torch.rand(4, 2), torch.rand(4), lengthscale=torch.ones(1, 2), outputscale=torch.ones(1),
            noise=torch.ones(1), mean=torch.zeros(1), kernel=Additive(RBF(), ((1, 1, 1),)),
        )  # fmt: skip


def test_one_group_is_the_base_itself():
    X1, X2 = points(6), points(5)
    one = Additive(Matern52(), ((1, 1, 1), (2, 2, 2)))
    torch.testing.assert_close(
        one(X1, X2, LENGTHSCALE, OUTPUTSCALE), Matern52()(X1, X2, LENGTHSCALE, OUTPUTSCALE), rtol=1e-15, atol=0
    )


def test_posterior_is_the_textbook_one():
    model = additive_ensemble(1, n=20)
    X = torch.rand(6, 4, dtype=torch.float64)
    mean, covariance = model.joint(X)
    for m in range(model.num_mcmc_samples):
        own = model.kernel.of_set(m)
        arguments = (model.lengthscale[m : m + 1], model.outputscale[m : m + 1])
        K = own(model.train_X, model.train_X, *arguments)[0]
        K += model.noise_variance[m] * torch.eye(20, dtype=torch.float64)
        cross = own(X, model.train_X, *arguments)[0]
        expected = model.mean[m] + cross @ torch.linalg.solve(K, model.train_Y[:, 0] - model.mean[m])
        torch.testing.assert_close(mean[m], expected, rtol=1e-9, atol=1e-9)
        spread = own(X, X, *arguments)[0] - cross @ torch.linalg.solve(K, cross.mT)
        torch.testing.assert_close(covariance[m], spread, rtol=1e-9, atol=1e-9)
    marginal_mean, variance = model.marginals(X)
    torch.testing.assert_close(marginal_mean, mean.mT)
    torch.testing.assert_close(variance, covariance.diagonal(dim1=-2, dim2=-1).mT)
    torch.testing.assert_close(model.mixture_mean(X), mean.mean(dim=0))


def test_waves_have_the_covariance_of_the_kernel():
    """E cos ω·(x − x') over the waves, weighted by their shares of the variance; 2¹⁴ quasi-random frequencies."""
    kernel = Additive(RBF(), ((1, 1, 2, 3), (1, 2, 1, 2)))
    engine = torch.quasirandom.SobolEngine(5, scramble=True, seed=1)
    uniform = engine.draw(2**15, dtype=torch.float64).reshape(2, 2**14, 5)
    frequencies = kernel.frequencies(uniform)
    assert ((frequencies != 0).sum(-1) <= 2).all()
    gap = torch.rand(7, 4, dtype=torch.float64)
    ours = ((frequencies @ gap.mT).cos() * kernel.wave_shares(2**14).unsqueeze(-1)).sum(dim=1)
    expected = kernel(gap, torch.zeros(1, 4, dtype=torch.float64), torch.ones(2, 4), torch.ones(2))[..., 0]
    torch.testing.assert_close(ours, expected, rtol=0, atol=2e-3)
    assert kernel.wave_shares(2**14).sum(dim=-1).tolist() == pytest.approx([3.0, 2.0])
    with pytest.raises(InputError, match="3 groups need as many frequencies"):
        kernel.wave_shares(2)


def test_pickles_and_compares():
    kernel = Additive(RBF(), PARTITIONS)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert kernel != Additive(RBF(), PARTITIONS[::-1])
    assert math.isclose(float(kernel.is_group.sum()), 5)
