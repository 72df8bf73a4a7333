import re

import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.report.statistics.health import fits, format_health, health, health_note, unhealthy_runs
from tests.report.report_tables import join, run
from tests.store.store_samples import make_run


def table(**bad):
    """Two runs of ten fits; `bad` are the diagnostics of two fits of the second."""
    good = {"mcmc_draws": 256, "mcmc_divergences": 0, "mcmc_rhat": 1.01, "mcmc_ess_bulk": 100.0, "mcmc_fallback": None}
    both = join(*(run("higdon", m, 1, [0.0] * 10).assign(run_id=m, **good) for m in ("bald", "sal_hr")))
    rows = both.index[(both["acquisition"] == "sal_hr") & both["num_observations"].notna()][:2]
    for name, value in bad.items():
        both[name] = both[name].astype(object)
        both.loc[rows, name] = value
    return both


@pytest.mark.parametrize(
    "bad", [{"mcmc_divergences": 14}, {"mcmc_rhat": 1.2}, {"mcmc_ess_bulk": 9.0}, {"mcmc_fallback": "hmc"}]
)
def test_each_sign_marks_the_run(bad):
    assert unhealthy_runs(table()) == set()
    assert unhealthy_runs(table(**bad)) == {"sal_hr"}
    assert fits(table(**bad))["unhealthy"].sum() == 2
    assert health_note(table(**bad), True) == ["Runs with an unhealthy sampler, left out: SAL-HR 1."]
    assert health_note(table(), True) == []


def test_a_single_poor_fit_of_many_is_no_poor_run_but_a_fallback_is():
    one = table()
    last = one.index[(one["acquisition"] == "sal_hr")][-1]
    one.loc[last, "mcmc_rhat"] = 1.5
    assert unhealthy_runs(one) == set()
    one["mcmc_fallback"] = one["mcmc_fallback"].astype(object)
    one.loc[last, "mcmc_fallback"] = "hmc"
    assert unhealthy_runs(one) == {"sal_hr"}


def test_what_a_sampler_does_not_tell_speaks_for_nothing():
    bare = run("higdon", "bald", 1, [0.0] * 3).assign(run_id="a")
    assert unhealthy_runs(bare) == set()
    assert "–" in format_health(bare)


def test_the_table():
    found = health(table(mcmc_divergences=14))
    assert found[["acquisition", "runs", "unhealthy_runs", "fits", "unhealthy_fits"]].to_numpy().tolist() == [
        ["bald", 1, 0, 10, 0],
        ["sal_hr", 1, 1, 10, 2],
    ]
    assert found["divergences"].tolist() == [0, 28]
    text = format_health(table(mcmc_divergences=14))
    assert "Unhealthy runs: higdon al_lognormal sal_hr seed 1." in text
    assert "R-hat > 1.1" in text


def test_figures_with_and_without(tmp_path, capsys):
    for config in sweep_configs(
        ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=bald", "seed=1"]
    ):
        make_run(tmp_path / "results", config, 4)  # whose made-up R-hat is between 1 and 2
    where = ["--results", str(tmp_path / "results")]
    out = tmp_path / "a.svg"
    assert main(["plot", "al-mll", *where, "--out", str(out)]) == 0
    shown = " ".join(re.sub("<[^>]*>", " ", out.read_text()).split())  # a note has several lines
    assert "unhealthy sampler, among those shown: BALD 1." in shown
    assert main(["plot", "al-mll", *where, "--out", str(out), "--healthy-only"]) == 2
    assert "No run has a healthy sampler" in capsys.readouterr().err
    assert main(["health", *where, "--experiment", "al_mll"]) == 0
    assert "1 of 90 runs" in capsys.readouterr().out
