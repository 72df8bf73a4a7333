"""A figure and a claim from outside the tree, each one file: a module in the working folder or a package."""

import json
import os
import re
import subprocess
import sys

import pytest

from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.report import FIGURES, Claim, Figure
from scorebo.report.registry import Registry
from scripts.validation.synthetic_results import make_results

FIGURE = """\
import numpy as np

from scorebo.report import Figure, FigureData, Line, Panel


def medians(table):
    lines = []
    for method, rows in table.groupby("acquisition"):
        curve = rows.groupby("num_observations")["rmse"].median()
        x = curve.index.to_numpy(float)
        lines.append(Line(method, x, curve.to_numpy(float), np.full(len(x), np.nan)))
    return FigureData((Panel("All tasks", "Number of observations", "Median RMSE", tuple(lines)),))


figure = Figure("my-medians", "Median RMSE over tasks and seeds", medians, experiment="al_mll")
"""
BARS = """\
from matplotlib.figure import Figure as Picture

from scorebo.report import Figure


def bars(table):
    picture = Picture(figsize=(3, 2))
    counts = table.groupby("acquisition")["run_id"].nunique()
    picture.subplots().bar(list(counts.index), counts.to_numpy())
    return picture


figure = Figure("my-bars", "Number of runs by method", bars, experiment="al_mll")
"""
CLAIM = """\
from scorebo.report.claims import Claim, finals, positive


def small(evidence):
    found = finals(evidence.runs("al_mll"), "rmse")
    return [positive(f"3 - log10 RMSE on {task}", 3 - frame["bald"].to_numpy()) for task, frame in found.items()]


claim = Claim("MINE", "BALD ends with an RMSE below 1000", small)
elsewhere = Claim("ELSE", "Another experiment", lambda evidence: evidence.runs("of_another_package"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with results and modules of the user's own, and a package that announces them."""
    folder = tmp_path_factory.mktemp("outside")
    sweep = ["experiment=al_mll", "scale=small", "benchmark=gramacy1", "acquisition=bald,sal_hr"]
    make_results(folder / "results", sweep_configs(sweep))
    for name, text in (("my_figure", FIGURE), ("my_bars", BARS), ("my_claim", CLAIM)):
        (folder / f"{name}.py").write_text(text)
    info = folder / "site" / "my_package-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    announced = "[scorebo.figures]\nmy-medians = my_package.figures:figure\n"
    (info / "entry_points.txt").write_text(f"{announced}[scorebo.claims]\nMINE = my_package.claims:claim\n")
    (folder / "site" / "my_package").mkdir()
    (folder / "site" / "my_package" / "figures.py").write_text(FIGURE)
    (folder / "site" / "my_package" / "claims.py").write_text(CLAIM)
    return folder


def command(folder, *arguments, installed=False, code=0):
    environment = {**os.environ, "PYTHONPATH": str(folder / "site") if installed else ""}
    words = [sys.executable, "-m", "scorebo", *arguments]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def in_page(page):
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize(("name", "installed"), [("my_figure:figure", False), ("my-medians", True)])
def test_a_figure_is_one_file(folder, name, installed):
    said = command(folder, "plot", name, "--out", "mine.svg", installed=installed)
    assert said == "my-medians: mine.svg (experiment al_mll at scale small: 20 of 300 runs)\n"
    svg = (folder / "mine.svg").read_text()
    assert all(f">{words}</text>" in svg for words in ("All tasks", "Median RMSE", "SAL-HR"))
    assert "unchanged: all 20 runs are as they were" in command(folder, "provenance", "mine.svg")
    more = [] if installed else ["--figure", name]
    command(folder, "report", "--out", "report.html", *more, installed=installed)
    page = (folder / "report.html").read_text()
    shown = in_page(page)["figures"]["my-medians"]
    assert [line["s"] for line in shown["panels"][0]["lines"]] == ["bald", "sal_hr"]
    assert f"scorebo plot {name} --results results" in page
    assert 'id="al-mll"' in page  # beside the paper's


def test_figures_of_installed_packages_are_listed_and_completed(folder):
    listed = command(folder, "list", "figures", installed=True)
    assert re.search("^my-medians +Median RMSE over tasks and seeds$", listed, re.MULTILINE)
    assert "my-medians" not in command(folder, "list", "figures")
    assert command(folder, "completion", "bash", "plot", "my-", installed=True) == "my-medians\n"


