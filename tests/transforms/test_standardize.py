import numpy as np
import pytest
import torch
from scipy.stats import yeojohnson, yeojohnson_llf

from scorebo.errors import InputError
from scorebo.transforms.standardize import DataTransform

BOUNDS = torch.tensor([[-5.0, 0.0], [10.0, 15.0]], dtype=torch.float64)
Y = torch.tensor([3.0, 1.0, 8.0], dtype=torch.float64)


@pytest.mark.parametrize("maximize", [True, False])
def test_training_outputs_are_standardized_and_maximized(maximize):
    data_transform = DataTransform.of(BOUNDS, Y, maximize=maximize, standardize=True)
    seen = data_transform.to_model(Y)
    assert float(seen.mean()) == pytest.approx(0.0, abs=1e-15)
    assert float(seen.var(correction=1)) == pytest.approx(1.0)
    assert int(seen.argmax()) == (2 if maximize else 1)
    torch.testing.assert_close(data_transform.from_model(seen), Y)


@pytest.mark.parametrize("maximize", [True, False])
def test_transformed_outputs_are_scipy_s_standardized_and_come_back(maximize):
    y = torch.from_numpy(np.exp(np.random.default_rng(0).normal(1.0, 1.5, 40)) - 2.0)
    data_transform = DataTransform.of(BOUNDS, y, maximize=maximize, standardize=True, yeo_johnson=True)
    expected, power = yeojohnson(y.numpy())
    assert data_transform.yeo_johnson_lambda == pytest.approx(power)
    seen = data_transform.to_model(y)
    sign = 1.0 if maximize else -1.0
    np.testing.assert_allclose(seen, sign * (expected - expected.mean()) / expected.std(ddof=1), rtol=1e-8)
    torch.testing.assert_close(data_transform.from_model(seen), y)
    # The model is the same whichever way the task is written down.
    mirrored = DataTransform.of(BOUNDS, -y, maximize=not maximize, standardize=True, yeo_johnson=True)
    torch.testing.assert_close(mirrored.to_model(-y), seen, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("power", [None, -1.3, 0.0, 0.6, 1.0, 2.0, 3.5])
def test_the_mean_log_derivative_is_that_of_differences_and_of_scipy_s_likelihood(power):
    y = torch.from_numpy(np.random.default_rng(0).normal(0.3, 2.0, 40))
    data_transform = DataTransform(BOUNDS, -1.0, 0.4, 2.5, power)
    found, step = data_transform.mean_log_derivative(y), 1e-6
    slope = (data_transform.to_model(y + step) - data_transform.to_model(y - step)) / (2 * step)
    assert found == pytest.approx(float(slope.abs().log().mean()), abs=1e-8)
    if power is not None:  # the log-likelihood is that of a normal with the transformed outputs' variance, and this
        jacobian = yeojohnson_llf(power, y.numpy()) + 0.5 * len(y) * np.log(yeojohnson(y.numpy(), power).var())
        assert found == pytest.approx(jacobian / len(y) - np.log(2.5), abs=1e-12)


def test_what_no_power_reaches_is_the_largest_number():
    """Under λ = −1 the transform of y ≥ 0 is y/(1 + y) < 1."""
    data_transform = DataTransform(BOUNDS, 1.0, 0.0, 1.0, yeo_johnson_lambda=-1.0)
    assert data_transform.from_model(torch.tensor([0.5], dtype=torch.float64)).tolist() == [1.0]
    assert data_transform.from_model(torch.tensor([3.0], dtype=torch.float64)).tolist() == [np.finfo(float).max]


@pytest.mark.parametrize("y", [[-1e300, 1e300, 0.0], [0.7, 0.7 + 1.2e-16, 0.7 + 2.4e-16]])
def test_outputs_that_cannot_be_transformed_are_refused(y):
    with pytest.raises(InputError, match=r"cannot be transformed by Yeo and Johnson.*model.yeo_johnson=false"):
        DataTransform.of(
            BOUNDS, torch.tensor(y, dtype=torch.float64), maximize=True, standardize=True, yeo_johnson=True
        )


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_narrow_band_far_from_zero_is_transformed_as_far_as_rounding_allows(mirrored):
    """Accuracies in per cent, of whose differences the most likely power would leave less than rounding takes."""
    y = torch.tensor([96.66, 96.71, 96.02, 96.19, 97.68, 98.32, 97.31, 99.39, 96.56, 99.19, 98.79, 97.16])
    y = (-y if mirrored else y).double()
    data_transform = DataTransform.of(BOUNDS, y, maximize=True, standardize=True, yeo_johnson=True)
    power = 2.0 - data_transform.yeo_johnson_lambda if mirrored else data_transform.yeo_johnson_lambda
    assert -6.28 < power < 0.0  # the most likely one is -6.28
    seen = data_transform.to_model(y)
    assert torch.equal(seen.argsort(), y.argsort())
    torch.testing.assert_close(data_transform.from_model(seen), y, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("largest", [1e6, 1e30, 1e200])
def test_outputs_of_a_huge_range_can_be_transformed(largest):
    y = torch.tensor([1.0, 2.0, 3.0, largest], dtype=torch.float64)
    data_transform = DataTransform.of(BOUNDS, y, maximize=True, standardize=True, yeo_johnson=True)
    seen = data_transform.to_model(y)
    assert bool((seen.diff() > 1e-3).all())
    torch.testing.assert_close(data_transform.from_model(seen), y, rtol=1e-10, atol=0)


def test_constant_outputs_are_refused_before_they_are_transformed():
    with pytest.raises(InputError, match="constant outputs"):
        DataTransform.of(BOUNDS, torch.full((3,), 2.0), maximize=True, standardize=True, yeo_johnson=True)


def test_not_standardized_outputs_only_change_sign():
    data_transform = DataTransform.of(BOUNDS, Y, maximize=False, standardize=False)
    assert torch.equal(data_transform.to_model(Y), -Y)
    assert (data_transform.output_mean, data_transform.output_std) == (0.0, 1.0)


def test_inputs_go_to_the_unit_box_and_never_leave_their_own():
    data_transform = DataTransform.of(BOUNDS, Y, maximize=False, standardize=True)
    X = BOUNDS[0] + torch.rand(1000, 2, dtype=torch.float64) * (BOUNDS[1] - BOUNDS[0])
    unit = data_transform.to_unit(X)
    assert ((unit >= 0) & (unit <= 1)).all()
    torch.testing.assert_close(data_transform.from_unit(unit), X)
    tight = DataTransform(torch.tensor([[0.1], [0.3]], dtype=torch.float64), 1.0, 0.0, 1.0)
    assert float(tight.from_unit(torch.ones(1, 1, dtype=torch.float64))) <= 0.3


def test_output_mean_is_in_the_tasks_sign():
    assert DataTransform.of(BOUNDS, Y, maximize=False, standardize=True).output_mean == float(Y.mean())


def test_constant_outputs_are_refused():
    with pytest.raises(InputError, match=r"All 3 observations equal 2: constant outputs"):
        DataTransform.of(BOUNDS, torch.full((3,), 2.0), maximize=False, standardize=True)
    # 0.1 three times has a mean that rounds, and so a standard deviation that is not 0.
    with pytest.raises(InputError, match=r"All 3 observations equal 0.1"):
        DataTransform.of(BOUNDS, torch.full((3,), 0.1, dtype=torch.float64), maximize=False, standardize=True)
    with pytest.raises(InputError, match="cannot be standardized"):
        DataTransform.of(
            BOUNDS, torch.tensor([1e300, -1e300, 0.0], dtype=torch.float64), maximize=False, standardize=True
        )
