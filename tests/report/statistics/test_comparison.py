import json
import math

import numpy as np
import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.report.statistics import compare, finals_by_task
from scorebo.report.statistics.text import as_plain, format_comparison
from tests.report.report_tables import bo_run, bo_suite, join, run
from tests.store.store_samples import make_run


def shifted(shift, seeds=8, task="branin", noise=0.1):
    """Two methods whose log10 regrets differ by `shift` and little noise, on seeds that differ much."""
    rng = np.random.default_rng(0)
    runs = []
    for seed in range(1, seeds + 1):
        level = rng.normal(0, 1)
        for method, own in (("nei", 0.0), ("scorebo_hr", shift)):
            curve = level + own - np.arange(5.0) + rng.normal(0, noise, 5)
            runs.append(bo_run(task, method, seed, 10**curve))
    return join(*runs)


def test_pairs_tell_apart_what_the_spread_of_seeds_would_hide():
    found = compare(shifted(-0.3), "inference_regret", "nei")
    (pair,) = found.pairs
    assert (pair.task, pair.method, pair.baseline, pair.final.pairs) == ("branin", "scorebo_hr", "nei", 8)
    assert pair.final.mean.value == pytest.approx(-0.3, abs=0.15)
    assert pair.final.mean.side == pair.area.mean.side == pair.final.iqm.side == -1
    assert pair.final.improvement.value > 0.8
    assert pair.final.p_value < 0.05
    assert pair.final.seeds_needed <= 8
    assert found.ranks["branin"].ranks[found.ranks["branin"].methods.index("scorebo_hr")] < 1.3


def test_area_is_the_mean_level_along_the_run():
    table = join(*(bo_run("branin", m, s, [10.0, 1.0, 0.1]) for m in ("nei", "jes") for s in (1, 2)))
    (task,) = finals_by_task(table, "inference_regret")
    assert task.horizon == 4
    assert (task.final.to_numpy() == -1.0).all()
    np.testing.assert_allclose(task.area.to_numpy(), 0.0, atol=1e-15)  # trapezoid of 1, 0, -1


def test_only_pairs_with_both_count_and_what_is_missing_is_said():
    table = shifted(-0.3, seeds=6)
    table = table[~((table["acquisition"] == "nei") & (table["seed"] == 2))]
    short = (table["acquisition"] == "scorebo_hr") & (table["seed"] == 3) & (table["iteration"] > 4)
    table = table[~short].reset_index(drop=True)
    last = (table["acquisition"] == "scorebo_hr") & (table["seed"] == 4) & (table["num_observations"] == 6)
    table.loc[last, "inference_regret"] = np.nan
    found = compare(table, "inference_regret", "nei")
    assert found.pairs[0].final.pairs == 3
    assert found.horizons == {"branin": 6}
    assert found.notes == ("Branin: runs with a value at 6 observations: NEI 5 of 6, SCoreBO-HR 4 of 6.",)


def test_the_horizon_of_a_half_finished_sweep():
    lengths = [2, 2, 4, 4, 4, 5]
    table = join(*(bo_run("branin", "nei", s, [1.0] * n) for s, n in enumerate(lengths, 1)))
    assert finals_by_task(table, "inference_regret")[0].horizon == 5


def test_all_tasks_together():
    table = join(shifted(-0.3), shifted(-0.1, task="hartmann3"), shifted(-0.2, task="hartmann6", seeds=4))
    found = compare(table, "inference_regret", "nei")
    everything = found.pairs[-1]
    assert everything.task is None
    assert everything.final.pairs == 20
    each = [pair.final.mean.value for pair in found.pairs[:-1]]
    assert everything.final.mean.value == pytest.approx(np.mean(each))
    assert everything.final.mean.low < -0.2 < everything.final.mean.high
    assert found.ranks[""].blocks == 20


def test_each_with_each_without_a_baseline_and_holm_within_a_task():
    found = compare(bo_suite(methods=["nei", "jes", "mes"], tasks=["branin"], seeds=range(1, 7)), "simple_regret")
    assert [(p.method, p.baseline) for p in found.pairs] == [("jes", "mes"), ("jes", "nei"), ("mes", "nei")]
    for pair in found.pairs:
        assert pair.final.p_value <= pair.final.p_holm <= 3 * pair.final.p_value + 1e-12


