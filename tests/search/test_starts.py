from __future__ import annotations

import pytest
import torch

from scorebo.search.starts import choose_starts, covering_points, crossed, nudged, points_around


@pytest.mark.parametrize("dim", [1, 2, 6, 40])
def test_raw_points_are_in_the_box_and_reach_its_bounds(dim):
    points = covering_points(dim, 256, seed=3)
    assert points.shape == (256, dim)
    assert points.min() == 0
    assert points.max() == 1
    assert torch.equal(points, covering_points(dim, 256, seed=3))


def test_points_around_a_center():
    center = torch.tensor([0.02, 0.5], dtype=torch.float64)
    points = points_around(center, 4000, 0.1, seed=0)
    assert points.min() == 0
    assert points[:, 1].std() == pytest.approx(0.1, rel=0.05)


def test_in_many_dimensions_some_coordinates_are_kept():
    center = torch.full((100,), 0.5, dtype=torch.float64)
    changed = (points_around(center, 200, 0.1, seed=0) != center).double().mean()
    assert changed == pytest.approx(0.2, abs=0.02)


def test_nudged_points_stay_in_the_box_and_off_the_originals():
    points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.3, 0.6]], dtype=torch.float64)
    moved = nudged(points, seed=0)
    assert ((moved != points) & (moved >= 0) & (moved <= 1)).all()
    assert (moved - points).abs().max() <= 1e-3


def test_crossed_points_have_the_coordinates_of_two_of_the_best():
    points = torch.arange(40, dtype=torch.float64).reshape(10, 4) / 40
    values = torch.tensor([0, 5, 1, 4, 2, torch.nan, 0, 0, 0, 3], dtype=torch.float64)
    found = crossed(points, values, 3, 500, seed=1)
    parent = (found * 40).round().long() // 4
    assert set(parent.flatten().tolist()) == {1, 3, 9}
    assert max(len(set(row)) for row in parent.tolist()) == 2
    # By chance both are the same, or all coordinates come from one of them: 1/3 + 2/3 · 1/8.
    same = (parent == parent[:, :1]).all(dim=-1).double().mean().item()
    assert same == pytest.approx(1 / 3 + 2 / 3 / 8, abs=0.07)
    assert torch.equal(found, crossed(points, values, 3, 500, seed=1))


def test_every_hill_has_a_start_before_any_has_two():
    points = covering_points(2, 1024, seed=0)
    tops = torch.tensor([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]], dtype=torch.float64)
    heights = torch.tensor([1.0, 0.5, 0.3], dtype=torch.float64)
    values = (heights * (-torch.cdist(points, tops).square() / 0.005).exp()).amax(dim=-1)
    chosen = choose_starts(points, values, 3, spacing=1 / 32)
    assert torch.cdist(chosen, tops).argmin(dim=-1).tolist() == [0, 1, 2]
    assert torch.equal(chosen[0], points[values.argmax()])


def test_starts_are_apart_and_finite():
    points = covering_points(3, 256, seed=0)
    values = points.sum(-1)
    values[::3] = torch.nan
    values[1::3] = -torch.inf
    chosen = choose_starts(points, values, 20, spacing=0.16)
    assert len(chosen) == 20
    assert torch.cdist(chosen, chosen).fill_diagonal_(1.0).min() >= 0.04
    assert all((point == points[2::3]).all(-1).any() for point in chosen)


def test_nothing_to_choose_from():
    points = covering_points(2, 8, seed=0)
    assert choose_starts(points, torch.full((8,), torch.nan), 3, spacing=0.3).shape == (0, 2)
    assert choose_starts(points[:0], torch.empty(0), 3, spacing=0.3).shape == (0, 2)
