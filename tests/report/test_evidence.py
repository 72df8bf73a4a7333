"""What claims and figures are given of the runs in a folder."""

import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.report.evidence import Evidence, MissingRunsError
from scorebo.report.figures import FIGURES, figure_input
from scripts.validation.synthetic_results import make_results

SWEEP = ["experiment=ishigami_hyperparameters", "scale=smoke", "acquisition=bald"]


@pytest.fixture
def results(tmp_path):
    """Three runs, the first of which has not ended."""
    make_results(tmp_path, sweep_configs([*SWEEP, "seed=1,2,3"]))
    next(tmp_path.rglob("seed-1-*/finished.json")).unlink()
    return tmp_path


def test_claims_are_about_runs_that_have_ended_and_figures_about_all(results):
    evidence = Evidence(results)
    name = "ishigami_hyperparameters"
    assert (evidence.selection(name).found, evidence.selection(name).ended) == (3, 2)
    assert set(evidence.runs(name)["seed"]) == {2, 3}
    assert set(evidence.hyperparameters(name)["seed"]) == {2, 3}
    table, _, notes = figure_input(FIGURES["ishigami-hyperparameters"], evidence)
    assert set(table["seed"]) == {1, 2, 3}
    assert notes == ["Drawn from 3 of 15 runs of the experiment, 1 of them not finished."]


def test_sets_are_read_once(results, monkeypatch):
    evidence = Evidence(results)
    first = evidence.hyperparameters("ishigami_hyperparameters")
    monkeypatch.setattr("scorebo.store.collect_hyperparameters", None)
    assert evidence.hyperparameters("ishigami_hyperparameters", acquisition="bald") is first
    with pytest.raises(MissingRunsError, match="no runs of sal_hr"):
        evidence.hyperparameters("ishigami_hyperparameters", acquisition="sal_hr")


def test_missing_runs_are_told(results):
    with pytest.raises(MissingRunsError, match="no runs of experiment=bo_regret"):
        Evidence(results).runs("bo_regret")
    for marker in results.rglob("finished.json"):
        marker.unlink()
    with pytest.raises(MissingRunsError, match="no run of experiment=ishigami_hyperparameters has ended"):
        Evidence(results).runs("ishigami_hyperparameters")


def test_the_scorecard_says_what_it_rests_on(results, capsys):
    assert main(["scorecard", "--results", str(results)]) == 0
    said = capsys.readouterr().out.strip().splitlines()[-1]
    assert said == "Ended runs of each experiment: at scale smoke al_mll (2 of 90), al_rmse (2 of 90)."