def test_one_acquisition_under_several_models():
    table = join(
        *(bo_run("gp8", "nei", s, [1.0, 0.1 * k], model=m) for k, m in ((1, "true"), (2, "botorch")) for s in (1, 2, 3))
    )
    found = compare(table, "inference_regret")
    assert [(p.method, p.baseline) for p in found.pairs] == [("nei@true", "nei@botorch")]
    assert found.pairs[0].final.mean.value == pytest.approx(-math.log10(2))
    assert "NEI (botorch)" in format_comparison(found)


def test_the_best_observation_of_a_task_that_is_maximized():
    def table(sign):
        return join(
            *(
                bo_run("ackley", m, s, [1.0, 1.0], best=[0.0, sign * top])
                for m, top in (("nei", 1.0), ("jes", 2.0))
                for s in (1, 2, 3)
            )
        )

    for sign in (1, -1):
        found = compare(table(sign).assign(maximize=sign == 1), "best_observed", "nei")
        assert found.pairs[0].final.improvement.value == 1.0  # JES is the better one either way
        assert found.pairs[0].final.mean.value == -1.0


def test_text_and_json():
    found = compare(join(shifted(-0.3, seeds=2), shifted(0.0, task="hartmann3")), "inference_regret", "nei")
    text = format_comparison(found)
    assert "Branin, at 6 observations" in text
    assert "Over all tasks" in text
    assert "No interval from fewer than 3 shared seeds." in text
    assert "critical difference" in text
    plain = json.loads(json.dumps(as_plain(found), allow_nan=False))
    assert plain["pairs"][0]["final"]["mean"]["low"] is None
    assert plain["pairs"][0]["final"]["pairs"] == 2


def test_refusals():
    with pytest.raises(InputError, match="nothing to compare: the runs are all of nei"):
        compare(bo_suite(methods=["nei"]), "inference_regret")
    with pytest.raises(InputError, match=r"Unknown baseline 'ney'\. Did you mean nei"):
        compare(bo_suite(methods=["nei", "jes"]), "inference_regret", "ney")
    with pytest.raises(InputError, match=r"Unknown metric 'regret'"):
        compare(bo_suite(), "regret")
    with pytest.raises(InputError, match="no finite value of"):
        compare(bo_suite().assign(inference_regret=np.nan), "inference_regret")
    one_seed = compare(join(run("higdon", "bald", 1, [1.0]), run("higdon", "sal_hr", 1, [0.5])), "negative_mll", "bald")
    assert math.isnan(one_seed.pairs[0].final.mean.low)
    assert "(one seed)" in format_comparison(one_seed)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    for config in sweep_configs(
        ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=bald,sal_hr", "seed=1,2"]
    ):
        make_run(results, config, 4)
    return results


class TestCommand:
    def test_table_and_json(self, results, capsys):
        assert main(["compare", "--results", str(results), "--metric", "negative_mll", "--baseline", "bald"]) == 0
        out = capsys.readouterr().out
        assert "Gramacy (1D), at 3 observations" in out
        assert "(experiment al_mll at scale smoke: 4 of 90 runs)" in out
        assert main(["compare", "--results", str(results), "--metric", "negative_mll", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["pairs"][0]["method"] == "bald"

    def test_two_versions_of_a_config_are_refused(self, results, tmp_path, capsys):
        for seed, total in ((1, 15), (2, 20)):
            for config in sweep_configs(
                ["benchmark=gramacy1", "acquisition=bald", f"seed={seed}", f"benchmark.total={total}"]
            ):
                make_run(tmp_path, config, 4)
        assert main(["compare", "--results", str(tmp_path), "--metric", "rmse", "--all"]) == 2
        assert "have benchmark.total=20 and 15" in capsys.readouterr().err
        assert main(["compare", "--results", str(tmp_path / "none"), "--metric", "rmse"]) == 2
        assert main(["compare", "--results", str(results), "--metric", "rmsee"]) == 2
        assert "Did you mean rmse" in capsys.readouterr().err
