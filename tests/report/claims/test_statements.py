from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scorebo.report.claims.base import CONTRADICTED, NOT_RUN, SUPPORTED, UNDECIDED, Claim, MissingRunsError, Part, judge
from scorebo.report.claims.order_tests import Ahead, Below
from scorebo.report.claims.statements import (
    absent,
    alike,
    below_others,
    best_count,
    expanded_tail,
    greater,
    holds,
    positive,
)
from scorebo.report.claims.text import statement_words, verdict_words
from scorebo.report.statistics import Estimate


def frame(seeds=10, noise=0.1, seed=0, **means):
    rng = np.random.default_rng(seed)
    common = rng.normal(0, 1, seeds)
    return pd.DataFrame({name: common + mean + rng.normal(0, noise, seeds) for name, mean in means.items()})


def test_greater_is_decided_by_the_interval_of_the_paired_difference():
    data = frame(a=1.0, b=0.0)
    assert greater("a − b", data, "a", "b").verdict == SUPPORTED
    assert greater("b − a", data, "b", "a").verdict == CONTRADICTED
    unsure = greater("a − b", frame(a=0.05, b=0.0, noise=0.5), "a", "b")
    assert unsure.verdict == UNDECIDED
    assert unsure.seeds == 10
    with pytest.raises(MissingRunsError, match="no runs of c"):
        greater("a − c", data, "a", "c")


def test_few_seeds_decide_nothing():
    for values in ([1.0, 1.1], [1.0, 1.1, 1.2, 1.3]):
        few = positive("x", np.array(values))
        assert (few.verdict, few.needed) == (UNDECIDED, 5)
    same = frame(seeds=4, noise=0.001, a=0.0, b=0.0)
    assert alike("a − b", [same], "a", "b", 0.2).verdict == UNDECIDED
    part = holds("best", [frame(seeds=4, a=0.0, b=9.0)], ["a", "b"], best_count(0, 1))
    assert (part.verdict, part.needed) == (UNDECIDED, 5)
    some = holds("best", [frame(seeds=4, a=0.0, b=9.0)], ["a", "b"], best_count(0, 1), missing=["t", "u"])
    assert (some.words, some.lacking) == ("best (no runs on t, u)", ("t", "u"))
    assert (some.verdict, some.needed) == (UNDECIDED, None)
    assert statement_words(positive("x", np.array([1.0]))) == "x: +1, 1 seed"


def test_alike_needs_an_interval_within_the_margin():
    same = [frame(a=0.0, b=0.0, noise=0.02, seed=k) for k in range(3)]
    assert alike("a − b", same, "a", "b", 0.2).verdict == SUPPORTED
    assert alike("a − b", [frame(a=1.0, b=0.0)], "a", "b", 0.2).verdict == CONTRADICTED
    unsure = alike("a − b", [frame(a=0.0, b=0.0, noise=1.0)], "a", "b", 0.2)
    assert unsure.verdict == UNDECIDED
    assert unsure.needed > 10
    some = alike("a − b", same, "a", "b", 0.2, missing=["t"])
    assert (some.verdict, some.lacking) == (UNDECIDED, ("t",))


def test_differences_that_cancel_between_tasks_are_not_alike():
    frames = [frame(a=sign, b=0.0, noise=0.02, seed=k) for k, sign in enumerate([1.0, -1.0] * 3)]
    part = alike("a − b", frames, "a", "b", 0.2)
    assert abs(part.estimate.value) < 0.1
    assert part.verdict == CONTRADICTED
    assert part.words == "a − b (alike: within ±0.2), beyond on 6 of 6 tasks"
    assert alike("a − b", frames, "a", "b", 0.2, missing=["t"]).verdict == UNDECIDED


def test_tasks_at_the_margin_are_rarely_called_beyond_it():
    """Six tasks with the largest differences that count as alike: the share of studies that say otherwise."""
    studies = 300
    wrong = sum(
        "beyond" in alike("", [frame(a=0.2, b=0.0, noise=0.1, seed=7 * k + t) for t in range(6)], "a", "b", 0.2).words
        for k in range(studies)
    )
    # At most 2.5 % by construction; three standard errors of that on top.
    assert wrong / studies <= 0.025 + 3 * (0.025 * 0.975 / studies) ** 0.5


