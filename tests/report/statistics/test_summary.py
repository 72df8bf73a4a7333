import math

import numpy as np
import pytest

from scorebo.errors import InputError
from scorebo.report import final_values, format_summary
from tests.report.report_tables import AL_METHODS, AL_TASKS, join, run, suite


def three_seeds():
    return join(*(run("higdon", "bald", seed, [99, seed], rmse=[9, 0.1 * seed]) for seed in (1, 2, 6)))


def test_final_values_by_hand():
    row = final_values(three_seeds()).iloc[0]
    assert (row["benchmark"], row["model"], row["acquisition"]) == ("higdon", "al_lognormal", "bald")
    assert (row["seeds"], row["observations_min"], row["observations_max"]) == (3, 3, 3)
    assert row["negative_mll_mean"] == 3.0
    assert row["negative_mll_se"] == pytest.approx(math.sqrt(7 / 3), rel=1e-14)
    assert row["rmse_mean"] == pytest.approx(0.3, rel=1e-14)
    assert row["rmse_se"] == pytest.approx(0.1 * math.sqrt(7 / 3), rel=1e-14)


def test_one_row_per_task_and_method_in_the_papers_order():
    values = final_values(suite().sample(frac=1, random_state=0))
    assert list(zip(values["benchmark"], values["acquisition"], strict=True)) == [
        (task, method) for task in AL_TASKS for method in AL_METHODS
    ]


def test_text_by_hand():
    assert format_summary(three_seeds()).splitlines() == [
        "Task    Method  Seeds  Observations  Negative MLL         RMSE",
        "──────  ──────  ─────  ────────────  ────────────  ───────────",
        "Higdon  BALD        3             3     3.0 ± 1.5  0.30 ± 0.15",
    ]


def test_runs_of_unequal_length_are_shown_as_such():
    table = join(run("higdon", "bald", 1, [1, 2, 3]), run("higdon", "bald", 2, [5]))
    values = final_values(table).iloc[0]
    assert (values["observations_min"], values["observations_max"], values["negative_mll_mean"]) == (2, 4, 4.0)
    assert "2–4" in format_summary(table)


def test_one_seed_has_no_error_and_a_missing_value_is_counted():
    table = join(run("higdon", "bald", 1, [np.nan], rmse=[2.0]), run("higdon", "sal_hr", 1, [1.25], rmse=[np.nan]))
    lines = format_summary(table).splitlines()
    assert lines[2].split() == ["Higdon", "BALD", "1", "2", "–", "2.000"]
    assert lines[3].split() == ["Higdon", "SAL-HR", "1", "2", "1.250", "–"]
    two = join(run("higdon", "bald", 1, [np.nan]), run("higdon", "bald", 2, [1.0]))
    assert "1.000 (of 1)" in format_summary(two)


def test_models_are_named_where_a_task_has_several():
    table = join(run("higdon", "bald", 1, [1]), run("higdon", "bald", 1, [2], model="botorch"))
    lines = format_summary(table).splitlines()
    assert lines[0].split()[:3] == ["Task", "Model", "Method"]
    assert [line.split()[1] for line in lines[2:]] == ["al_lognormal", "botorch"]
    assert "Model" not in format_summary(three_seeds())


def test_columns_are_aligned():
    lines = format_summary(suite()).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 2 + 30


def test_refuses_an_empty_table():
    with pytest.raises(InputError, match="empty"):
        format_summary(suite().iloc[:0])
