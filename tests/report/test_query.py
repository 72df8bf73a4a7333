"""The one way in which commands choose stored runs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.report import provenance
from scorebo.report.evidence import Evidence
from scorebo.report.html.page_figures import GENERAL
from scorebo.report.query import Query
from scorebo.report.selection import selected_ids
from scorebo.store import RunStore
from scripts.validation.synthetic_results import make_results

OWN_EXPERIMENT = """# @package _global_
# Two methods, one of them my own, on two tasks.
experiment:
  name: own
  benchmarks: [gramacy1, branin]
  acquisitions: [mine, bald]
  seeds: 3
benchmark:
  total: 8
"""
OWN_ACQUISITION = "name: mine\n_target_: scorebo.acquisition.BALD\n"
COMMANDS = ("plot bo-regret --out out.svg", "compare", "health", "scorecard", "report --out out.html")


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    for name, text in (("experiment/own.yaml", OWN_EXPERIMENT), ("acquisition/mine.yaml", OWN_ACQUISITION)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def own(tmp_path_factory, configs):
    """All 12 runs of an experiment of one's own."""
    folder = tmp_path_factory.mktemp("own")
    make_results(folder, sweep_configs(["experiment=own"], configs))
    return folder


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """Six runs of the paper's al_mll at scale smoke."""
    folder = tmp_path_factory.mktemp("paper")
    sweep = ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1", "acquisition=bald,sal_hr"]
    make_results(folder, sweep_configs(sweep))
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shown(page="out.html"):
    """The data of a report, and what it says of where it comes from."""
    text = Path(page).read_text().partition('id="data">')[2].partition("</script>")[0]
    return json.loads(text), provenance.read(page)


class TestEveryCommand:
    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ("--experiment own --config-dir {configs} --benchmark branin --seeds 1-2", "4 of 4 runs; 8 other"),
            ("--all --acquisition mine,bald --benchmark branin", "6 runs in "),
            ("--acquisition mine --acquisition bald --seeds 1,3", "8 runs in "),
        ],
    )
    def test_takes_the_same_options(self, command, options, words, own, configs, capsys):
        assert main([*command.split(), "--results", str(own), *options.format(configs=configs).split()]) == 0
        if command != "scorecard":  # which tells of the experiments of its claims
            assert words in capsys.readouterr().out

    @pytest.mark.parametrize("command", [*COMMANDS, "collect --out out.csv", "failures"])
    def test_refuses_what_is_not_there(self, command, own, tmp_path, capsys):
        name, *rest = command.split()
        place = [] if name in ("collect", "failures") else ["--results"]
        for options, message in (
            ("--acquisition baald", "'baald'. Did you mean bald? Allowed: bald, mine."),
            ("--benchmark gramacy1,higdon", "Unknown benchmark of the runs in"),
            ("--model=", "Allowed: al_lognormal, bo_lognormal."),
            ("--seeds 1,4-6", "No run has a seed from 4 to 6. Seeds there: 1, 2, 3."),
            ("--seeds 3-1", "Cannot read the seeds '3-1'."),
            ("--seeds=", "Cannot read the seeds ''."),
            ("--benchmark branin --model al_lognormal", "passes all filters (benchmark branin; model al_lognormal)."),
            ("--all --experiment own", "it goes with neither --scale nor --experiment"),
            ("--scale huge", "Unknown scale 'huge'"),
        ):
            assert main([name, *place, str(own), *rest, *options.split()]) == 2
            assert message in capsys.readouterr().err
        assert not list(tmp_path.glob("out.*"))

    @pytest.mark.parametrize("command", COMMANDS)
    def test_takes_the_runs_of_several_folders(self, command, own, paper, capsys):
        both = [*command.split(), "--results", str(own), "--results", str(paper), "--seeds", "1-2"]
        assert main([*both, "--benchmark", "branin,gramacy1", "--acquisition", "mine,sal_hr"]) == 0
        said = capsys.readouterr().out
        assert f"6 runs in {own} and {paper}" in said or command == "scorecard"

    @pytest.mark.parametrize("command", COMMANDS)
    def test_names_a_run_without_records(self, command, own, tmp_path, capsys):
        shutil.copytree(own, tmp_path / "runs")
        records = next((tmp_path / "runs").rglob("mine/seed-2-*/records.jsonl"))
        records.unlink()
        assert main([*command.split(), "--results", "runs", "--all"]) == 0
        assert f"{records.parent.relative_to(tmp_path)}: records.jsonl is missing" in capsys.readouterr().err


