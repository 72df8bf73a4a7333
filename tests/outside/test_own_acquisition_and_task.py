"""An acquisition and a task from outside the tree: one class and one config file each."""

import os
import subprocess
import sys
import textwrap

import pandas as pd
import pytest

from scorebo.cli import main
from scorebo.run.replay import replay
from tests.runs import TINY

MODULE = """
from botorch.acquisition import AcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform

from scorebo.benchmarks.base import Benchmark


class Spread(AcquisitionFunction):
    def __init__(self, model, weight):
        super().__init__(model)
        self.weight = weight

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X):
        return self.weight * self.model.posterior(X).mixture_variance[:, 0, 0]


class Bowl(Benchmark):
    bounds = ((-1.0, -1.0), (1.0, 1.0))
    optimal_value = 0.0

    def evaluate_true(self, X):
        return X.square().sum(-1)
"""
CONFIGS = {
    "acquisition/spread": "# The variance of the mixture.\n_target_: own_package.Spread\nweight: 2.0\n",
    "benchmark/bowl": "# A bowl.\n_target_: own_package.Bowl\nnoise_std: 0.1\ninitial: 3\ntotal: 6\n",
}
CONFIG_DIR = ("--config-dir", "configs")


def scorebo(*arguments):
    """The command as a user calls it, in the folder of the package."""
    command = [sys.executable, "-m", "scorebo", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_package.py").write_text(textwrap.dedent(MODULE))
    for name, text in CONFIGS.items():
        (folder / "configs" / name).parent.mkdir(parents=True)
        (folder / "configs" / f"{name}.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="module")
def swept(own):
    """Four runs by two workers: the own acquisition and a built-in one on the own task, two seeds each."""
    sweep = ["acquisition=spread,random", "seed=1,2", "workers=2", "results=swept"]
    scorebo("sweep", "--wait", *CONFIG_DIR, "benchmark=bowl", *sweep, *TINY)
    return own / "swept"


def test_run(own):
    out = scorebo("run", *CONFIG_DIR, "benchmark=bowl", "acquisition=spread", "results=single", *TINY)
    assert "bowl bo_lognormal spread seed 1: finished" in out
    (records,) = (own / "single" / "bowl").rglob("records.jsonl")
    assert len(records.read_text().splitlines()) == 7
    assert replay(records.parent, 5).differences == []


def test_sweep_and_collect(swept):
    assert len(list(swept.rglob("finished.json"))) == 4
    assert main(["collect", "swept", "--out", "table.parquet"]) == 0
    table = pd.read_parquet("table.parquet")
    assert set(table["acquisition"]) == {"spread", "random"}
    assert set(table["benchmark"]) == {"bowl"}
    assert len(table) == 4 * 7
    assert (table.groupby("run_id")["simple_regret"].last() >= 0).all()  # of the own optimum


def test_plot_compare_and_report(swept, capsys):
    assert main(["plot", "bo-regret", "--results", "swept", "--all", "--out", "regret.svg"]) == 0
    figure = (swept.parent / "regret.svg").read_text()
    assert "spread" in figure.lower()
    assert main(["compare", "--results", "swept", "--all", "--metric", "inference_regret"]) == 0
    assert "spread" in capsys.readouterr().out.lower()
    assert main(["report", "--results", "swept", "--all", "--out", "report.html"]) == 0
    assert "bowl" in (swept.parent / "report.html").read_text().lower()


def test_both_are_listed(own, capsys):
    for kind, name, words in (("acquisitions", "spread", "The variance"), ("benchmarks", "bowl", "A bowl.")):
        assert main(["list", kind, *CONFIG_DIR]) == 0
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == [name]]
        assert words in line
