import math
import pickle

import numpy as np
import pytest
import torch

import scorebo
from scorebo.acquisition import UCB, SCoreBO, maximize
from scorebo.errors import InputError
from scorebo.optima import sample_optima
from scorebo.search.box import check_bounds
from tests.conftest import random_ensemble

BRANIN = [(-5.0, 10.0), (0.0, 15.0)]


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ([(0, 1), (-5, 10), (0, 15)], [0, -5, 0], [1, 10, 15]),
        (np.array([(0.0, 1.0), (-5.0, 10.0), (0.0, 15.0)]), [0, -5, 0], [1, 10, 15]),
        (torch.tensor([(0.0, 1.0), (-5.0, 10.0), (0.0, 15.0)]), [0, -5, 0], [1, 10, 15]),
        ([(-5, 10)], [-5], [10]),
        ([[-5], [10]], [-5], [10]),
        ([[0, -5, 0], [1, 10, 15]], [0, -5, 0], [1, 10, 15]),
        ([torch.zeros(3), torch.ones(3)], [0, 0, 0], [1, 1, 1]),
    ],
)
def test_pairs_and_corners_are_told_apart_by_their_shape(bounds, lower, upper):
    box = check_bounds(bounds)
    assert box.dtype == torch.float64
    assert box.tolist() == [lower, upper]


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ([(-1, 0), (2, 1)], [-1, 0], [2, 1]),  # 2 > 1: no pair
        ([(0, 0), (1, 1)], [0, 0], [1, 1]),
        ([(0, 1), (0, 1)], [0, 0], [1, 1]),  # 0 is not below 0: no corners
        ([(-5, 10), (-5, 8)], [-5, -5], [10, 8]),
        ([(0, 1), (1, 2)], [0, 1], [1, 2]),  # the same box either way
    ],
)
@pytest.mark.parametrize("kind", [list, np.array])
def test_two_by_two_numbers_that_describe_one_box_only(bounds, lower, upper, kind):
    assert check_bounds(kind(bounds)).tolist() == [lower, upper]


@pytest.mark.parametrize("bounds", [BRANIN, np.array(BRANIN), [[-5.0, 0.0], [10.0, 15.0]]])
def test_two_by_two_numbers_that_describe_two_boxes_are_refused(bounds):
    with pytest.raises(InputError, match=r"two pairs .* or as two corners.*scorebo\.Box\(lower=") as refusal:
        scorebo.Optimizer(bounds)
    pairs, corners = (text.split(" for ")[0] for text in str(refusal.value).split(". Use ")[1].split(" or "))
    table = torch.as_tensor(bounds)
    for expression, expected in ((pairs, table.mT), (corners, table)):
        assert torch.equal(check_bounds(eval(expression)), expected)


def test_a_tensor_of_two_rows_holds_corners_as_in_botorch():
    assert check_bounds(torch.tensor(BRANIN)).tolist() == [[-5.0, 10.0], [0.0, 15.0]]
    with pytest.raises(InputError, match=r"every lower below its upper, got .* as corners"):
        check_bounds(torch.tensor([(0.0, 1.0), (0.0, 1.0)]))


def test_box_is_a_value():
    box = scorebo.Box(lower=[-5, 0], upper=np.array([10, 15]))
    assert box == scorebo.Box(lower=torch.tensor([-5.0, 0.0]), upper=(10.0, 15.0)) == pickle.loads(pickle.dumps(box))
    assert repr(box) == "Box(lower=(-5.0, 0.0), upper=(10.0, 15.0))"
    assert check_bounds(box).tolist() == [[-5.0, 0.0], [10.0, 15.0]]


def test_box_is_accepted_wherever_bounds_are():
    box, corners = scorebo.Box(lower=[0.0, 0.25], upper=[0.5, 1.0]), torch.tensor([[0.0, 0.25], [0.5, 1.0]])
    model = random_ensemble(0)
    numbers = {"raw_samples": 32, "num_restarts": 2}
    assert torch.equal(maximize(UCB(model), box, **numbers)[0], maximize(UCB(model), corners, **numbers)[0])
    for ours, theirs in zip(*(sample_optima(model, bounds, 2, 64) for bounds in (box, corners)), strict=True):
        assert torch.equal(ours, theirs)
    optima = SCoreBO.from_model(model, box, 2, 64).optima
    assert torch.equal(optima.inputs, SCoreBO.from_model(model, corners, 2, 64).optima.inputs)
    seen = []
    result = scorebo.optimize(lambda x: seen.append(x.tolist()) or float(x.sum()), box, "random", budget=4, seed=1)
    assert result.X.tolist() == seen
    assert torch.equal(scorebo.Optimizer(box, seed=1).ask(), result.X[0])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0, 0.0], [1.0], "lower holds 2 numbers, upper 1"),
        ([], [], "D pairs"),
        ([0.0, 2.0], [1.0, 1.0], "every lower below its upper"),
        ([0.0], [math.inf], "must be finite"),
        ("a", [1.0], "lower must be .* numbers, got 'a'"),
    ],
)
def test_unusable_boxes_are_refused(lower, upper, message):
    with pytest.raises(InputError, match=message):
        scorebo.Box(lower=lower, upper=upper)


@pytest.mark.parametrize(
    "bounds", [None, "box", 3.0, [0.0, 1.0], [], [[]], [[0.0, 1.0], [2.0]], [[[0.0]], [[1.0]]], torch.rand(3, 3)]
)
def test_what_are_no_bounds_is_refused_with_the_forms_that_are(bounds):
    with pytest.raises(InputError, match=r"bounds must be scorebo\.Box\(lower=…, upper=…\), D pairs .*, or 2 x D"):
        check_bounds(bounds)


@pytest.mark.parametrize("bounds", [[[0.0] * 3, [1.0] * 3], [(0.0, 1.0)] * 3, [(0.0, 1.0)]])
def test_bounds_of_another_dimension_than_the_model_are_refused(bounds):
    with pytest.raises(InputError, match="with D = 2, got"):
        maximize(UCB(random_ensemble(0)), bounds)
