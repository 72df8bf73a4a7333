"""A kernel and a prior of a user's own, in one file each, on the command line: the examples of the docstrings."""

import json
import textwrap

import pytest

from scorebo.cli import main
from scorebo.gp import Kernel
from scorebo.priors import Prior
from tests.runs import tiny_overrides

MATERN32 = "model.kernel={_target_: my_kernel.Matern32}"
EXPONENTIAL = "model.lengthscale={_target_: my_prior.Exponential, rate: 2.0}"


def example(cls):
    """The indented code of a docstring, from the first class on."""
    lines = textwrap.dedent(cls.__doc__.split("\n", 1)[1]).splitlines()
    code = [line for line in lines if line.startswith("    ") or not line]
    return textwrap.dedent("\n".join(code))


@pytest.fixture
def my_package(tmp_path, monkeypatch):
    kernel = "import scipy.special\nimport torch\nfrom scorebo.gp import Kernel\n" + example(Kernel)
    prior = "import math\nfrom dataclasses import dataclass\nfrom scorebo.priors import Prior\n" + example(Prior)
    (tmp_path / "my_kernel.py").write_text(kernel)
    (tmp_path / "my_prior.py").write_text(prior)
    monkeypatch.syspath_prepend(tmp_path)


def records(results):
    (path,) = results.rglob("records.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.usefixtures("my_package")
@pytest.mark.parametrize(
    "settings",
    [
        ("acquisition=scorebo_hr",),
        ("acquisition=nei", "mcmc=sequential"),
        ("acquisition=scorebo_hr", "model=warped"),
        ("acquisition=sal_hr", "model=map"),
        ("acquisition=scorebo_hr", "benchmark=addgp6", "model=additive", "benchmark.total=8"),
    ],
    ids=" ".join,
)
def test_a_run(tmp_path, settings):
    features = [] if "sal" in settings[0] else ["mcmc.num_features=64", "mcmc.num_optima=2"]
    overrides = tiny_overrides(tmp_path / "r", "branin", "random", *settings, *features, MATERN32, EXPONENTIAL)
    assert main(["run", *overrides]) == 0
    last = records(tmp_path / "r")[-1]
    assert last["negative_mll"] is not None
    assert last["mcmc"]["fallback"] is None
    (config,) = (tmp_path / "r").rglob("config.yaml")
    assert "_target_: my_kernel.Matern32" in config.read_text()


@pytest.mark.usefixtures("my_package")
def test_a_kernel_that_is_none(tmp_path, capsys):
    kernel = "model.kernel={_target_: my_prior.Exponential, rate: 1}"
    assert main(["run", *tiny_overrides(tmp_path / "r", "branin", "nei", kernel)]) == 2
    assert "Unknown kernel 'Exponential(rate=1)'. Allowed: matern52, rbf" in capsys.readouterr().err
