import os
import subprocess
import sys

import pytest

from scorebo.cli import main
from scorebo.store import RunStore
from tests.runs import tiny_config, tiny_overrides


def test_hydra_s_own_multirun_gives_the_runs_of_the_other_commands(tmp_path):
    """In the folders that `scorebo run` and `scorebo sweep` would take; a finished one is skipped."""
    settings = ("gramacy1", "random", "benchmark.total=3")
    overrides = [*tiny_overrides(tmp_path / "results", *settings), "seed=1,2"]
    command = [sys.executable, "-m", "scorebo", "-m", *overrides]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
    for seed in (1, 2):
        config = tiny_config(tmp_path / "results", *settings, f"seed={seed}")
        assert RunStore(tmp_path / "results", config).is_finished()
    assert len(list(tmp_path.rglob("finished.json"))) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["results"], "nothing is left where the command was given"


def test_hydra_s_own_flag_with_another_command_is_refused_by_that_command(capsys):
    """Hydra itself would answer with its own usage, which does not name the flag that is wrong."""
    with pytest.raises(SystemExit) as stop:
        main(["sweep", "-m", "benchmark=gramacy1", "seed=1,2"])
    assert stop.value.code == 2
    assert "scorebo: error: unrecognized arguments: -m" in capsys.readouterr().err


def test_a_scale_without_an_experiment_is_refused(tmp_path):
    overrides = tiny_overrides(tmp_path / "results", "gramacy1", "random", "scale=small")
    command = [sys.executable, "-m", "scorebo", "run", *overrides, "-m"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ), check=False)
    assert done.returncode != 0
    assert "scale=small is the size of an experiment, but none is given: add experiment=NAME." in done.stderr
    assert list(tmp_path.rglob("records.jsonl")) == []
