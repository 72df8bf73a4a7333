"""What people hand in by mistake, to each command that looks at stored runs: one message, or a figure that says it."""

import os
import subprocess

import numpy as np
import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.report import FIGURES
from scorebo.report.evidence import Evidence
from scorebo.report.html.page_figures import page_figure
from scripts.validation.synthetic_results import invent, make_results, write_records

SWEEP = ["experiment=al_mll", "scale=smoke", "benchmark=gramacy1"]


def some_runs(results, *overrides):
    make_results(results, sweep_configs([*SWEEP, *overrides]))
    return results


@pytest.fixture(scope="module")
def one_run(tmp_path_factory):
    """One method, one seed."""
    return some_runs(tmp_path_factory.mktemp("one"), "acquisition=bald", "seed=1")


COMMANDS = ("plot al-mll --out a.pdf", "compare --metric rmse", "scorecard", "health", "report --out a.html")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_results(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkdir("empty")
    for name, message in (("nothing", "No such file or directory"), ("empty", "There are no runs in empty")):
        assert main([*command.split(), "--results", name]) == 2
        assert message in capsys.readouterr().err
    assert os.listdir() == ["empty"]


def test_one_method_only(one_run, tmp_path, capsys):
    assert main(["compare", "--metric", "negative_mll", "--results", str(one_run)]) == 2
    assert "There is nothing to compare: the runs are all of bald." in capsys.readouterr().err
    data = FIGURES["al-mll"].data(Evidence(one_run).runs("al_mll"))
    assert [panel.title for panel in data.panels] == ["Gramacy (1D)"]  # and no ranking
    assert main(["plot", "al-mll", "--results", str(one_run), "--out", str(tmp_path / "a.svg")]) == 0


def test_a_single_seed(one_run, tmp_path, capsys):
    some_runs(tmp_path, "acquisition=bald,sal_hr", "seed=1")
    assert main(["compare", "--metric", "negative_mll", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "No interval from fewer than 3 shared seeds." in said
    data = FIGURES["al-mll"].data(Evidence(one_run).runs("al_mll"))
    assert "No band where fewer than three runs are averaged." in data.notes
    assert np.isnan(data.panels[0].lines[0].band).all()
    shown = page_figure("al-mll", Evidence(tmp_path))
    assert "b" not in shown.data["panels"][0]["lines"][0]
    assert "No band where fewer than three runs are averaged." in shown.data["notes"]


def change_metrics(results, change):
    """Write the first run again with changed records."""
    folder = sorted(results.rglob("finished.json"))[0].parent
    run = (folder / "config.yaml").read_text().split("Run ")[1].split(":")[0]
    (config,) = (c for c in sweep_configs([*SWEEP, "acquisition=bald", "seed=1"]))
    write_records(folder, run, change(invent(run, config, 1)))


def test_metrics_that_are_not_numbers(tmp_path, capsys):
    some_runs(tmp_path, "acquisition=bald", "seed=1,2,3")

    def spoil(records):
        records[-1] |= {"negative_mll": float("nan"), "rmse": float("inf")}
        return records

    change_metrics(tmp_path, spoil)
    for name in ("al-mll", "al-rmse"):
        figure = page_figure(name, Evidence(tmp_path))
        assert any("values not finite, left out: BALD 1" in note for note in figure.data["notes"])
        assert figure.data["panels"][0]["lines"][0]["n"][-2:] == [3, 2]
    assert main(["plot", "al-mll", "--results", str(tmp_path), "--out", str(tmp_path / "a.svg")]) == 0
    change_metrics(tmp_path, lambda records: [{**r, "negative_mll": float("nan")} for r in records])
    only = tmp_path / "gramacy1" / "al_lognormal" / "bald" / sorted(p.name for p in tmp_path.rglob("seed-1-*"))[0]
    assert main(["plot", "al-mll", "--all", "--results", str(only), "--out", str(tmp_path / "b.svg")]) == 2
    assert "no finite value of negative_mll" in capsys.readouterr().err


def test_runs_of_different_lengths(tmp_path):
    some_runs(tmp_path, "acquisition=bald", "seed=1,2,3")
    change_metrics(tmp_path, lambda records: records[:-2])
    notes = page_figure("al-mll", Evidence(tmp_path)).data["notes"]
    assert any("runs that end before 5 observations: BALD 1" in note for note in notes)
    assert "How many runs a point is the mean of differs: the pointer and the values at the slider tell." in notes


def test_two_versions_of_a_configuration_under_one_name(tmp_path, capsys):
    some_runs(tmp_path, "acquisition=bald", "seed=1")
    some_runs(tmp_path, "acquisition=bald", "seed=2", "mcmc.warmup=77", "benchmark.total=6")
    for command in (["plot", "al-mll", "--out", str(tmp_path / "a.pdf")], ["compare", "--metric", "rmse"], ["health"]):
        assert main([*command, "--all", "--results", str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert "Runs of gramacy1 al_lognormal bald have different settings" in said
        assert "benchmark.total=6 and 5" in said or "benchmark.total=5 and 6" in said
        assert "mcmc.warmup=77 and 256" in said or "mcmc.warmup=256 and 77" in said
    assert not (tmp_path / "a.pdf").exists()
    # Those of the experiment are chosen by identity, and the other version is none of them.
    assert Evidence(tmp_path).selection("al_mll").found == 1


def test_an_unknown_figure_names_the_nearest(one_run, tmp_path, capsys):
    assert main(["plot", "bo-regrets", "--results", str(one_run), "--out", str(tmp_path / "a.pdf")]) == 2
    assert "Unknown figure 'bo-regrets'. Did you mean bo-regret" in capsys.readouterr().err


@pytest.fixture
def read_only(tmp_path):
    """A folder that not even root can write to, where one can be mounted."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]
    if os.geteuid() == 0:
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a read-only folder cannot be mounted here")
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
    else:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


@pytest.mark.parametrize("command", [["plot", "al-mll", "--out", "a.pdf"], ["report", "--out", "a.html"]])
def test_a_folder_without_permission_to_write(command, one_run, read_only, capsys):
    *rest, name = command
    assert main([*rest, str(read_only / name), "--results", str(one_run)]) == 2
    said = capsys.readouterr().err
    assert f"Cannot write {read_only / name}" in said
    assert "Choose a folder that can be written" in said or "Change its permissions" in said


def test_results_that_cannot_be_written_to_are_read(tmp_path, monkeypatch):
    """The cache of collected runs is a help, not a need."""
    results = some_runs(tmp_path / "results", "acquisition=bald", "seed=1")
    monkeypatch.setattr("scorebo.store.cache.replacing", _refuse)
    assert main(["plot", "al-mll", "--results", str(results), "--out", str(tmp_path / "a.svg")]) == 0
    assert not list((results / ".cache").glob("*"))


def _refuse(path):
    raise PermissionError(13, "Permission denied", str(path))
