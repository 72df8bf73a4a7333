import math

import numpy as np
import pytest

from scorebo.report.statistics.curves import curves, gaps
from scorebo.report.statistics.table import model_rows
from tests.report.report_tables import join, run, suite


def points(table, metric="negative_mll"):
    return curves(model_rows(table, [metric]), metric)


def notes(table):
    return gaps(model_rows(table, ["negative_mll"]), "negative_mll")


def test_mean_and_standard_error_by_hand():
    table = join(*(run("higdon", "bald", seed, [seed, 10.0 * seed]) for seed in (1, 2, 6)))
    result = points(table)
    # values 1, 2, 6: mean 3, variance (4 + 1 + 9)/2 = 7
    assert result["mean"].tolist() == [3.0, 30.0]
    assert result["standard_error"].tolist() == pytest.approx([math.sqrt(7 / 3), 10 * math.sqrt(7 / 3)], rel=1e-14)
    assert result["runs"].tolist() == [3, 3]
    assert result["num_observations"].tolist() == [2, 3]


def test_each_point_counts_the_runs_that_have_it():
    table = join(run("higdon", "bald", 1, [1, 2, 3]), run("higdon", "bald", 2, [3, 4]), run("higdon", "bald", 3, [5]))
    result = points(table)
    assert result["runs"].tolist() == [3, 2, 1]
    assert result["mean"].tolist() == [3.0, 3.0, 3.0]
    assert np.isnan(result["standard_error"].iloc[2])


def test_values_that_are_not_finite_are_left_out():
    table = join(run("higdon", "bald", 1, [1, np.inf]), run("higdon", "bald", 2, [np.nan, 4]))
    result = points(table)
    assert result["mean"].tolist() == [1.0, 4.0]
    assert result["runs"].tolist() == [1, 1]
    assert notes(table)[0] == "Higdon: values not finite, left out: BALD 2."


def test_a_point_without_any_value_is_absent():
    assert points(run("higdon", "bald", 1, [1, np.nan, 3]))["num_observations"].tolist() == [2, 4]


def test_tasks_and_methods_are_kept_apart():
    table = join(run("higdon", "bald", 1, [1]), run("higdon", "bqbc", 1, [2]), run("gramacy1", "bald", 1, [3]))
    assert points(table)[["benchmark", "acquisition", "mean"]].to_numpy().tolist() == [
        ["gramacy1", "bald", 3.0],
        ["higdon", "bald", 1.0],
        ["higdon", "bqbc", 2.0],
    ]


def test_nothing_to_note_about_a_complete_suite():
    assert notes(suite()) == []


def test_notes_say_what_is_missing():
    whole = [run("ishigami", method, seed, [1, 2, 3]) for method in ("bald", "sal_hr") for seed in (1, 2, 3, 4)]
    short = run("ishigami", "sal_ws", 1, [1])
    assert notes(join(*whole, short, run("ishigami", "sal_ws", 2, [1]))) == [
        "Ishigami: of 4 runs SAL-WS has 2; runs that end before 4 observations: SAL-WS 2.",
        "No band where fewer than three runs are averaged.",
    ]
    other = [run("higdon", "bald", seed, [1]) for seed in (1, 2, 3)]
    assert notes(join(*whole, *other)) == ["Higdon: of 3 runs SAL-HR has none."]
