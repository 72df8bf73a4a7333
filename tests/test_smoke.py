"""What every installation must be able to do, through its public interface alone.

`scripts/maintenance/test_wheel.py` copies this file and the README's test out of the checkout, for an installed wheel.
"""

import subprocess
import sys

import pytest
import torch

import scorebo
from scorebo.acquisition import SAL, maximize

TINY = [
    "mcmc.warmup=10",
    "mcmc.thinning=1",
    "mcmc.num_mcmc_samples=3",
    "mcmc.num_features=64",
    "acquisition_optimizer.raw_samples=32",
]
BOX = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def command(folder, *arguments):
    # -P: the folder itself is no place to import from, as with the installed command.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "scorebo", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def model():
    rng = torch.Generator().manual_seed(0)
    X = torch.rand(12, 2, generator=rng, dtype=torch.float64)
    Y = torch.sin(6.0 * X[:, 0]) + X[:, 1]
    return scorebo.fit_gp(X, (Y - Y.mean()) / Y.std(), model="bo_lognormal", seed=1)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with the runs of a sweep of two methods and two seeds, two queries each."""
    folder = tmp_path_factory.mktemp("swept")
    settings = ["benchmark=gramacy1", "benchmark.initial=2", "benchmark.total=4", *TINY]
    out = command(folder, "sweep", "acquisition=sal_hr,bald", "seed=1,2", *settings, "--wait")
    assert "4 runs" in out
    return folder


def test_fits_with_nuts_and_keeps_the_diagnostics(model):
    assert model.lengthscale.shape == (16, 2)
    assert model.lengthscale.dtype == torch.float64
    assert model.diagnostics.fallback is None
    # The data are those of a function without noise that changes more along the first input.
    assert model.noise.median() < 0.1
    assert model.lengthscale.median(dim=0).values.diff() > 0


def test_maximizes_an_acquisition(model):
    x, value = maximize(SAL(model, distance="hellinger"), bounds=BOX, seed=1)
    grid = torch.cartesian_prod(*2 * [torch.linspace(0.0, 1.0, 21, dtype=torch.float64)])
    assert float(value) >= float(SAL(model, distance="hellinger")(grid.unsqueeze(1)).max())
    assert ((x >= 0.0) & (x <= 1.0)).all()


def test_runs_two_iterations_of_optimization(tmp_path):
    settings = ["benchmark=branin", "benchmark.initial=3", "benchmark.total=5", *TINY]
    out = command(tmp_path, "run", "acquisition=scorebo_hr", "seed=1", *settings, "mcmc.num_optima=2")
    assert "finished" in out
    assert len(list((tmp_path / "results").rglob("finished.json"))) == 1


def test_sweeps_and_collects(swept):
    assert len(list((swept / "results").rglob("finished.json"))) == 4
    assert "4 runs" in command(swept, "collect", "results", "--out", "table.parquet")


def test_plots(swept):
    command(swept, "plot", "al-mll", "--results", "results", "--all", "--out", "al-mll.pdf")
    assert (swept / "al-mll.pdf").read_bytes().startswith(b"%PDF")


def test_reports(swept):
    command(swept, "report", "--results", "results", "--out", "report.html")
    assert (swept / "report.html").stat().st_size > 100_000