class TestCollectAndFailures:
    @pytest.mark.parametrize(
        ("options", "runs"),
        [
            ("", 12),
            ("--all", 12),
            ("--experiment own --config-dir {configs} --benchmark branin --seeds 1-2", 4),
            ("--acquisition mine --seeds 1,3", 4),
        ],
    )
    def test_collect(self, options, runs, own, configs, capsys):
        given = options.format(configs=configs).split()
        for more in ([], ["--hyperparameters"]):
            assert main(["collect", str(own), "--out", "out.csv", *given, *more]) == 0
            assert f"{runs} runs, " in capsys.readouterr().out

    def test_runs_of_one_name_with_different_settings(self, own, tmp_path, capsys):
        shutil.copytree(own, tmp_path / "runs")
        make_results(tmp_path / "runs", sweep_configs(["benchmark=branin", "acquisition=bald", "benchmark.total=6"]))
        assert main(["collect", "runs", "--out", "out.csv", "--benchmark", "branin", "--acquisition", "bald"]) == 0
        assert "4 runs, " in capsys.readouterr().out

    def test_failures_of_a_run_that_has_no_record_yet(self, tmp_path, capsys):
        for acquisition in ("bald", "random"):
            (config,) = sweep_configs(["benchmark=branin", f"acquisition={acquisition}", f"results={tmp_path}"])
            with RunStore(tmp_path, config) as store:
                store.resume()
                store.note_failure(1, [0.0, 0.0], "no solver", [])
        assert main(["failures", str(tmp_path), "--acquisition", "bald"]) == 0
        said = capsys.readouterr().out
        assert said.count("no solver") == 1
        assert "/bald/" in said
        (tmp_path / "nothing").mkdir()
        with pytest.raises(InputError, match="There are no runs in"):
            selected_ids(Query(tmp_path / "nothing", benchmark=("branin",)))


class TestReport:
    def test_own_runs_are_shown_without_any_option(self, own, configs, capsys):
        assert main(["report", "--results", str(own), "--config-dir", str(configs), "--out", "out.html"]) == 0
        assert "out.html: 4 of 5 figures" in capsys.readouterr().out
        data, origin = shown()
        assert len(data["runs"]) == len(origin["runs"]) == 12
        text = Path("out.html").read_text()
        assert '<span class="count">12</span> runs' in text
        assert 'id="scorecard"' not in text  # none of the paper's claims is about these runs
        assert "The figure shows one benchmark, got branin, gramacy1. Choose one with --benchmark." in text
        assert "Mean processor seconds an iteration, by phase" in text
        assert "Samplers by task, model and method" in text

    def test_figures_are_drawn_from_the_runs_chosen(self, own):
        options = ["--acquisition", "mine", "--benchmark", "branin", "--seeds", "2-3"]
        assert main(["report", "--results", str(own), *options, "--out", "out.html"]) == 0
        data, _ = shown()
        assert list(data["figures"]) == list(GENERAL)
        assert {line["s"] for panel in data["figures"]["bo-regret"]["panels"] for line in panel["lines"]} == {"mine"}
        assert {run[3] for run in data["runs"]} == {2, 3}

    def test_the_figures_that_an_experiment_names(self, own, configs, tmp_path):
        shutil.copytree(configs, tmp_path / "mine")
        path = tmp_path / "mine" / "experiment" / "own.yaml"
        path.write_text(OWN_EXPERIMENT.replace("seeds: 3", "seeds: 3\n  figures: [al-rmse]"))
        chosen = ["report", "--results", str(own), "--experiment", "own", "--config-dir", "mine", "--out", "out.html"]
        assert main(chosen) == 0
        data, _ = shown()
        assert list(data["figures"]) == ["al-rmse"]
        command = data["figures"]["al-rmse"]["curves"][0][3]
        assert command.startswith("scorebo sweep experiment=own benchmark=gramacy1 acquisition=")
        assert command.endswith(f"results={own} --scale paper --config-dir mine")

    def test_claims_about_the_runs_chosen(self):
        make_results(Path("runs"), sweep_configs(["experiment=al_mll", "scale=smoke", "benchmark=gramacy1"]))
        chosen = ["report", "--results", "runs", "--experiment", "al_mll", "--seeds", "1-2", "--out", "out.html"]
        assert main(chosen) == 0
        data, _ = shown()
        assert list(data["figures"]) == ["al-mll", "al-mll-task-units"]
        assert len(data["runs"]) == 10
        assert re.findall(r">(P\d+)</th>", Path("out.html").read_text()) == ["P2", "P4"]

    def test_other_runs_beside_the_papers_are_told_of(self, own, paper, capsys):
        both = ["report", "--results", str(own), "--results", str(paper), "--out", "out.html"]
        assert main(both) == 0
        said = capsys.readouterr().out
        assert "6 runs of the paper's experiments; 12 other runs ignored, which --all or --experiment NAME" in said
        assert len(shown()[0]["runs"]) == 6
        assert main([*both, "--scale", "paper"]) == 2
        assert "No figure of the paper has runs at scale paper" in capsys.readouterr().err


def test_a_scale_alone_means_nothing_where_no_experiment_is_meant(paper, capsys):
    assert main(["health", "--results", str(paper), "--scale", "smoke"]) == 2
    assert "--scale needs --experiment NAME" in capsys.readouterr().err
    assert main(["plot", "sal-example", "--seeds", "1", "--out", "out.svg"]) == 2
    assert "it takes no options about runs" in capsys.readouterr().err