def test_a_verdict_on_less_than_the_papers_budgets_says_so():
    finding = judge(Claim("P0", "x", lambda _: [positive("x", np.array([1.0, 1.1, 1.2, 1.1, 1.0]))]), None)
    assert verdict_words(finding) == "supported"
    small = replace(finding, scale="small")
    assert verdict_words(small) == "supported (at scale small, not the paper's budgets)"


def test_tasks_without_runs_leave_a_claim_undecided():
    assert absent([]) == []
    parts = [positive("x", np.array([1.0, 1.1, 1.2])), *absent(["a", "b"])]
    found = judge(Claim("P0", "x", lambda _: parts), None)
    assert (found.verdict, found.seeds, found.more_seeds) == (UNDECIDED, 3, None)
    assert verdict_words(found) == "undecided (no runs on a, b)"
    assert statement_words(found.parts[1]) == "no runs on a, b"
    assert statement_words(positive("x", np.empty(0))) == "x: no seed that all have run"


def test_counts_of_tasks():
    tasks = [frame(a=0.0, b=1.0, seed=k) for k in range(4)] + [frame(a=1.0, b=0.0, seed=k) for k in range(2)]
    assert holds("best on 4", tasks, ["a", "b"], best_count(0, 4)) == Part(
        "best on 4", Estimate(0.5, 0.5, 0.5), 10, SUPPORTED
    )
    assert holds("best on 5", tasks, ["a", "b"], best_count(0, 5)).verdict == CONTRADICTED
    close = [*tasks[:3], frame(a=0.0, b=0.02, noise=0.3, seed=7), *tasks[4:]]
    unsure = holds("best on 4", close, ["a", "b"], best_count(0, 4))
    assert unsure.verdict == UNDECIDED
    assert unsure.needed is None or unsure.needed > 10
    assert holds("best on 4", tasks, ["a", "b"], best_count(0, 4), missing=["t"]).verdict == UNDECIDED
    same = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0)})  # a tie is no win
    assert holds("best on 1", [same], ["a", "b"], best_count(0, 1)).verdict == CONTRADICTED


def test_below_others_takes_the_worst_of_one_side_and_the_best_of_the_other():
    values = [np.array([[[1.0, 2.0, 3.0, 5.0]]])]
    assert below_others([0, 1], [2, 3])(values).tolist() == [1.0]
    assert below_others([2], [0, 1, 3])(values).tolist() == [-2.0]


def studies(statistic, means, seeds=10, repeats=200):
    """How often each verdict is given on independent normal values with these means, a row a task."""
    rng, names = np.random.default_rng(5), [str(k) for k in range(len(means[0]))]
    found = []
    for _ in range(repeats):
        tasks = [pd.DataFrame(rng.normal(size=(seeds, len(names))) + row, columns=names) for row in means]
        found.append(holds("x", tasks, names, statistic).verdict)
    return {verdict: found.count(verdict) / repeats for verdict in (SUPPORTED, CONTRADICTED)}


def test_an_order_that_is_barely_true_or_barely_false_is_not_decided_wrongly():
    most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / 200)
    slightly, equal, far = [-0.1, 0, 0, 0, 0], [0.0] * 5, [-9.0, 0, 0, 0, 0]
    # True, if by little: best on all six tasks, on four of them, on one.
    assert studies(best_count(0, 4), [slightly] * 6)[CONTRADICTED] <= most
    assert studies(best_count(0, 4), [slightly] * 4 + [[9.0, 0, 0, 0, 0]] * 2)[CONTRADICTED] <= most
    assert studies(below_others([0], [1, 2, 3, 4]), [slightly])[CONTRADICTED] <= most
    assert studies(Ahead(0, 1), [[0.0, -9.0, 0, 0], equal[:4]])[CONTRADICTED] <= most
    # False, if by little: best on three and as good as the other on three; no method is better than one's own.
    assert studies(best_count(0, 4), [far[:2]] * 3 + [[0.0, 0.0]] * 3)[SUPPORTED] <= most
    assert studies(Below((0,), (1, 2, 3, 4), negated=True), [equal])[SUPPORTED] <= most


