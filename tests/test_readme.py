"""Every command and example of the README is executed, in the order it is read, in a copy of the checkout.

Outside a checkout (`scripts/maintenance/test_wheel.py`) those that need one, by make, are left out.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scorebo.cli import build_parser
from scorebo.config.compose_many import Composer
from scorebo.config.overrides import check_effect
from scorebo.config.sweep import sweep_configs

ROOT = Path(__file__).parents[1]
# What the long commands are given so that they take seconds: the commands themselves stay as the README has them.
ARGUMENTS = {
    "make demo": "benchmark.total=4 mcmc.warmup=8 mcmc.thinning=1 mcmc.num_mcmc_samples=3",
    "make demo-bo": "benchmark.total=5 mcmc.warmup=8 mcmc.thinning=1 mcmc.num_mcmc_samples=3 mcmc.num_features=64",
    "make test": "tests/test_seeds.py -p no:cacheprovider",
    "make figures": "sal-example",
    "make bench": "--sizes 8 --warmup 32 --sets 2 --optima 1 --raw-samples 32 --restarts 2 --repeats 1",
}
# The other parts of `make bench`, without another commit.
VARIABLES = {
    "STEPS_ARGS": "--before none --no-peer --repeats 1 --steps 'NEI, n = 100'",
    "GROWTH_ARGS": "--before none --sizes --dimensions 2 --implementations 'scorebo, sequential'",
}
# Commands that look at runs, and so must still work after all others of the README.
LOOKING = ("scorebo collect", "scorebo compare", "scorebo health", "scorebo plot")
FENCE = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    checkout = tmp_path / "scorebo"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".venv", ".git", "results", ".*_cache"))
    (checkout / ".venv").symlink_to(sys.prefix)
    commands = []
    for language, title, body in blocks():
        if title:
            (checkout / title).parent.mkdir(parents=True, exist_ok=True)
            (checkout / title).write_text(body, encoding="utf-8")
        elif language == "bash":
            for line in lines(body):
                shell(line, checkout)
                commands.append(line)
        elif language == "python":
            run([sys.executable, "-c", body], checkout)
        else:
            assert language == "text", f"a block in {language} is neither run nor marked as output"
    assert len(commands) >= 24
    again = [command for command in commands if command.startswith(LOOKING)]
    assert len(again) >= 7
    for command in again:
        shell(command, checkout)


def test_commands_that_need_a_cluster_or_days_can_be_read(monkeypatch):
    """Those of the other blocks: their settings compose, and the parser knows their options."""
    monkeypatch.chdir(ROOT)
    commands = [
        shlex.split(line)[1:]
        for language, _, body in blocks()
        for line in lines(body)
        if language == "text" and line.startswith("scorebo ")
    ]
    assert len(commands) >= 8
    composer = Composer()
    for command in commands:
        if command[:2] == ["run", "-m"]:
            continue  # Hydra's
        options = build_parser().parse_args(command)
        if command[0] in ("run", "sweep"):
            configs = sweep_configs(options.overrides, composer=composer)
            check_effect(options.overrides, configs, sweep=command[0] == "sweep")


def blocks(page="README.md"):
    return FENCE.findall((ROOT / page).read_text(encoding="utf-8"))


def lines(body):
    return body.replace("\\\n", " ").splitlines()


def shell(line, checkout):
    if line.startswith("make ") and not (ROOT / "Makefile").exists():
        return
    run(["bash", "-ec", f"source .venv/bin/activate; {line}"], checkout, ARGUMENTS.get(line.strip(), ""))


def run(command, cwd, arguments=""):
    environment = os.environ | VARIABLES | {"ARGS": arguments, "PYTHONPATH": str(cwd), "MAKEFLAGS": ""}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_the_two_commands_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "```bash\nmake demo\n```" in text
    assert "```bash\nmake test\n```" in text
    assert not re.search(r"\b[A-Z]+_OUTPUT\b", text), "a placeholder was left"