def test_filters_with_a_scale_narrow_the_figures_own_experiment(paper, capsys):
    plot = ["plot", "al-mll", "--results", str(paper), "--out", "out.svg", "--acquisition", "bald", "--seeds", "1-2"]
    assert main([*plot, "--scale", "smoke"]) == 0
    expected = "experiment al_mll at scale smoke (acquisition bald; seeds 1-2): 2 of 12 runs; 4 other runs ignored"
    assert expected in capsys.readouterr().out
    assert main([*plot, "--scale", "paper"]) == 2
    assert "None of the runs of experiment=al_mll that pass the filters (acquisition bald; seeds 1-2) is in" in (
        capsys.readouterr().err
    )


def test_claims_are_tested_on_the_runs_chosen(paper):
    assert Evidence(paper).runs("al_mll")["run_id"].nunique() == 6
    few = Evidence(Query(paper, seeds="2,3", acquisition=("bald",)))
    assert few.runs("al_mll")["run_id"].nunique() == few.runs("al_rmse")["run_id"].nunique() == 2
    assert Evidence(Query(paper, experiment="al_rmse", seeds="2")).runs("al_mll")["run_id"].nunique() == 2


def test_filters_decide_between_runs_of_different_settings(tmp_path, capsys):
    sweep = ["benchmark=branin", "acquisition=nei,mes"]
    make_results(tmp_path / "runs", sweep_configs([*sweep, "benchmark.total=6", "seed=1"]))
    make_results(tmp_path / "runs", sweep_configs([*sweep, "benchmark.total=7", "seed=2,3"]))
    plot = ["plot", "bo-regret", "--results", "runs", "--out", "out.svg", "--all"]
    assert main(plot) == 2
    assert "some of these with --seeds, --benchmark, --acquisition or --model" in capsys.readouterr().err
    assert main([*plot, "--seeds", "2-3"]) == 0
    assert main([*plot, "--seeds", "1"]) == 0
    assert main([*plot, "--seeds", "1-2", "--acquisition", "nei"]) == 2


def test_a_run_in_two_folders_counts_once_or_is_refused(own, tmp_path, capsys):
    shutil.copytree(own, tmp_path / "copy")
    health = ["health", "--results", str(own), "--results", "copy"]
    assert main(health) == 0
    assert f"all 12 runs in {own} and copy" in capsys.readouterr().out
    changed = next((tmp_path / "copy").rglob("records.jsonl"))
    changed.write_bytes(b"".join(changed.read_bytes().splitlines(keepends=True)[:-1]))
    assert main(health) == 2
    said = capsys.readouterr().err
    run = changed.parent.relative_to(tmp_path / "copy")
    assert "hold the same run" in said
    assert f"{own / run} and copy/{run}" in said


@pytest.mark.parametrize("command", ["plot bo-regret --out out.svg", "report --out out.html"])
def test_provenance_chooses_the_same_runs_again(command, own, configs, tmp_path, monkeypatch, capsys):
    for name, seeds in (("one", "1"), ("two", "2,3")):
        make_results(tmp_path / name, sweep_configs(["experiment=own", f"seed={seeds}"], configs))
    folders = ["--results", "one", "--results", "two"]
    assert main([*command.split(), *folders, "--acquisition", "mine", "--seeds", "1-2,3-9"]) == 0
    out = command.split()[-1]
    monkeypatch.chdir(tmp_path / "one")  # folders are found from anywhere
    assert main(["provenance", f"../{out}"]) == 0
    said = capsys.readouterr().out
    assert f"results {tmp_path / 'one'}, {tmp_path / 'two'}, all, acquisition mine, seeds 1-2,3-9" in said
    assert "unchanged: all 6 runs are as they were" in said
    monkeypatch.chdir(tmp_path)
    make_results(tmp_path / "two", sweep_configs(["benchmark=branin", "acquisition=mine,nei", "seed=4"], configs))
    shutil.rmtree(next((tmp_path / "one").glob("branin/*/mine")))
    assert main(["provenance", out, "--json"]) == 0
    now = json.loads(capsys.readouterr().out)["now"]
    assert (now["unchanged"], len(now["gone"]), now["further"]) == (5, 1, 1)
    moved = [word for name in ("one", "two") for word in ("--results", f"moved-{name}")]
    for name in ("one", "two"):
        (tmp_path / name).rename(f"moved-{name}")
    assert main(["provenance", out, *moved]) == 0
    assert "5 are as they were; 1 further runs of the selection" in capsys.readouterr().out


def test_a_query_survives_being_stored(tmp_path):
    query = Query(
        ["a", tmp_path / "b"],
        *("small", "own"),
        model=("m",),
        acquisition=("x", "y"),
        seeds="1-5,8",
        config_dir=tmp_path,
        healthy_only=True,
    )
    stored = json.loads(json.dumps(query.as_dict()))
    again = Query.from_dict(stored)
    assert again.as_dict() == query.as_dict()
    assert again.filters == query.filters == "acquisition x, y; model m; seeds 1-5,8"
    assert Query.from_dict({"results": "old"}).folders[0].name == "old"  # as figures kept it before
    assert query.arguments()[:4] == ["--results", "a", "--results", str(tmp_path / "b")]
    with pytest.raises(InputError, match="Cannot read the seeds '1:3'"):
        Query(tmp_path, seeds="1:3")
