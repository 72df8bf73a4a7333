"""The base class as the author of a new task meets it."""

import numpy as np
import pytest
import torch

import scorebo
from scorebo.benchmarks import Benchmark
from scorebo.errors import InputError

OPTIONS = {"name": "sphere", "noise_std": 0.1, "initial": 3, "total": 10}


class Sphere(Benchmark):
    bounds = ((-1.0, -1.0), (1.0, 3.0))

    def evaluate_true(self, X):
        return X.square().sum(-1)


def returning(make):
    """A task whose function returns `make(X)`."""

    class Task(Benchmark):
        bounds = ((-1.0, -1.0), (1.0, 3.0))

        def evaluate_true(self, X):
            return make(X)

    return Task(**OPTIONS)


def test_the_smallest_class_is_a_whole_task():
    task = Sphere(**OPTIONS)
    assert task.dim == 2
    assert torch.equal(task.bounds, torch.tensor([[-1.0, -1.0], [1.0, 3.0]], dtype=torch.float64))
    assert task.maximize is False
    assert task.optimal_value is None
    assert task.evaluate_true(torch.tensor([[0.5, 2.0]])).tolist() == [4.25]
    assert task.initial_design(1).shape == (3, 2)


def test_every_seed_is_the_same_function_unless_the_task_says_otherwise():
    class Shifted(Sphere):
        shift = 0.0

        def for_seed(self, seed):
            task = Shifted(**OPTIONS)
            task.shift = float(seed)
            return task

        def evaluate_true(self, X):
            return super().evaluate_true(X) + self.shift

    task = Sphere(**OPTIONS)
    assert task.for_seed(3) is task
    X = torch.tensor([[0.5, 2.0]])
    assert [Shifted(**OPTIONS).for_seed(seed).evaluate_true(X).item() for seed in (1, 7)] == [5.25, 11.25]


def test_noise_free_unless_told_otherwise():
    task = Sphere(name="sphere", initial=2, total=2)
    assert task.noise_std == 0.0
    assert task.observe(torch.tensor([0.5, 2.0]), 1, 1) == (4.25, 4.25)


def test_bounds_may_depend_on_options():
    class Cube(Sphere):
        def __init__(self, side, **options):
            self.bounds = torch.tensor([[0.0] * 4, [side] * 4])
            super().__init__(**options)

    task = Cube(side=2, **OPTIONS)
    assert task.dim == 4
    assert task.bounds.dtype == torch.float64
    assert task.evaluate_true(torch.full((1, 4), 2.0)).tolist() == [16.0]
    assert Cube(side=3, **OPTIONS).bounds[1, 0] == 3.0


def test_instances_do_not_share_their_bounds():
    first = Sphere(**OPTIONS)
    first.bounds[1, 0] = 9.0
    assert Sphere(**OPTIONS).bounds[1, 0] == 1.0


def test_a_class_without_a_function_cannot_be_built():
    class Empty(Benchmark):
        bounds = ((0.0,), (1.0,))

    with pytest.raises(TypeError, match="evaluate_true"):
        Empty(**OPTIONS)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("noise_std", -0.1, "noise_std of task 'sphere' must be a finite number of at least 0, got -0.1"),
        ("noise_std", float("nan"), "noise_std of task 'sphere'"),
        ("noise_std", float("inf"), "noise_std of task 'sphere'"),
        ("noise_std", "loud", "noise_std of task 'sphere'"),
        ("initial", 1, "initial of task 'sphere' must be a whole number of at least 2, got 1"),
        ("initial", 2.5, "initial of task 'sphere'"),
        ("initial", None, "initial of task 'sphere'"),
        ("total", 2, r"total of task 'sphere' must be at least initial \(3\), got 2"),
        ("total", "many", "total of task 'sphere'"),
        ("name", "", "task's name"),
        ("name", "../up", "task's name"),
        ("name", 3, "task's name"),
    ],
)
def test_refuses_unusable_options(option, value, message):
    with pytest.raises(InputError, match=message):
        Sphere(**{**OPTIONS, option: value})


@pytest.mark.parametrize(
    "bounds", [scorebo.Box(lower=(-5.0, 0.0, 0.0), upper=(10.0, 15.0, 1.0)), ((-5.0, 10.0), (0.0, 15.0), (0.0, 1.0))]
)
def test_takes_a_box_or_pairs(bounds):
    task = type("Task", (Sphere,), {"bounds": bounds, "dim": 3})(**OPTIONS)
    assert task.bounds.tolist() == [[-5.0, 0.0, 0.0], [10.0, 15.0, 1.0]]


