from __future__ import annotations

import sys

import pytest
import torch
from acquisition_contract import unit_box
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.optim import optimize_acqf

from scorebo.acquisition import BALD, BQBC, QBMGP, SAL, maximize
from scorebo.errors import InputError
from scorebo.search.ascent import ascend
from scorebo.seeds import derive
from tests.conftest import random_ensemble


class Formula(AcquisitionFunction):
    """An acquisition that is a function of x alone."""

    def __init__(self, function):
        super().__init__(model=torch.nn.Module())
        self.function = function

    def forward(self, X):
        return self.function(X.squeeze(-2))


def waves(x):
    """Many hills; the highest is at 0.7 in every coordinate."""
    return ((12 * torch.pi * (x - 0.7)).cos() - 10 * (x - 0.7).square()).mean(-1)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_finds_the_highest_of_many_hills(dim):
    x, value = maximize(Formula(waves), unit_box(dim))
    torch.testing.assert_close(x, torch.full((1, dim), 0.7, dtype=torch.float64), rtol=0, atol=1e-4)
    assert value.shape == ()
    assert value.item() == pytest.approx(1.0, abs=1e-8)


def test_bounds_of_any_size():
    bounds = torch.tensor([[-5.0, 1e3], [10.0, 1e6]], dtype=torch.float64)
    top = torch.tensor([2.0, 4e5], dtype=torch.float64)
    x, _ = maximize(Formula(lambda x: -(((x - top) / (bounds[1] - bounds[0])).square().sum(-1))), bounds)
    torch.testing.assert_close(x[0], top, rtol=1e-5, atol=0)
    corner, _ = maximize(Formula(lambda x: x.sum(-1)), bounds)
    assert torch.equal(corner[0], bounds[1])


@pytest.mark.parametrize("acqf", [SAL, None, random_ensemble(0)], ids=["class", "none", "model"])
def test_what_is_no_acquisition_is_refused(acqf):
    with pytest.raises(InputError, match=r"acqf must be an acquisition function of a model, e\.g\. SAL\(model\)"):
        maximize(acqf, unit_box(2))


@pytest.mark.parametrize("acquisition", [SAL, lambda m: SAL(m, "wasserstein"), BALD, BQBC, QBMGP])
@pytest.mark.parametrize(("dim", "n"), [(1, 12), (2, 25), (3, 20), (6, 30)])
def test_no_worse_than_optimize_acqf_with_the_same_numbers(acquisition, dim, n):
    model = random_ensemble(dim, n=n, dim=dim, num_mcmc_samples=8)
    acqf = acquisition(model)
    _, reference = optimize_acqf(acqf, unit_box(dim), q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100})
    x, value = maximize(acqf, unit_box(dim), around=model.train_X[model.train_Y.argmax()])
    assert x.shape == (1, dim)
    assert ((x >= 0) & (x <= 1)).all()
    assert value >= reference - 1e-6 * reference.abs()


def test_botorchs_own_acquisitions():
    model = random_ensemble(0, dim=2)
    acqf = qLogNoisyExpectedImprovement(model, model.train_X, prune_baseline=True)
    _, reference = optimize_acqf(acqf, unit_box(2), q=1, num_restarts=20, raw_samples=1024, options={"maxiter": 100})
    _, value = maximize(acqf, unit_box(2), around=model.train_X[model.train_Y.argmax()])
    assert value >= reference - 1e-6 * reference.abs()


def test_peaks_at_observed_points_are_found():
    model = random_ensemble(1, n=15, dim=6)

    def spikes(x):
        return (-torch.cdist(x, model.train_X).amin(dim=-1).square() / 1e-4).exp()

    acqf = Formula(spikes)
    acqf.model = model
    assert maximize(acqf, unit_box(6))[1] > 0.999


def test_never_below_the_best_raw_point():
    seen = []

    def jagged(x):
        values = (1e4 * x).sin().sum(-1) + x.sum(-1)
        seen.append(values.detach().max().item())
        return values

    _, value = maximize(Formula(jagged), unit_box(3), maxiter=3)
    assert value.item() >= max(seen) - 1e-9


def test_a_narrow_hill_in_line_with_a_broad_one_is_found():
    broad = torch.full((8,), 0.3, dtype=torch.float64)
    narrow = broad.clone()
    narrow[2] = 0.875

    def hills(x):
        return (-(x - broad).square().sum(-1) / 0.2).exp() + 2.0 * (-(x - narrow).square().sum(-1) / 0.005).exp()

    for seed in range(3):
        x, _ = maximize(Formula(hills), unit_box(8), raw_samples=256, num_restarts=8, seed=seed)
        torch.testing.assert_close(x[0], narrow, rtol=0, atol=0.05)