def test_an_order_that_is_clear_is_decided():
    clear, not_best = [-1.5, 0, 0, 0, 0], [1.5, 0, 0, 0, 0]
    assert studies(best_count(0, 4), [clear] * 5 + [not_best], 20, 20)[SUPPORTED] >= 0.9
    assert studies(best_count(0, 4), [clear] * 2 + [not_best] * 4, 20, 20)[CONTRADICTED] >= 0.9
    assert studies(below_others([0], [1, 2, 3, 4]), [clear], 20, 20)[SUPPORTED] >= 0.9
    assert studies(below_others([0], [1, 2, 3, 4]), [not_best], 20, 20)[CONTRADICTED] >= 0.9
    assert studies(Below((0,), (1, 2, 3, 4), negated=True), [not_best], 20, 20)[SUPPORTED] >= 0.9
    second = [0.0, -2.0, 2.0, 2.0]
    assert studies(Ahead(0, 1), [second, second], 20, 20)[SUPPORTED] >= 0.9
    assert studies(Ahead(0, 1), [second, [0.0, -2.0, -2.0, 2.0]], 20, 20)[CONTRADICTED] >= 0.9


def test_the_interval_of_one_pair_is_students():
    data = frame(seeds=12, a=0.0, b=0.1, noise=0.2)
    part = holds("b − a", [data], ["a", "b"], below_others([0], [1]))
    interval = stats.ttest_rel(data["b"], data["a"]).confidence_interval(0.95)
    assert [part.estimate.low, part.estimate.high] == pytest.approx([interval.low, interval.high])


def test_seeds_to_decide_agree_with_the_normal_approximation():
    # One method better by 0.3 standard deviations: (1.96 + 0.84)²/0.3² = 87 seeds, met by a doubling of 20.
    rng = np.random.default_rng(1)
    differences = rng.normal(size=20)
    differences = (differences - differences.mean()) / differences.std() + 0.3
    data = pd.DataFrame({"a": np.zeros(20), "b": differences})
    part = holds("b − a", [data], ["a", "b"], below_others([0], [1]))
    assert part.verdict == UNDECIDED
    assert part.needed in (80, 160)


def test_the_expanded_interval_covers_with_five_seeds():
    rng, repeats = np.random.default_rng(2), 300
    tail = expanded_tail(5)
    found = []
    for _ in range(repeats):
        values = rng.normal(size=5)
        low, high = np.quantile(values[rng.integers(0, 5, (2000, 5))].mean(1), [tail, 1 - tail])
        found.append(low <= 0.0 <= high)
    # The resamples of five values have no tails as long as Student's: short of 95 %, but not the 84 % of the plain one.
    assert np.mean(found) == pytest.approx(0.92, abs=3 * np.sqrt(0.92 * 0.08 / repeats))


def test_verdicts_are_joined():
    def part(verdict, seeds=10, needed=None):
        return Part("x", Estimate(0.0), seeds, verdict, needed)

    def verdict(*parts):
        return judge(Claim("P0", "x", lambda _: list(parts)), None)

    assert verdict(part(SUPPORTED), part(SUPPORTED)).verdict == SUPPORTED
    assert verdict(part(SUPPORTED), part(UNDECIDED), part(CONTRADICTED)).verdict == CONTRADICTED
    unsure = verdict(part(SUPPORTED, 8), part(UNDECIDED, 10, 35), part(UNDECIDED, 10, 12))
    assert (unsure.verdict, unsure.seeds, unsure.more_seeds) == (UNDECIDED, 8, 25)
    assert verdict(part(UNDECIDED, 10, 35), part(UNDECIDED, 10, None)).more_seeds is None

    def missing(_):
        raise MissingRunsError("no runs of experiment=x")

    finding = judge(Claim("P0", "x", missing), None)
    assert (finding.verdict, finding.note, finding.seeds) == (NOT_RUN, "no runs of experiment=x", 0)
