import shutil
from pathlib import Path

import pytest

from tests.report.audit.studies import healthy


@pytest.fixture(scope="session")
def untouched(tmp_path_factory) -> Path:
    return healthy(tmp_path_factory.mktemp("study"))


@pytest.fixture
def results(untouched, tmp_path) -> Path:
    """A study of its own for every test, in which nothing is found."""
    return shutil.copytree(untouched, tmp_path / "results", ignore=shutil.ignore_patterns(".cache"))
