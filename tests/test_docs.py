import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scorebo.cli import build_parser, main
from scorebo.config.sweep import sweep_configs
from scripts.validation.synthetic_results import make_results
from tests.test_readme import blocks, lines

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page):
    named = re.findall(r"`((?:scorebo|benchmarks|configs|scripts|tests|results)/[\w./]*)`", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert named or page.name != "architecture.md"


@pytest.mark.slow
def test_the_challenge_from_an_empty_folder(tmp_path):
    """Every command of the page, in its order; the reference is invented, since only the commands are tested here."""
    make_results(tmp_path / "invented", sweep_configs(["experiment=al_mll", "scale=smoke", "benchmark=gramacy1"]))
    archive = tmp_path / "al_mll.parquet"
    assert (
        main(["archive", "create", "--results", str(tmp_path / "invented"), "--out", str(archive), "--kind", "summary"])
        == 0
    )
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = os.environ | {"SCOREBO_REFERENCE": str(archive), "PYTHONPATH": str(ROOT)}
    printed = []
    for language, title, body in blocks("docs/challenge.md"):
        if title:
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(body, encoding="utf-8")
        for line in lines(body) if language == "bash" else ():
            command = [sys.executable, "-m", *shlex.split(line)]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
            printed.append(done.stdout)
    assert len(printed) == 6
    assert printed[0].splitlines()[2].split()[:3] == ["al_mll", "smoke", "gramacy1"]
    assert "finished 2" in printed[1]
    assert "2 runs, 2 of them finished already" in printed[3]
    tables = [text[text.index("Gramacy (1D), at") :] for text in (printed[1], printed[3])]
    assert tables[0] == tables[1]
    assert "Disagreement  SAL-HR" in printed[4]
    assert "Disagreement" in (folder / "results" / "challenge-my_acquisition-al_mll.html").read_text(encoding="utf-8")
    assert (folder / "al-rmse.pdf").stat().st_size > 1000


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_commands_of_a_page_can_be_read(page):
    for language, _, body in blocks(f"docs/{page.name}"):
        for line in lines(body) if language in ("bash", "text") else ():
            if line.startswith("scorebo "):
                _, rest = build_parser().parse_known_args(shlex.split(line)[1:])
                assert [word for word in rest if word.startswith("-")] == []
