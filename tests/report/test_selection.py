import dataclasses

import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.report.query import Query
from scorebo.report.selection import select
from scorebo.store import collect
from tests.store.store_samples import make_run


def runs(results, *overrides, count=4):
    for config in sweep_configs([*overrides]):
        make_run(results, config, count)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Runs of al_mll at two scales, of another figure, and of none."""
    results = tmp_path_factory.mktemp("results")
    runs(results, "experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=bald,sal_hr", "seed=1,2")
    runs(results, "experiment=al_mll", "scale=small", "benchmark=gramacy1", "acquisition=bald", "seed=1")
    runs(results, "experiment=sal_mc", "scale=smoke", "benchmark=gramacy1", "acquisition=sal_ws_exact", "seed=1")
    runs(results, "benchmark=gramacy1", "acquisition=bald", "seed=1,2", "benchmark.total=15")
    return results


def test_the_scale_with_most_runs_and_nothing_else(results):
    chosen = select(collect(results), Query(results, experiment="al_mll"))
    assert (chosen.scale, chosen.found, chosen.expected, chosen.ignored) == ("smoke", 4, 90, 4)
    assert set(zip(chosen.table["acquisition"], chosen.table["seed"], strict=True)) == {
        *(("bald", 1), ("bald", 2), ("sal_hr", 1), ("sal_hr", 2))
    }
    assert str(chosen) == "experiment al_mll at scale smoke: 4 of 90 runs; 4 other runs ignored"
    assert chosen.table.attrs["problems"] == []
    assert chosen.missing == ["Drawn from 4 of 90 runs of the experiment, 4 of them not finished."]
    ended = dataclasses.replace(chosen, table=chosen.table.assign(finished=True))
    assert ended.missing == ["Drawn from 4 of 90 runs of the experiment."]
    assert dataclasses.replace(ended, expected=4).missing == []


def test_monte_carlo_is_shown_beside_but_is_no_run_of_the_experiment(tmp_path):
    runs(tmp_path, "experiment=sal_mc", "scale=smoke", "benchmark=gramacy1", "acquisition=sal_ws_exact", "seed=1,2")
    alone = ["benchmark=gramacy1", "acquisition=sal_ws_mc,sal_hr_mc", "benchmark.total=5", "seed=1"]
    runs(tmp_path, *alone)
    chosen = select(collect(tmp_path), Query(tmp_path, experiment="sal_mc"))
    assert (chosen.scale, chosen.found, chosen.expected, chosen.ignored) == ("smoke", 2, 36, 1)
    assert set(chosen.table["acquisition"]) == {"sal_ws_exact", "sal_ws_mc"}


def test_a_scale_can_be_asked_for(results):
    chosen = select(collect(results), Query(results, "small", "al_mll"))
    assert (chosen.found, chosen.expected, chosen.table["run_id"].nunique()) == (1, 300, 1)
    with pytest.raises(InputError, match=r"Unknown scale 'large'\. Allowed: paper, small, smoke"):
        select(collect(results), Query(results, "large", "al_mll"))


def test_no_run_says_what_was_looked_for_and_what_is_there(results):
    with pytest.raises(InputError) as refusal:
        select(collect(results), Query(results, "paper", "al_mll"))
    message = str(refusal.value)
    assert f"None of the runs of experiment=al_mll is in {results} (looked at scale paper)." in message
    assert "gramacy1 al_lognormal bald (5), gramacy1 al_lognormal sal_hr (2)" in message
    assert "(gramacy1 al_lognormal bald) has benchmark.total=" in message
    assert "instead of 50 (scale paper). --all draws whatever is there." in message
    with pytest.raises(InputError, match="looked at scale paper and small and smoke"):
        select(collect(results), Query(results, experiment="pd1"))
    with pytest.raises(InputError, match="experiment=sal_example has no runs"):
        select(collect(results), Query(results, experiment="sal_example"))


class TestPlot:
    def plot(self, results, out, *options):
        return main(["plot", "al-mll", "--results", str(results), "--out", str(out), *options])

    def test_says_what_it_drew(self, results, tmp_path, capsys):
        assert self.plot(results, tmp_path / "a.png") == 0
        expected = "(experiment al_mll at scale smoke: 4 of 90 runs; 4 other runs ignored)"
        assert f"al-mll: {tmp_path / 'a.png'} {expected}" in capsys.readouterr().out

    def test_runs_of_another_experiment_and_all_runs(self, results, tmp_path, capsys):
        assert self.plot(results, tmp_path / "a.png", "--experiment", "sal_mc") == 0
        assert "experiment sal_mc at scale smoke: 1 of 36 runs" in capsys.readouterr().out
        tour = tmp_path / "tour"
        runs(tour, "benchmark=gramacy1", "acquisition=bald", "seed=1,2", "benchmark.total=15")
        assert self.plot(tour, tmp_path / "a.png", "--all") == 0
        assert f"all 2 runs in {tour}" in capsys.readouterr().out

    def test_options_that_exclude_each_other(self, results, tmp_path, capsys):
        assert self.plot(results, tmp_path / "a.png", "--all", "--scale", "paper") == 2
        assert "--all draws every run" in capsys.readouterr().err
        assert not (tmp_path / "a.png").exists()
