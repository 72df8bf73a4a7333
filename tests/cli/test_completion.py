"""Completion in the shells themselves: what is typed, a tab, and what then stands on the line."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scorebo.cli import build_parser, main
from scorebo.cli.completion import candidates
from scorebo.config import available
from scorebo.report import FIGURES

ROOT = Path(__file__).parents[2]
BASH = ["bash", "--norc", "--noprofile", "-i"]
# Prints each word of the line that it is put in front of.
SHOW = "printf '<%s>' "


def complete(*words):
    return candidates(build_parser(), words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["co"], ["collect", "compare", "completion"]),
        (["--ver"], ["--version"]),
        (["run", "bench"], ["benchmark="]),
        (["run", "laun"], []),
        (["sweep", "laun"], ["launcher="]),
        (["retry", "--failed", ""], ["workers="]),
        (["run", "benchmark=gramacy"], ["benchmark=gramacy1", "benchmark=gramacy2"]),
        (["run", "--quiet", "seed=1", "mcmc=s"], ["mcmc=sequential"]),
        (["run", "model=al_lognormal_"], ["model=al_lognormal_no_outputscale"]),
        (
            ["sweep", "acquisition=bald,sal_h"],
            [f"acquisition=bald,{name}" for name in ("sal_hr", "sal_hr_exact", "sal_hr_mc")],
        ),
        (["sweep", "experiment=demo"], ["experiment=demo", "experiment=demo_bo"]),
        (["sweep", "launcher=slurm_paper"], ["launcher=slurm_paper", "launcher=slurm_paper_structured"]),
        (["sweep", "scale=s"], ["scale=small", "scale=smoke"]),
        (["sweep", "--scale", ""], ["paper", "small", "smoke"]),
        (["sweep", "--d"], ["--dry-run"]),
        (["plot", "al-"], ["al-mll", "al-mll-task-units", "al-rmse"]),
        (["plot", "al-mll", "al-"], []),
        (["plot", "--out", "al-"], []),
        (["plot", "al-mll", "--experiment", "al_m"], ["al_mll"]),
        (["list", "mo"], ["models"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["data", "fetch", "dn"], ["dna"]),
        (["archive", "m"], ["merge"]),
        (["archive", "create", "--kind", "s"], ["summary"]),
        (["archive", "verify", "--re"], ["--replay"]),
        (["archive", "verify", ""], []),
        (["compare", "--metric", "rm"], ["rmse"]),
        (["compare", "--challenger", "sal_k"], ["sal_kl", "sal_kl_mc"]),
        (["challenge", "--suite", "a"], ["addgp", "additive", "al", "al_mll", "al_rmse"]),
        (["challenge", "acquisition=nei_"], ["acquisition=nei_map", "acquisition=nei_plain"]),
        (["run", "--config-dir", "nowhere", "benchmark=g"], []),
        (["no-command", ""], []),
    ],
)
def test_what_may_stand_there(words, expected):
    assert complete(*words) == expected


def test_every_command_figure_and_config_name():
    assert set(complete("")) == set(build_parser()._subparsers._group_actions[0].choices)
    assert complete("plot", "") == sorted(FIGURES)
    for group in ("benchmark", "acquisition", "model", "mcmc", "experiment", "launcher"):
        assert complete("sweep", f"{group}=") == [f"{group}={name}" for name in available(group)]


@pytest.fixture
def own_configs(tmp_path):
    (tmp_path / "mine" / "benchmark").mkdir(parents=True)
    (tmp_path / "mine" / "benchmark" / "grammar.yaml").write_text("_target_: x\n")
    return tmp_path / "mine"


def test_own_configs_of_the_folder_that_was_typed(own_configs):
    assert complete("run", "--config-dir", str(own_configs), "benchmark=gramm") == ["benchmark=grammar"]


def test_unknown_shell(capsys):
    assert main(["completion", "tcsh"]) == 2
    error = capsys.readouterr().err
    assert "Unknown shell 'tcsh'." in error
    assert "Allowed: bash, fish, zsh." in error


def test_the_scripts_ask_with_any_words(capsys):
    for words in (["--ver"], ["run", "-"], ["run", "--help"], ["completion", "bash", ""], [""]):
        assert main(["completion", "bash", *words]) == 0
        assert capsys.readouterr().out.splitlines() == complete(*words)


def shell_or_skip(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")


@pytest.fixture
def environment(tmp_path):
    """One in which the command is found, and no settings of a user."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "scorebo"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m scorebo "$@"\n')
    command.chmod(0o755)
    (tmp_path / "some_file").write_text("")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "PYTHONPATH": str(ROOT)}


