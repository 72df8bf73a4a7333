import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from scorebo.report.statistics.ranking import TIME, ranking
from scorebo.report.statistics.table import model_rows
from tests.report.report_tables import AL_METHODS, join, run, suite


def ranks_of(table, window=1):
    return ranking(model_rows(table, ["negative_mll"]), "negative_mll", window)


def test_two_methods_by_hand():
    table = join(run("higdon", "bald", 1, [1, 1, 5]), run("higdon", "sal_hr", 1, [2, 1, 4]))
    result = ranks_of(table)
    # bald is first, ties, is second: ranks 1, 1.5, 2 at 0, 50 and 100 %
    assert result.ranks["bald"][[0, 25, 50, 100]].tolist() == [1.0, 1.25, 1.5, 2.0]
    assert result.ranks["sal_hr"][[0, 25, 50, 100]].tolist() == [2.0, 1.75, 1.5, 1.0]
    assert result.seeds == {"higdon": 1}


def test_ranks_agree_with_scipy():
    seeds = range(1, 6)
    table = suite(["gramacy2"], AL_METHODS, seeds, length=21)
    table["negative_mll"] = table["negative_mll"].round(1)  # ties
    result = ranks_of(table)
    by_run = table.dropna().set_index(["num_observations", "seed", "acquisition"])["negative_mll"]
    values = np.array([[by_run[n, s, m] for m in AL_METHODS] for n in range(2, 23) for s in seeds])
    expected = rankdata(values, axis=1).reshape(21, 5, 5).mean(axis=1)
    assert len(np.unique(values)) < values.size / 2
    for column, method in enumerate(AL_METHODS):
        np.testing.assert_allclose(result.ranks[method][::5], expected[:, column], rtol=1e-13)


def test_ranks_of_all_methods_sum_to_the_same():
    for window in (1, 11):
        result = ranks_of(suite(), window)
        np.testing.assert_allclose(np.sum(list(result.ranks.values()), axis=0), 15.0, rtol=1e-12)


def test_seeds_that_a_method_lacks_take_no_part():
    table = join(
        run("higdon", "bald", 1, [1, 1]),
        run("higdon", "sal_hr", 1, [2, 2]),
        run("higdon", "bald", 2, [9, 9]),
        run("higdon", "sal_hr", 3, [0, 0]),
    )
    result = ranks_of(table)
    assert result.seeds == {"higdon": 1}
    assert set(result.ranks["bald"]) == {1.0}


def test_tasks_weigh_the_same_whatever_their_length():
    table = join(
        *(run("higdon", "bald", seed, [1] * 5) for seed in (1, 2, 3)),
        *(run("higdon", "sal_hr", seed, [2] * 5) for seed in (1, 2, 3)),
        run("ishigami", "bald", 1, [2] * 40),
        run("ishigami", "sal_hr", 1, [1] * 40),
    )
    np.testing.assert_allclose(ranks_of(table).ranks["bald"], 1.5)


def test_a_task_that_a_method_lacks_takes_no_part():
    table = join(
        run("higdon", "bald", 1, [1, 1]), run("higdon", "sal_hr", 1, [2, 2]), run("ishigami", "sal_hr", 1, [0, 0])
    )
    result = ranks_of(table)
    assert result.seeds == {"higdon": 1}
    assert set(result.ranks["sal_hr"]) == {2.0}


def test_an_unfinished_run_is_ranked_as_far_as_it_goes():
    table = join(run("higdon", "bald", 1, [1, 1, 1, 1, 1]), run("higdon", "sal_hr", 1, [2, 2, 2]))
    ranks = ranks_of(table, window=11).ranks["bald"]
    assert np.array_equal(np.isfinite(ranks), TIME <= 50)


def test_missing_values_rank_nobody_and_infinite_ones_last():
    table = join(run("higdon", "bald", 1, [np.inf, np.nan, 1]), run("higdon", "sal_hr", 1, [7, 7, 7]))
    ranks = ranks_of(table).ranks["bald"]
    assert ranks[[0, 50, 100]].tolist() == [2.0, 1.5, 1.0]  # between 0 and 100 % the line is straight


def test_moving_average_against_a_plain_one():
    table = suite(["higdon", "ishigami"], ["bald", "sal_hr"], [1, 2], 30)
    plain, smooth = ranks_of(table, 1).ranks["bald"], ranks_of(table, 11).ranks["bald"]
    expected = [plain[max(0, i - 5) : i + 6].mean() for i in range(len(TIME))]
    np.testing.assert_allclose(smooth, expected, rtol=1e-12)


def test_no_ranking_without_two_methods_that_share_a_seed():
    assert ranks_of(run("higdon", "bald", 1, [1, 2])) is None
    assert ranks_of(join(run("higdon", "bald", 1, [1, 2]), run("higdon", "sal_hr", 2, [1, 2]))) is None


def test_a_single_model_is_ranked_at_the_start():
    result = ranks_of(join(run("higdon", "bald", 1, [1]), run("higdon", "sal_hr", 1, [2])))
    assert result.ranks["bald"][0] == 1.0
    assert np.isnan(result.ranks["bald"][1:]).all()


def test_order_of_the_rows_does_not_matter():
    table = suite(["higdon"], ["bald", "sal_hr"], [1, 2], 10)
    shuffled = table.sample(frac=1, random_state=3)
    assert isinstance(shuffled, pd.DataFrame)
    assert ranks_of(shuffled).ranks["bald"] == pytest.approx(ranks_of(table).ranks["bald"], abs=1e-15)


def test_sort_indices_are_what_stands_at_a_methods_place_in_the_order():
    table = suite(["gramacy2"], AL_METHODS, range(1, 6), length=21)
    rows = model_rows(table, ["negative_mll"])
    result = ranking(rows, "negative_mll", 1, sort_indices=True)
    by_run = rows.set_index(["num_observations", "seed", "acquisition"])["negative_mll"]
    for n in (2, 12, 22):
        sums = np.zeros(len(AL_METHODS))
        for seed in range(1, 6):
            values = {method: by_run[n, seed, method] for method in AL_METHODS}
            order = sorted(values, key=values.get)  # the best first
            sums += [1 + AL_METHODS.index(method) for method in order]
        for place, method in enumerate(AL_METHODS):
            assert result.ranks[method][5 * (n - 2)] == pytest.approx(sums[place] / 5)
    assert any(not np.array_equal(result.ranks[method], ranks_of(table).ranks[method]) for method in AL_METHODS)
