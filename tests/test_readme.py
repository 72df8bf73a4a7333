"""Every command and example of the README is executed, in the order it is read, in a copy of the checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What the long commands are given so that they take seconds: the commands themselves stay as the README has them.
ARGUMENTS = {
    "make demo": "benchmark.total=4 mcmc.warmup=8 mcmc.thinning=1 mcmc.num_sets=3 optimizer.raw_samples=32",
    "make demo-bo": "benchmark.total=5 mcmc.warmup=8 mcmc.thinning=1 mcmc.num_sets=3 mcmc.num_features=64",
    "make test": "tests/test_seeds.py -p no:cacheprovider",
    "make bench": "--sizes 8 --warmup 32 --sets 2 --optima 1 --raw-samples 32 --restarts 2 --repeats 1",
}
FENCE = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    checkout = tmp_path / "scorebo"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".venv", ".git", "results", ".*_cache"))
    (checkout / ".venv").symlink_to(sys.prefix)
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = 0
    for language, title, body in blocks:
        if title:
            (checkout / title).parent.mkdir(parents=True, exist_ok=True)
            (checkout / title).write_text(body, encoding="utf-8")
        elif language == "bash":
            for line in body.replace("\\\n", " ").splitlines():
                run(["bash", "-ec", f"source .venv/bin/activate; {line}"], checkout, ARGUMENTS.get(line.strip(), ""))
                commands += 1
        elif language == "python":
            run([sys.executable, "-c", body], checkout)
            commands += 1
        else:
            assert language == "text", f"a block in {language} is neither run nor marked as output"
    assert commands >= 8


def run(command, cwd, arguments=""):
    environment = os.environ | {"ARGS": arguments, "PYTHONPATH": str(cwd), "MAKEFLAGS": ""}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_the_two_commands_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "```bash\nmake demo\n```" in text
    assert "```bash\nmake test\n```" in text
    assert not re.search(r"\b[A-Z]+_OUTPUT\b", text), "a placeholder was left"
