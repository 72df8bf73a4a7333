import itertools
import math

import numpy as np
import pytest
from scipy import stats

from scorebo.report.statistics.power import power, seeds_for_effect, seeds_needed
from scorebo.report.statistics.rank_test import critical_difference, rank_test
from scorebo.report.statistics.significance import holm, probability_of_improvement, wilcoxon


def test_holm_against_statsmodels():
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(0)
    for p in (
        [0.01, 0.04, 0.03, 0.005],
        [0.9, 0.8],
        [0.0, 1.0, 0.5, 0.5],
        *(rng.beta(0.3, 1.0, n) for n in (1, 7, 60)),
    ):
        np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


def test_holm_leaves_out_what_is_no_test():
    np.testing.assert_allclose(holm([0.5, math.nan, 0.02]), [0.5, math.nan, 0.04])
    assert holm([]).shape == (0,)
    assert np.isnan(holm([math.nan])).all()


def test_wilcoxon_is_exact_for_few_pairs():
    # All five of one sign: 2 of the 32 patterns are as extreme.
    assert wilcoxon(np.array([0.1, 0.2, 0.4, 0.5, 0.9])) == pytest.approx(2 / 32)
    values = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    other = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    # Hollander and Wolfe's depression data, R's wilcox.test: V = 40, p = 0.03906.
    assert wilcoxon(values - other) == pytest.approx(0.0390625)


def test_wilcoxon_of_awkward_differences():
    assert wilcoxon(np.zeros(5)) == 1.0
    assert math.isnan(wilcoxon(np.array([1.0])))
    assert 0.0 < wilcoxon(np.array([0.0, 1.0, 1.0, -1.0, 2.0])) <= 1.0


def test_probability_of_improvement():
    assert probability_of_improvement(np.array([-1.0, -2.0, 0.0, 3.0])) == 0.625
    assert math.isnan(probability_of_improvement(np.empty(0)))


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)])
def test_critical_difference_against_demsars_table(methods, q):
    blocks = 14
    assert critical_difference(methods, blocks) == pytest.approx(
        q * math.sqrt(methods * (methods + 1) / (6 * blocks)), abs=1e-3
    )


@pytest.mark.parametrize("methods", [2, 3, 5, 11, 24])
@pytest.mark.parametrize("level", [0.1, 0.05, 0.01])
def test_critical_difference_against_statsmodels(methods, level):
    """Nemenyi's q is the studentized range's over √2; statsmodels interpolates that to about four digits."""
    from statsmodels.stats.libqsturng import qsturng

    q = float(qsturng(1 - level, methods, np.inf)) / math.sqrt(2)
    expected = q * math.sqrt(methods * (methods + 1) / (6 * 30))
    assert critical_difference(methods, 30, level) == pytest.approx(expected, rel=1e-4)


def test_friedman_against_scipy_with_and_without_ties():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=(12, 4)), rng.integers(0, 3, (12, 4)).astype(float)):
        chi2 = stats.friedmanchisquare(*values.T).statistic
        n, k = values.shape
        f = (n - 1) * chi2 / (n * (k - 1) - chi2)  # Iman and Davenport
        found = rank_test(values, tuple("abcd"))
        assert found.p_value == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)), rel=1e-9)
        assert sum(found.ranks) == pytest.approx(10.0)


def test_groups_are_those_within_the_critical_difference():
    # Demšar's example in kind: the outer two differ, the middle is like both.
    values = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3], [1, 2, 3]], dtype=float)
    found = rank_test(values, ("a", "b", "c"))
    assert found.groups() == [("a", "b"), ("b", "c")]
    assert rank_test(np.ones((4, 2)), ("a", "b")).p_value == 1.0
    # All blocks alike: the first may have any order, the others the same, as counted over all orders.
    assert rank_test(np.tile([1.0, 2.0], (4, 1)), ("a", "b")).p_value == pytest.approx(1 / 8)
    orders = set(itertools.permutations([1.0, 1.0, 2.0, 3.0]))
    alike = sum(a == b for a in orders for b in orders) / len(orders) ** 2
    assert rank_test(np.tile([1.0, 1.0, 2.0, 3.0], (2, 1)), tuple("abcd")).p_value == pytest.approx(alike)
    assert math.isnan(rank_test(np.array([[1.0, 2.0]]), ("a", "b")).p_value)


def test_power_against_tables():
    # Cohen's table for the paired t test at 5 %: δ = 0.5 takes 34 pairs for a power of 0.8 (G*Power: 0.8078).
    assert seeds_for_effect(0.5) == 34
    assert power(0.5, 34) == pytest.approx(0.8078, abs=1e-4)
    assert seeds_for_effect(-0.8) == 15
    assert power(0.0, 10) == pytest.approx(0.05)


def test_power_against_simulation():
    effect, rng, repeats = 0.7, np.random.default_rng(1), 4000
    seeds = seeds_for_effect(effect)
    seen = np.mean(stats.ttest_1samp(rng.normal(effect, 1.0, (repeats, seeds)), 0.0, axis=1).pvalue < 0.05)
    error = math.sqrt(0.8 * 0.2 / repeats)
    assert power(effect, seeds) == pytest.approx(seen, abs=3 * error)
    assert power(effect, seeds - 1) < 0.8 <= power(effect, seeds)


def test_seeds_needed_of_differences():
    assert seeds_needed(np.array([-1.0, 1.0])) is None
    assert seeds_needed(np.array([1.0])) is None
    assert seeds_needed(np.full(4, 0.5)) == 2
    rng = np.random.default_rng(2)
    values = rng.normal(size=20)
    values = (values - values.mean()) / values.std(ddof=1)
    assert seeds_needed(3.0 * (values + 0.5)) == 34
    assert seeds_needed(values + 1e-4) is None
