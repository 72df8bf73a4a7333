import pytest
import torch

from scorebo.errors import InputError
from scorebo.scaling import Scaling

BOUNDS = torch.tensor([[-5.0, 0.0], [10.0, 15.0]], dtype=torch.float64)
Y = torch.tensor([3.0, 1.0, 8.0], dtype=torch.float64)


@pytest.mark.parametrize("maximize", [True, False])
def test_training_outputs_are_standardised_and_maximised(maximize):
    scaling = Scaling.of(BOUNDS, Y, maximize=maximize, standardize=True)
    seen = scaling.to_model(Y)
    assert float(seen.mean()) == pytest.approx(0.0, abs=1e-15)
    assert float(seen.var(correction=1)) == pytest.approx(1.0)
    assert int(seen.argmax()) == (2 if maximize else 1)
    torch.testing.assert_close(scaling.from_model(seen), Y)


def test_not_standardised_outputs_only_change_sign():
    scaling = Scaling.of(BOUNDS, Y, maximize=False, standardize=False)
    assert torch.equal(scaling.to_model(Y), -Y)
    assert (scaling.output_mean, scaling.output_std) == (0.0, 1.0)


def test_inputs_go_to_the_unit_box_and_never_leave_their_own():
    scaling = Scaling.of(BOUNDS, Y, maximize=False, standardize=True)
    X = BOUNDS[0] + torch.rand(1000, 2, dtype=torch.float64) * (BOUNDS[1] - BOUNDS[0])
    unit = scaling.to_unit(X)
    assert ((unit >= 0) & (unit <= 1)).all()
    torch.testing.assert_close(scaling.from_unit(unit), X)
    tight = Scaling(torch.tensor([[0.1], [0.3]], dtype=torch.float64), 1.0, 0.0, 1.0)
    assert float(tight.from_unit(torch.ones(1, 1, dtype=torch.float64))) <= 0.3


def test_output_mean_is_in_the_tasks_sign():
    assert Scaling.of(BOUNDS, Y, maximize=False, standardize=True).output_mean == float(Y.mean())


def test_constant_outputs_are_refused():
    with pytest.raises(InputError, match=r"All 3 observations equal 2: constant outputs"):
        Scaling.of(BOUNDS, torch.full((3,), 2.0), maximize=False, standardize=True)
    # 0.1 three times has a mean that rounds, and so a standard deviation that is not 0.
    with pytest.raises(InputError, match=r"All 3 observations equal 0.1"):
        Scaling.of(BOUNDS, torch.full((3,), 0.1, dtype=torch.float64), maximize=False, standardize=True)
    with pytest.raises(InputError, match="cannot be standardised"):
        Scaling.of(BOUNDS, torch.tensor([1e300, -1e300, 0.0], dtype=torch.float64), maximize=False, standardize=True)