def test_coordinates_that_are_high_on_different_tops_meet():
    # In every coordinate a hill of its own, too narrow to be seen from elsewhere. Without crossing only 8 of 10 meet.
    def hills(x):
        return (-(x - 0.7).square() / 0.0005).exp().sum(-1)

    for seed in range(3):
        assert maximize(Formula(hills), unit_box(10), raw_samples=256, num_restarts=8, seed=seed)[1] > 9.0 - 1e-6


def test_points_where_the_function_is_nan_are_never_chosen():
    x, value = maximize(Formula(lambda x: torch.where(x[:, 0] > 0.6, torch.nan, x.sum(-1))), unit_box(2))
    assert value.isfinite()
    assert x[0, 0] <= 0.6
    assert value > 1.55


@pytest.mark.parametrize("value", [torch.nan, -torch.inf])
def test_a_function_that_is_nowhere_finite_is_refused(value):
    with pytest.raises(InputError, match="finite at none"):
        maximize(Formula(lambda x: x.sum(-1) * 0.0 + value), unit_box(2))


def test_raw_points_are_ranked_by_screening_and_the_result_by_the_function():
    class Screened(Formula):
        def screen(self, points):
            self.screened = len(points)
            return -(points - 0.5).square().sum(-1)  # only the hill at the center is seen

    acqf = Screened(waves)
    x, value = maximize(acqf, unit_box(2), num_restarts=1)
    assert acqf.screened > 0
    assert (x - 0.5).abs().max() < 0.1  # the nearest hill, not the highest
    assert value == waves(x)[0]


@pytest.mark.parametrize("distance", ["wasserstein", "kl"])
def test_screening_ranks_as_the_function_does(distance):
    acqf = SAL(random_ensemble(3, dim=3, num_mcmc_samples=8), distance, "monte_carlo")
    X = torch.rand(200, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    both = torch.stack([acqf.screen(X), acqf(X.unsqueeze(1))])
    assert torch.corrcoef(both)[0, 1] > 0.99


def test_a_constant_function_gives_some_point_of_the_box():
    x, value = maximize(Formula(lambda x: 0.0 * x.sum(-1) + 3.0), unit_box(2))
    assert value == 3.0
    assert ((x >= 0) & (x <= 1)).all()


def test_a_function_of_the_seed_alone():
    acqf, seed = SAL(random_ensemble(2)), derive("task", 1, "acquisition", 7)
    before = torch.get_rng_state()
    first = maximize(acqf, unit_box(2), seed=seed)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(10)
    assert all(torch.equal(a, b) for a, b in zip(first, maximize(acqf, unit_box(2), seed=seed), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": torch.zeros(3, 3)}, "2 x D"),
        ({"bounds": torch.zeros(2, 2)}, "lower below"),
        ({"bounds": torch.tensor([[0.0, 0.0], [1.0, torch.inf]])}, "finite"),
        ({"bounds": torch.tensor([[0.0, 0.0], [1.0, torch.nan]])}, "finite"),
        ({"raw_samples": 0}, "raw_samples"),
        ({"num_restarts": 0}, "num_restarts"),
        ({"maxiter": 0}, "maxiter"),
        ({"seed": -1}, "seed"),
        ({"sample_around_best_sigma": -0.1}, "sample_around_best_sigma"),
        ({"around": torch.zeros(3)}, "2 coordinates"),
    ],
)
def test_unusable_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        maximize(**{"acqf": Formula(waves), "bounds": unit_box(2), **change})


def test_smallest_numbers_work():
    x, _ = maximize(Formula(waves), unit_box(1), raw_samples=1, num_restarts=1, maxiter=1)
    assert x.shape == (1, 1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, r"one value per point: for \d+ points of shape 1 x 2 it returned shape"),
        (lambda x: x.sum(-1).detach(), "not differentiable"),
    ],
)
def test_acquisition_of_the_wrong_shape_or_without_gradient(function, message):
    with pytest.raises(InputError, match=message):
        maximize(Formula(function), unit_box(2), raw_samples=8)


@pytest.mark.parametrize(("dim", "starts"), [(1, 3), (2, 3), (3, 6), (6, 12), (12, 18)])
def test_the_more_dimensions_the_more_starts(dim, starts, monkeypatch):
    climbed = []

    def climb(function, x, *arguments, **options):
        climbed.append(len(x))
        return ascend(function, x, *arguments, **options)

    monkeypatch.setattr(sys.modules[maximize.__module__], "ascend", climb)
    # In one dimension a start is a hilltop of the grid, of which this function has nine.
    maximize(Formula(waves), unit_box(dim), raw_samples=256, num_restarts=3)
    assert climbed[0] == starts
