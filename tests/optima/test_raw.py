import numpy as np
import pytest
import torch

from scorebo.optima import sample_paths
from scorebo.optima.raw import MOST_EFFORT, effort, raw_points
from tests.conftest import random_ensemble


def box(dim: int) -> torch.Tensor:
    return torch.stack([torch.full((dim,), -0.5), torch.full((dim,), 2.0)]).double()


@pytest.mark.parametrize("dim", [1, 2, 5, 25])
@pytest.mark.parametrize("count", [1, 20, 2048])
def test_enough_points_inside_the_box_with_the_observed(dim, count):
    model = random_ensemble(dim, n=7, dim=dim, num_mcmc_samples=3)
    raw = raw_points(model, box(dim), count, seed=1)
    for m in range(3):
        points = raw.of_set(m)
        assert len(points) >= count + 7
        assert bool(((points >= box(dim)[0]) & (points <= box(dim)[1])).all())
        assert torch.equal(points[-7:], model.train_X)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_coordinate_varies_on_one_side_of_a_tile(dim):
    raw = raw_points(random_ensemble(dim, dim=dim), box(dim), 2048, seed=1)
    for tiles in (tiles for of_set in raw.tiles for tiles in of_set):
        left, right = (side.amax(dim=1) > side.amin(dim=1) for side in (tiles.left, tiles.right))
        assert bool((left ^ right).all())


def test_points_differ_where_there_is_one_dimension():
    raw = raw_points(random_ensemble(1, n=5, dim=1), box(1), 256, seed=1)
    covering = raw.of_set(0)[64 : 64 + 256, 0]  # after two tiles around promising points
    inside = covering[(covering > -0.5) & (covering < 2.0)]
    assert len(inside) > 128
    assert len(inside.unique()) == len(inside)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize("num_features", [64, 1400])
def test_screened_values_are_those_of_the_paths(kernel, num_features):
    """Up to the rounding of waves in single precision: sums of a few hundred terms of size one or less."""
    model = random_ensemble(4, n=20, dim=3, num_mcmc_samples=2, kernel=kernel)
    paths = sample_paths(model, 3, num_features)
    raw = raw_points(model, box(3), 100, seed=2)
    for m in range(2):
        values = raw.screened(m, paths.of_set(m, single=True))
        expected = paths(raw.of_set(m))[:, m].numpy()
        assert values.shape == expected.shape
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-5)


def test_effort_grows_with_the_hills_and_with_the_dimensions():
    def of(lengthscale: float, dim: int) -> float:
        return float(effort(torch.full((1, dim), 5.0 * lengthscale).double(), torch.full((dim,), 5.0).double()))

    assert of(1000.0, 2) == pytest.approx(1.0, abs=1e-6)
    assert of(10.0, 2) < of(0.3, 2) < of(0.1, 2) < MOST_EFFORT
    assert 1.0 < of(10.0, 6) < of(10.0, 12) < MOST_EFFORT
    assert of(0.05, 6) == MOST_EFFORT
    assert of(100.0, 388) < of(10.0, 12)  # a climb is long there


def test_rough_sets_get_more_points():
    model = random_ensemble(4, dim=3, num_mcmc_samples=8)
    raw = raw_points(model, box(3), 1024, seed=1)
    points = torch.tensor([len(raw.of_set(m)) for m in range(8)])
    wanted = 1024 * effort(model.lengthscale, box(3)[1] - box(3)[0])
    # Two more tiles, the observed ones, and part of a tile.
    assert bool(((points >= wanted + 512) & (points < wanted + 512 + 256 + 12 + 1)).all())
    assert int(points.max()) > 1.5 * int(points.min())
