from __future__ import annotations

import numpy as np
import pytest

from scorebo.search.ascent import ascend


def quadratic(top, scales):
    def function(x):
        calls.append(len(x))
        return -(scales * (x - top) ** 2).sum(-1), -2 * scales * (x - top)

    calls: list[int] = []
    return function, calls


def starts(count: int, dim: int) -> np.ndarray:
    return np.random.default_rng(0).random((count, dim))


@pytest.mark.parametrize("dim", [1, 2, 10, 50])
def test_finds_the_top_of_a_badly_scaled_quadratic(dim):
    top = np.random.default_rng(1).random(dim)
    function, calls = quadratic(top, np.logspace(0, 3, dim))
    x, value = ascend(function, starts(5, dim), maxiter=300, first_step=0.1)
    assert value.max() > -1e-8
    assert x[value.argmax()] == pytest.approx(top, abs=1e-3)
    assert max(calls) <= 5


def test_a_top_outside_the_box_is_met_on_the_bound():
    function, _ = quadratic(np.array([1.5, 0.3, -0.2]), np.array([1.0, 30.0, 5.0]))
    x, value = ascend(function, starts(4, 3), maxiter=100, first_step=0.1)
    assert x[value.argmax()] == pytest.approx([1.0, 0.3, 0.0], abs=1e-6)


def test_climbs_a_curved_ridge():
    def rosenbrock(x):
        a, b = 3 * x[:, 0] - 1.5, 3 * x[:, 1] - 1.5
        value = -((1 - a) ** 2) - 100 * (b - a**2) ** 2
        gradient = np.stack([3 * (2 * (1 - a) + 400 * a * (b - a**2)), -3 * 200 * (b - a**2)], axis=-1)
        return value, gradient

    x, value = ascend(rosenbrock, np.array([[0.1, 0.7], [0.4, 0.2]]), maxiter=100, first_step=0.1)
    assert value.max() > -1e-8
    assert x[value.argmax()] == pytest.approx([2.5 / 3, 2.5 / 3], abs=1e-3)


def test_starts_on_the_same_hill_are_merged():
    function, calls = quadratic(np.array([0.5, 0.5]), np.array([1.0, 2.0]))
    ascend(function, np.array([0.4, 0.4]) + 1e-3 * starts(20, 2), maxiter=100, first_step=0.1)
    assert calls[1] == 1


def test_steps_into_nan_are_not_taken():
    def function(x):
        value = np.where(x[:, 0] < 0.7, x[:, 0], np.nan)
        return value, np.ones_like(x)

    x, value = ascend(function, np.array([[0.1], [0.5]]), maxiter=100, first_step=0.5)
    assert value.max() == pytest.approx(0.7, abs=1e-2)
    assert (x < 0.7).all()


def test_a_flat_function_costs_one_evaluation():
    function, calls = quadratic(0.5, 0.0)
    x, value = ascend(function, starts(3, 2), maxiter=100, first_step=0.1)
    assert calls == [3]
    assert (value == 0).all()
    assert np.array_equal(x, starts(3, 2))


def test_starts_that_cannot_catch_up_with_the_best_are_dropped():
    def function(x):
        value, gradient = plain(x)
        high = x[:, 0] > 0.9
        return np.where(high, 1e6, value), np.where(high[:, None], 0.0, gradient)

    plain, calls = quadratic(np.array([0.5, 0.5]), np.array([1.0, 20.0]))
    low = 0.8 * starts(6, 2)
    ascend(plain, low, maxiter=100, first_step=0.1)
    until_the_top = len(calls)
    calls.clear()
    _, value = ascend(function, np.concatenate([low, [[0.95, 0.5]]]), maxiter=100, first_step=0.1)
    assert len(calls) < until_the_top
    assert value[:-1].max() < -1e-8


def test_a_tolerance_ends_a_climb_below_the_best_where_it_hardly_rises_any_more():
    top = np.random.default_rng(1).random(10)

    def function(x):
        value, gradient = plain(x)
        on_other = x[:, 0] > 1.0 - 1e-12
        return np.where(on_other, 1.5, 1.0 + value), np.where(on_other[:, None], 0.0, gradient)

    plain, calls = quadratic(top, np.logspace(0, 3, 10))
    low = 0.9 * starts(1, 10)
    other = np.ones((1, 10))
    value = {}
    for tolerance in (0.0, 1e-3):
        for x in (low, np.concatenate([low, other])):
            calls.clear()
            _, reached = ascend(function, x, maxiter=300, first_step=0.1, tolerance=tolerance)
            value[tolerance, len(x)] = reached[0], len(calls)
    # Alone it is the best, and climbs to its top whatever the tolerance.
    assert value[1e-3, 1] == value[0.0, 1]
    assert value[1e-3, 1][0] > 1.0 - 1e-8
    assert value[1e-3, 2][1] < value[1e-3, 1][1]


def test_more_starts_join_those_still_running():
    function, calls = quadratic(np.array([0.5, 0.5]), np.array([1.0, 20.0]))
    asked = []

    def more(x, value):
        asked.append((len(x), value.copy()))
        return np.array([[0.1, 0.9], [np.nan, 0.5]]) if len(asked) == 1 else x[:0]

    first = np.array([[0.9, 0.1], [0.05, 0.05], [0.6, 0.95]])
    x, value = ascend(function, first, maxiter=100, first_step=0.01, more=more, few=3)
    assert asked[0][0] == 3
    assert asked[1][0] == 5
    # They are evaluated with the trials of those before.
    assert calls[:2] == [3, 5]
    assert np.array_equal(asked[0][1], function(first)[0])
    assert value[:4].max() > -1e-8
    assert np.isnan(value[4])
    assert x.shape == (5, 2)


def test_more_starts_are_asked_for_when_few_are_running():
    function, calls = quadratic(np.array([0.5, 0.5]), np.array([1.0, 20.0]))
    running = []

    def more(x, value):
        running.append(len(calls))
        return x[:0]

    ascend(function, starts(6, 2), maxiter=100, first_step=0.1, more=more, few=1)
    # Asked only once no more than one is running, then at every evaluation until the end.
    assert running[-1] == len(calls)
    assert calls[running[0] :] == [1] * (len(calls) - running[0])
    assert all(count > 1 for count in calls[: running[0]])