def test_a_figure_that_draws_itself_is_a_picture_on_the_page(folder):
    command(folder, "plot", "my_bars:figure", "--out", "bars.png")
    command(folder, "report", "--all", "--figure", "my_bars:figure", "--out", "report.html")
    page = (folder / "report.html").read_text()
    article = re.search('<article class="figure" id="my-bars">.*?</article>', page, re.DOTALL)[0]
    assert '<img alt="Number of runs by method" src="data:image/svg+xml;base64,' in article
    assert "<li>Runs with an unhealthy sampler, among those shown: " in article
    assert "my-bars" not in in_page(page)["figures"]
    assert 'id="rosenbrock4-hyperparameters"' in page  # those that any runs can be shown by


@pytest.mark.parametrize("installed", [False, True])
def test_a_claim_is_one_file(folder, installed):
    more = [] if installed else ["--claim", "my_claim:claim"]
    said = command(folder, "scorecard", *more, installed=installed)
    assert "MINE SUPPORTED (at scale small, not the paper's budgets)\n     BALD ends with an RMSE below 1000" in said
    assert re.search(r"✓ 3 - log10 RMSE on gramacy1: \S+ \(95 % \S+ to \S+\), 10 seeds", said)
    assert "19 claims: " in said
    command(folder, "report", "--experiment", "al_mll", "--out", "report.html", *more, installed=installed)
    assert "BALD ends with an RMSE below 1000" in (folder / "report.html").read_text()


def test_a_claim_on_an_experiment_that_is_not_there_is_not_run(folder):
    said = command(folder, "scorecard", "--claim", "my_claim:elsewhere")
    assert "ELSE NOT RUN (there is no experiment=of_another_package here or in --config-dir)" in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_figures:figure", "Cannot load the figure my_figures:figure: ModuleNotFoundError: No module named"),
        ("my_figure:figures", "Cannot load the figure my_figure:figures: AttributeError"),
        ("my_figure:", "Cannot load the figure my_figure:: "),
        ("my_figure:medians", "my_figure:medians must be a scorebo.report.Figure, got <function medians"),
        ("my-median", "Unknown figure 'my-median'."),
    ],
)
def test_what_is_no_figure_is_refused(folder, name, message):
    assert message in command(folder, "plot", name, "--out", "none.pdf", code=2)
    assert not (folder / "none.pdf").exists()


def test_two_figures_of_one_id_are_refused(folder):
    more = ["--figure", "my_figure:figure"]
    said = command(folder, "report", *more, "--out", "two.html", installed=True, code=2)
    assert "The page would have two figures 'my-medians': give one of them another id." in said
    info = folder / "site" / "my_package-1.dist-info" / "entry_points.txt"
    before = info.read_text()
    try:
        info.write_text("[scorebo.figures]\nal-mll = my_package.figures:figure\n")
        said = command(folder, "list", "figures", installed=True, code=2)
        assert "There are two figures 'al-mll', one of them my_package.figures:figure." in said
        info.write_text("[scorebo.figures]\nother = my_package.figures:figure\n")
        said = command(folder, "plot", "other", "--out", "other.pdf", installed=True, code=2)
        assert "The entry point 'other' of scorebo.figures names the figure 'my-medians'." in said
    finally:
        info.write_text(before)


def test_a_figure_says_what_it_is():
    with pytest.raises(InputError, match="must consist of letters, digits, - and _, got 'my figure'"):
        Figure("my figure", "", lambda table: None)
    with pytest.raises(InputError, match=r"Unknown source of the figure mine 'tables'.*Allowed: fits, hyper"):
        Figure("mine", "", lambda table: None, source="tables")
    with pytest.raises(InputError, match="must return FigureData or a matplotlib figure, got None"):
        Figure("mine", "", lambda table: None).compute(None)


def test_a_registry_is_a_mapping():
    claims = Registry(Claim, [Claim("A", "", list), Claim("B", "", list)])
    assert (list(claims), len(claims), "A" in claims, "C" in claims) == (["A", "B"], 2, True, False)
    with pytest.raises(InputError, match=r"Unknown claim 'C'. Allowed: A, B\."):
        claims["C"]
    assert [figure.id for figure in FIGURES.values()] == list(FIGURES)
