"""What a line of progress tells of a record."""

import pytest

from scorebo.run.progress import describe


@pytest.mark.parametrize(
    ("negative_mll", "regret", "said"),
    [
        (0.5, 0.25, "negative MLL 0.500, RMSE 2, regret 0.25"),
        (0.5, None, "negative MLL 0.500, RMSE 2, best observed 79.6"),
        (None, None, "best observed 79.6"),
        (None, 0.25, "best observed 79.6, regret 0.25"),
    ],
)
def test_the_best_observation_is_told_where_no_regret_is_known(negative_mll, regret, said):
    record = {"negative_mll": negative_mll, "rmse": 2.0, "inference_regret": regret, "best_observed": 79.6}
    assert describe(record) == said
    assert describe({"kind": "initial"}) == "initial design"
