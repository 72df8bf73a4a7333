from pathlib import Path

import pytest

from scorebo.cli import main
from tests.report.html.report_samples import invented


@pytest.fixture(scope="session")
def results(tmp_path_factory) -> Path:
    return invented(tmp_path_factory.mktemp("invented"))


@pytest.fixture(scope="session")
def report(results, tmp_path_factory) -> Path:
    """The report on these runs, as the command writes it."""
    out = tmp_path_factory.mktemp("report") / "folder" / "report.html"
    assert main(["report", "--results", str(results), "--scale", "smoke", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def few_report(results, tmp_path_factory) -> Path:
    """The report on six of these runs, chosen by filters."""
    out = tmp_path_factory.mktemp("few") / "report.html"
    chosen = ["--benchmark", "gramacy1", "--acquisition", "bald,sal_hr"]
    assert main(["report", "--results", str(results), *chosen, "--out", str(out)]) == 0
    return out
