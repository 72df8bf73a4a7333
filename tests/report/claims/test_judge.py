"""The judge on samples whose verdict is known, and how often it is right on many."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scorebo.report.claims import Claim, MissingRunsError, Part, Sample, judge
from scorebo.report.claims.base import (
    ESTIMATED,
    SHOWN,
    absent,
    alike,
    below_others,
    beside,
    best_count,
    greater,
    lacking,
    pooled,
    positive,
    within,
)
from scorebo.report.claims.text import statement_words, verdict_words

SURE, NEAR = np.linspace(0.9, 1.1, 10), np.array([1.0, -0.8, 1.2, -0.9, 1.1, -0.7, 0.9, -1.0])


def frame(seeds=10, noise=0.1, seed=0, **means):
    rng = np.random.default_rng(seed)
    common = rng.normal(0, 1, seeds)
    return pd.DataFrame({name: common + mean + rng.normal(0, noise, seeds) for name, mean in means.items()})


def finding(*parts):
    return judge(Claim("P0", "x", lambda _: list(parts)), None)


def verdict(*parts):
    return finding(*parts).verdict


def test_a_difference_is_decided_by_the_paired_t_test():
    data = frame(a=1.0, b=0.0)
    assert verdict(greater("", data, "a", "b")) == "supported"
    assert verdict(greater("", data, "b", "a")) == "contradicted"
    assert verdict(greater("", data, "a", "b", by=2.0)) == "contradicted"
    unsure = frame(a=0.05, b=0.0, noise=0.5)
    statement = finding(greater("a above b", unsure, "a", "b")).parts[0]
    found = stats.ttest_rel(unsure["a"], unsure["b"], alternative="greater")
    interval = stats.ttest_rel(unsure["a"], unsure["b"]).confidence_interval(0.95)
    assert statement.p_support == pytest.approx(found.pvalue)
    assert statement.p_against == pytest.approx(1 - found.pvalue)
    assert [statement.estimate.low, statement.estimate.high] == pytest.approx([interval.low, interval.high])
    with pytest.raises(MissingRunsError, match="no runs of c"):
        greater("", data, "a", "c")


def test_a_median_is_decided_by_the_sign_test():
    skewed = np.random.default_rng(0).exponential(size=25) - 0.3
    statement = finding(positive("x", skewed, median=True)).parts[0]
    found = stats.binomtest(int((skewed > 0).sum()), 25, alternative="greater")
    assert statement.p_support == pytest.approx(found.pvalue)
    assert statement.estimate.value == np.median(skewed)
    assert statement.estimate.low < statement.estimate.value < statement.estimate.high


def test_verdicts_by_significance_and_by_estimates():
    sure, wrong, with_it, against = (positive("x", v) for v in (SURE, -SURE, NEAR, -NEAR))
    assert verdict(sure) == "supported"
    assert verdict(with_it) == "agrees"
    assert verdict(against) == "disagrees"
    assert verdict(wrong) == "contradicted"
    assert verdict(sure, with_it) == "agrees"
    assert verdict(with_it, against) == "undecided"
    assert verdict(sure, wrong) == "contradicted"
    assert verdict(positive("x", SURE[:4])) == "undecided"


def test_a_description_must_agree_and_what_is_shown_does_not_count():
    sure, with_it, against, wrong = (positive("x", v) for v in (SURE, NEAR, -NEAR, -SURE))
    assert verdict(sure, replace(with_it, role=ESTIMATED)) == "supported"
    assert verdict(sure, replace(against, role=ESTIMATED)) == "undecided"
    assert verdict(sure, replace(wrong, role=ESTIMATED)) == "contradicted"
    assert verdict(sure, replace(wrong, role=SHOWN)) == "supported"


def test_another_metric_says_where_it_differs():
    paper, same, other = (positive("x", v) for v in (SURE, NEAR, -NEAR))
    found = finding(paper, beside(same, "in task units", paper), beside(other, "in task units", paper)).parts
    assert found[1].words.startswith("in task units: x: ")
    assert [part.words.endswith("otherwise than by the paper's metric") for part in found] == [False, False, True]


def test_holm_over_the_parts_before_a_claim_is_contradicted():
    # 0.5 standard deviations below 0, 20 seeds: p = 0.019, which is significant alone but not as one of two.
    values = stats.norm.ppf((np.arange(20) + 0.5) / 20)
    below = positive("x", values / values.std(ddof=1) - 0.5)
    assert stats.ttest_1samp(below.groups[0][0].values, 0, alternative="less").pvalue == pytest.approx(0.019, abs=0.001)
    assert verdict(below) == "contradicted"
    assert verdict(below, positive("y", SURE)) == "undecided"


def test_few_seeds_decide_nothing():
    found = finding(positive("x", SURE[:4]))
    assert (found.verdict, found.more_seeds, found.parts[0].needed) == ("undecided", 1, 5)
    assert verdict(best_count("x", [frame(seeds=4, a=0.0, b=9.0)], "a", ["b"], 1)) == "undecided"
    assert statement_words(finding(positive("x", np.array([1.0]))).parts[0]) == "x: 1, 1 seed, decided by about 5"
    assert statement_words(finding(positive("x", np.empty(0))).parts[0]) == "x: no seed that all have run"


def test_values_that_do_not_vary_are_sure_but_for_a_tie():
    assert verdict(positive("x", np.ones(6))) == "supported"
    assert verdict(positive("x", -np.ones(6))) == "contradicted"
    assert verdict(positive("x", np.zeros(6))) == "disagrees"


def test_alike_is_two_tests_within_a_margin():
    same = [frame(a=0.0, b=0.0, noise=0.02, seed=k) for k in range(3)]
    assert verdict(alike("x", same, "a", "b", 0.2)) == "supported"
    assert verdict(alike("x", [frame(a=1.0, b=0.0)], "a", "b", 0.2)) == "contradicted"
    unsure = finding(alike("x", [frame(a=0.0, b=0.0, noise=0.3)], "a", "b", 0.2))
    assert unsure.verdict == "agrees"
    assert unsure.parts[0].needed > 10
    assert verdict(within("x", 0.25 + NEAR / 100, 0.15, center=0.25)) == "supported"


def test_differences_that_cancel_between_tasks_are_not_alike():
    frames = [frame(a=sign, b=0.0, noise=0.02, seed=k) for k, sign in enumerate([1.0, -1.0] * 3)]
    part = alike("x", frames, "a", "b", 0.2)
    assert abs(part.groups[0][0].values.mean()) < 0.1
    assert verdict(part) == "contradicted"


def test_counts_of_tasks():
    tasks = [frame(a=0.0, b=1.0, seed=k) for k in range(4)] + [frame(a=1.0, b=0.0, seed=k) for k in range(2)]
    found = finding(best_count("best", tasks, "a", ["b"], 4))
    assert (found.verdict, found.parts[0].words) == ("supported", "best: 4 of 6 (95 % 4 to 4, said: at least 4)")
    assert verdict(best_count("best", tasks, "a", ["b"], 5)) == "contradicted"
    close = [*tasks[:3], frame(a=0.0, b=0.02, noise=0.3, seed=7), *tasks[4:]]
    estimate = finding(best_count("best", close, "a", ["b"], 4)).parts[0].estimate
    assert (estimate.low, estimate.high) == (3, 4)
    same = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0)})  # a tie is no win
    assert verdict(best_count("best", [same], "a", ["b"], 1)) == "disagrees"


def test_one_of_several_is_enough_where_it_is_said_of_one():
    groups = [[Sample(-SURE, "a")], [Sample(SURE, "b")], [Sample(-SURE, "c")]]
    found = finding(Part("some", groups, 1)).parts[0]
    assert found.verdict == "supported"
    assert found.words == "some, most certain of 3: b 1.000 (95 % 0.952 to 1.048)"
    assert verdict(Part("all", groups)) == "contradicted"


def test_a_sentence_has_the_levels_the_difference_and_its_interval():
    data = pd.DataFrame({"sal_hr": [2.0, 2.5, 2.2, 2.1, 2.4], "bald": [2.3, 2.4, 2.6, 2.2, 2.5], "sal_ws": [4.0] * 5})
    statement = finding(below_others("rank", data, ["sal_hr"], ["bald", "sal_ws"])).parts[0]
    assert statement.words == "rank, least certain of 2: SAL-HR 2.24, BALD 2.4 (difference 0.16, 95 % −0.08 to 0.40)"
    assert statement_words(statement) == f"{statement.words}, 5 seeds, decided by about {statement.needed}"


def test_seeds_that_would_decide_agree_with_the_normal_approximation():
    # One better by 0.3 standard deviations: (1.96 + 0.84)²/0.3² = 87 seeds, two more for Student's t.
    values = np.random.default_rng(1).normal(size=20)
    values = (values - values.mean()) / values.std(ddof=1) + 0.3
    found = finding(positive("x", values))
    assert (found.verdict, found.parts[0].needed) == ("agrees", pytest.approx(89, abs=2))
    assert found.more_seeds == found.parts[0].needed - 20
    assert verdict_words(found) == f"agrees (not significant: about {found.more_seeds} more seeds needed)"
    # The sign test needs π/2 times as many where values are normal.
    many = stats.norm.ppf((np.arange(200) + 0.5) / 200, loc=0.1)
    needed = [finding(positive("x", many, median=median)).parts[0].needed for median in (False, True)]
    assert needed[1] / needed[0] == pytest.approx(np.pi / 2, rel=0.1)


def test_tasks_without_runs_leave_a_claim_undecided():
    assert absent([]) == []
    found = finding(positive("x", SURE), *absent(["a", "b"]))
    assert (found.verdict, found.seeds, found.more_seeds) == ("undecided", 10, None)
    assert verdict_words(found) == "undecided (no runs on a, b)"
    assert statement_words(found.parts[1]) == "no runs on a, b"
    some = finding(*lacking([best_count("best", [frame(a=0.0, b=9.0)], "a", ["b"], 4)], ["t", "u"]))
    assert (some.verdict, some.note) == ("undecided", "no runs on t, u")
    assert some.parts[0].words.endswith("(no runs on t, u)")


def test_only_seeds_that_all_tasks_have_are_pooled():
    first, second = frame(seeds=6, a=0.0, b=1.0), frame(seeds=6, a=2.0, b=1.0).iloc[2:]
    both = pooled([first, second], ["a", "b"])
    pd.testing.assert_frame_equal(both, ((first + second) / 2).iloc[2:])
    with pytest.raises(MissingRunsError, match="no seed with runs of a, b on all tasks"):
        pooled([first.iloc[:2], second], ["a", "b"])


def test_a_verdict_on_less_than_the_papers_budgets_says_so():
    found = finding(positive("x", SURE))
    assert verdict_words(found) == "supported"
    small = replace(found, scale="small")
    assert verdict_words(small) == "supported (at scale small, not the paper's budgets)"


def test_a_claim_without_runs_is_not_run():
    def missing(_):
        raise MissingRunsError("no runs of experiment=x")

    found = judge(Claim("P0", "x", missing), None)
    assert (found.verdict, found.note, found.seeds) == ("not run", "no runs of experiment=x", 0)
    assert finding().verdict == "not run"


def rate(wanted, parts_of, studies=600):
    """The share of studies with one of these verdicts."""
    rng = np.random.default_rng(7)
    return np.mean([verdict(*parts_of(rng)) in wanted for _ in range(studies)])


def methods(rng, own, others=0.0, seeds=20):
    values = rng.lognormal(size=(seeds, 4)) + np.array([own, others, others, others])
    return pd.DataFrame(values, columns=list("abcd"))


def test_skewed_runs_that_do_not_differ_are_rarely_decided():
    most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / 600)
    one = lambda rng: [greater("", methods(rng, 0.0), "b", "a")]  # noqa: E731
    assert rate(["supported"], one) <= most
    assert rate(["contradicted"], one) <= most
    five = lambda rng: [below_others("", methods(rng, 0.0), ["a"], "bcd") for _ in range(5)]  # noqa: E731
    assert rate(["contradicted"], five) <= most
    median = lambda rng: [positive("", rng.exponential(size=20) - np.log(2), median=True)]  # noqa: E731
    assert rate(["supported"], median) <= most
    assert rate(["contradicted"], median) <= most
    count = lambda rng: [best_count("", [methods(rng, k) for k in (-9, -9, -9, 0, 0, 0)], "a", "bcd", 4)]  # noqa: E731
    assert rate(["supported"], count) <= most
    third = lambda rng: [best_count("", [methods(rng, k) for k in (-9, -9, 9, 0)], "a", "bcd", 3)]  # noqa: E731
    assert rate(["contradicted"], third) <= most
