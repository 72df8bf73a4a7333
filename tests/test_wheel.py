"""The project as others get it: a wheel, used in an empty folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.runs import tiny_overrides

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_runs_in_an_empty_folder(tmp_path):
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    (wheel,) = tmp_path.glob("scorebo-*.whl")
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(site)
    assert "scorebo/configs/config.yaml" in names
    assert "scorebo/benchmarks/active_learning.py" in names
    assert "scorebo/benchmarks/data/gp8_optima.json" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"scorebo"}  # no other top-level package

    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHONPATH": str(site)}
    where = "import scorebo, scorebo.benchmarks; print(scorebo.__file__, scorebo.benchmarks.__file__)"
    for code in (where,):
        done = subprocess.run([sys.executable, "-c", code], cwd=work, env=environment, capture_output=True, text=True)
        assert done.stdout.count(str(site)) == 2, done.stdout + done.stderr
    command = [sys.executable, "-m", "scorebo", "run", *tiny_overrides(Path("results"), "gramacy1", "sal_hr")]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list((work / "results").rglob("finished.json"))) == 1