class Terminal:
    """A shell at a terminal."""

    def __init__(self, command, cwd, environment):
        self.control, worker = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=worker, stdout=worker, stderr=worker, cwd=cwd, env=environment, start_new_session=True
        )
        os.close(worker)
        self.seen = ""

    def type(self, text, until, seconds=30.0):
        """Type `text` and return what is shown up to `until`."""
        os.write(self.control, text.encode())
        deadline = time.monotonic() + seconds
        while until not in self.seen:
            ready, _, _ = select.select([self.control], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} showed {self.seen!r} and no {until!r}"
            self.seen += os.read(self.control, 4096).decode(errors="replace")
        before, _, self.seen = self.seen.partition(until)
        return before

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.control)


# What is typed before a tab, and the words of the line after it.
TYPED = {
    "scorebo pl": "scorebo plot",
    "scorebo run benchmark=gramacy1 acquisition=bal": "scorebo run benchmark=gramacy1 acquisition=bal",  # bald, balm
    "scorebo run benchmark=hig": "scorebo run benchmark=higdon",
    "scorebo sweep acquisition=bald,bq": "scorebo sweep acquisition=bald,bqbc",
    "scorebo sweep --config-dir mine benchmark=gramm": "scorebo sweep --config-dir mine benchmark=grammar",
    "scorebo plot al-m": "scorebo plot al-mll",
    "scorebo report --resu": "scorebo report --results",
    "scorebo report --results some_f": "scorebo report --results some_file",
    "scorebo run results=some_f": "scorebo run results=some_file",
    "scorebo sweep --scale pa": "scorebo sweep --scale paper",
    "bin/scorebo list mod": "bin/scorebo list models",
}


@pytest.mark.parametrize(
    ("command", "start"),
    [
        (BASH, "source <(scorebo completion bash)"),
        (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u; source <(scorebo completion zsh)"),
    ],
    ids=["bash", "zsh"],
)
def test_a_tab_in_a_shell(command, start, tmp_path, own_configs, environment):
    shell_or_skip(command[0])
    terminal = Terminal(command, tmp_path, environment)
    try:
        terminal.type(f"{start}; echo rea'dy'\n", "ready")
        for typed, expected in TYPED.items():
            words = "".join(f"<{word}>" for word in expected.split())
            # To the beginning of the line, and show its words in place of running it.
            terminal.type(f"{typed}\t", typed)
            shown = terminal.type(f"\x01{SHOW}\x05; echo; echo don'e'\n", "done")
            assert words in shown, (typed, shown)
    finally:
        terminal.close()


def test_a_setting_is_completed_without_a_space_in_bash(tmp_path, environment):
    shell_or_skip("bash")
    terminal = Terminal(BASH, tmp_path, environment)
    try:
        terminal.type("source <(scorebo completion bash); echo rea'dy'\n", "ready")
        terminal.type("scorebo run benchm\t", "benchm")
        shown = terminal.type(f"higdon\x01{SHOW}\x05; echo don'e'\n", "done")
        assert "<scorebo><run><benchmark=higdon>" in shown
    finally:
        terminal.close()


def test_completion_in_fish(tmp_path, own_configs, environment):
    shell_or_skip("fish")
    for typed, expected in TYPED.items():
        found = subprocess.run(
            ["fish", "--no-config", "-c", "scorebo completion fish | source; complete -C $argv[1]", typed],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=True,
        )  # fmt: skip
        assert expected.split()[-1] in [line.split("\t")[0] for line in found.stdout.splitlines()] or typed == expected