@pytest.mark.parametrize(
    ("bounds", "dim", "message"),
    [
        (None, 2, "bounds must be .* 2 x D"),
        ("box", 2, "bounds must be .* 2 x D"),
        ((0.0, 1.0), 1, "bounds must be .* 2 x D"),
        (((-5.0, 10.0), (0.0, 15.0)), 2, "two pairs .* or as two corners"),
        (((0.0, 1.0), (1.0, 1.0)), 2, "lower below its upper"),
        (((0.0,), (float("inf"),)), 1, "must be finite"),
        (((0.0,), (1.0,)), 2, "dim 2, but its bounds have 1"),
    ],
)
def test_refuses_an_unusable_box(bounds, dim, message):
    task = type("Task", (Sphere,), {"bounds": bounds, "dim": dim})
    with pytest.raises(InputError, match=f"Task 'sphere'.*{message}"):
        task(**OPTIONS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: X.sum(-1) * float("nan"), r"returned nan at x = \[0.25, 0.5\]"),
        (lambda X: X.sum(-1) / 0, "returned inf at x"),
        (lambda X: X.sum(-1, keepdim=True), r"shape \(2,\), it returned shape \(2, 1\)"),
        (lambda X: X.sum(), r"it returned shape \(\)"),
        (lambda X: X.sum(-1).float(), "it returned torch.float32"),
        (lambda X: X.sum(-1).long(), "it returned torch.int64"),
        (lambda X: X.sum(-1).numpy(), "it returned ndarray"),
        (lambda X: None, "it returned NoneType"),
    ],
)
def test_refuses_what_a_task_must_not_return(make, message):
    task = returning(make)
    X = torch.tensor([[0.25, 0.5], [0.0, 0.0]], dtype=torch.float64)
    with pytest.raises(InputError, match=f"Task 'sphere'.*{message}"):
        task.evaluate_true(X)
    with pytest.raises(InputError, match="Task 'sphere'"):
        task.observe(X[0], 1, 1)


def test_a_point_of_many_coordinates_does_not_bury_what_is_wrong_with_it():
    class Broken(Benchmark):
        bounds = ((0.0,) * 30, (1.0,) * 30)

        def evaluate_true(self, X):
            return X.sum(-1) / 0

    with pytest.raises(InputError, match=r"returned inf at x = \[0\.5, 0\.5, 0\.5, 0\.5, …\] \(30 coordinates\)\.$"):
        Broken(**OPTIONS).evaluate_true(torch.full((1, 30), 0.5))


def test_names_the_coordinate_and_its_bounds():
    message = r"task 'sphere': coordinate 2 of point 3 is 3\.5, its bounds are \[-1, 3\]\."
    with pytest.raises(InputError, match=message):
        Sphere(**OPTIONS).evaluate_true(torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 3.5]]))


def test_roundings_past_a_bound_are_moved_onto_it():
    task = returning(lambda X: X[:, 1])
    X = torch.tensor([[0.0, 3.0 + 1e-12], [0.0, -1.0 - 1e-12]], dtype=torch.float64)
    assert task.evaluate_true(X).tolist() == [3.0, -1.0]


def test_takes_arrays_and_single_precision():
    task = Sphere(**OPTIONS)
    expected = task.evaluate_true(torch.tensor([[0.5, 2.0]], dtype=torch.float64))
    assert torch.equal(task.evaluate_true(np.array([[0.5, 2.0]])), expected)
    assert torch.equal(task.evaluate_true(torch.tensor([[0.5, 2.0]], dtype=torch.float32)), expected)


def test_a_function_that_writes_into_its_input_does_no_harm():
    def overwrite(X):
        return X.mul_(2).sum(-1)

    X = torch.tensor([[0.5, 2.0]], dtype=torch.float64)
    assert returning(overwrite).evaluate_true(X).tolist() == [5.0]
    assert X.tolist() == [[0.5, 2.0]]


def test_a_subclass_may_build_on_its_parents_function():
    class Doubled(Sphere):
        def evaluate_true(self, X):
            return 2 * super().evaluate_true(X)

    assert Doubled(**OPTIONS).evaluate_true(torch.tensor([[0.5, 2.0]])).tolist() == [8.5]


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1"])
def test_refuses_unusable_seeds(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        Sphere(**OPTIONS).initial_design(seed)
    with pytest.raises(InputError, match="seed must be a whole number"):
        Sphere(**OPTIONS).noise(seed, 1)


def test_observations_are_counted_from_one():
    with pytest.raises(InputError, match="index of the observation"):
        Sphere(**OPTIONS).noise(1, 0)


def test_design_and_noise_never_change():
    """Stored runs rest on these numbers: a change of stream must be noticed."""
    task = Sphere(**OPTIONS)
    first = torch.tensor([-0.22693663835525513, -0.4737715721130371], dtype=torch.float64)
    torch.testing.assert_close(task.initial_design(7)[0], first, rtol=0, atol=1e-12)
    assert task.noise(7, 1) == pytest.approx(0.1424456512898968, abs=1e-15)
