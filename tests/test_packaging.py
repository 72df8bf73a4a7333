"""The project as others get it: wheel, metadata and lock files; `scripts/maintenance/test_wheel.py` uses the wheel."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scorebo.store.reference import OWN

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def locked(name="requirements.lock"):
    found = re.findall(r"^([\w.-]+)==(\S+)", read(name), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True, capture_output=True, env=environment)
    (path,) = folder.glob("scorebo-*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_has_one_package_with_tasks_configs_and_types(wheel):
    names = wheel.namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"scorebo"}
    for name in ("configs/config.yaml", "benchmarks/active_learning.py", "benchmarks/data/gp8_optima.json", "py.typed"):
        assert f"scorebo/{name}" in names
    assert sum(name.endswith("/LICENSE") for name in names) == 1


def test_the_wheel_has_the_reference_of_the_active_learning_suite_and_no_other(tmp_path):
    """Whether or not there are any yet."""
    copy, there = tmp_path / "copy", ["al_mll-seeds-1-10.parquet", "al_mll-seeds-1-10-2.parquet"]
    left_out = shutil.ignore_patterns(".*", "results", "tests", "notebooks", "__pycache__")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=left_out)
    assert reference_files(copy) == []
    (copy / "results" / "reference").mkdir(parents=True)
    for name in (*there, "bo_regret-seeds-1-10.parquet", "saas.md"):
        (copy / "results" / "reference" / name).write_text("a file")
    assert reference_files(copy) == sorted(f"scorebo/reference/{name}" for name in there)


def reference_files(project):
    """Of the wheel, those in the folder that `scorebo.store.reference` looks in."""
    build = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", build, "out"], cwd=project, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(project / "out" / done.stdout.split()[-1]) as archive:
        folder = f"scorebo/{OWN.relative_to(ROOT / 'scorebo')}/"
        return sorted(name for name in archive.namelist() if name.startswith(folder))


def test_the_source_distribution_has_the_tasks(tmp_path):
    build = "import sys, hatchling.build as b; print(b.build_sdist(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    with tarfile.open(tmp_path / done.stdout.split()[-1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tasks = {
        f"scorebo/benchmarks/{file.relative_to(ROOT / 'benchmarks')}" for file in (ROOT / "benchmarks").rglob("*.py")
    }
    assert tasks <= names
    assert {"scorebo/data/sources.yaml", "configs/config.yaml"} <= names


def test_the_description_renders_outside_the_repository(metadata):
    from readme_renderer.markdown import render

    text = metadata.get_payload()
    page = render(text)
    assert page is not None
    assert "<h1" in page
    assert "<pre" in page
    assert not re.search(r"\]\((?!https?:)", text), "a link or picture that leads into the repository"
    assert re.findall(r'(?:href|src)="(?!https?:|#)', page) == []


def test_metadata_says_what_it_is_and_may_be_used_for(metadata):
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Author"] == "The scorebo contributors"
    assert {"Programming Language :: Python :: 3.13", "Typing :: Typed"} <= set(metadata.get_all("Classifier"))


def test_requirements_are_ranges_that_the_locked_versions_satisfy():
    versions = locked() | locked("requirements-torch.lock")
    for text in PROJECT["dependencies"]:
        requirement = Requirement(text)
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators in ({">="}, {">=", "<"}), text
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), text


def test_every_locked_package_but_torch_has_hashes():
    entries = re.split(r"\n(?=\S)", read("requirements.lock").strip())
    packages = [entry for entry in entries if not entry.startswith("#")]
    assert len(packages) == len(locked()) > 100
    assert [entry.split()[0] for entry in packages if "--hash=sha256:" not in entry] == []
    assert "torch" not in locked()
    assert set(locked("requirements-torch.lock")) == {"torch"}


def test_the_licenses_of_all_locked_packages_are_listed():
    listed = dict(re.findall(r"^\| ([\w.-]+) \| (\S+) \| .+ \|$", read("docs/licenses.md"), re.MULTILINE))
    assert listed.pop("package") == "version"
    assert listed == locked() | locked("requirements-torch.lock")


def test_the_version_is_the_same_everywhere():
    import scorebo

    assert re.search(rf"^version: {re.escape(scorebo.__version__)}$", read("CITATION.cff"), re.MULTILINE)
    assert re.search(rf"^## {re.escape(scorebo.__version__)}$", read("CHANGELOG.md"), re.MULTILINE)
