"""A launcher from outside the package: one class and one YAML file, or an entry point of an installed package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sweeps import assert_finished_once, sweep_of, undisturbed, until

from scorebo.cli import main
from scorebo.launch.status import survey
from scorebo.launch.sweep import Sweep
from tests.runs import TINY

# A queue: a file for each run that waits or runs, and a shell that takes one after the other.
LAUNCHER = """
import shlex
import subprocess
from dataclasses import dataclass, field

from scorebo.errors import check_integer
from scorebo.launch import Ended, Launcher, Poll


@dataclass(frozen=True)
class Queue(Launcher):
    nice: int
    words: list[str] = field(default_factory=list)

    def check(self, threads, workers):
        super().check(threads, workers)
        check_integer("launcher.nice", self.nice, 0)

    def submit(self, sweep, indices):
        lines = []
        for index in indices:
            file = sweep.folder / f"{index}.waits"
            file.touch()
            command = shlex.join(["nice", "-n", str(self.nice), *sweep.command([index])])
            lines.append(f"if [ -e {file} ]; then {command}; echo $? > {file}.code; rm {file}; fi")
        with open(sweep.folder / "queue.log", "ab") as log:
            subprocess.Popen(["sh", "-c", "\\n".join(lines)], stdout=log, stderr=log, start_new_session=True)

    @classmethod
    def poll(cls, runs):
        ended = {}
        for run in runs:
            file = run.sweep.folder / f"{run.index}.waits"
            if not file.exists():
                code = file.with_suffix(".waits.code")
                what = f"exit code {code.read_text().strip()}" if code.exists() else "taken out of the queue"
                ended[run] = Ended("failed", what, run.sweep.folder / "queue.log")
        return Poll(ended, [f"the queue was asked about {len(runs)} runs"])

    def cancel(self, sweep):
        for file in sweep.folder.glob("*.waits"):
            file.unlink()
"""
RUN = ["benchmark=gramacy1", "acquisition=sal_hr", "benchmark.total=6", *TINY]
ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def scorebo(tmp_path):
    """The command, as a user gives it in a folder with `my_queue.py` and `my_configs/launcher/queue.yaml`."""
    (tmp_path / "my_queue.py").write_text(LAUNCHER)
    configs = tmp_path / "my_configs" / "launcher"
    configs.mkdir(parents=True)
    (configs / "queue.yaml").write_text("# A queue of my own.\n_target_: my_queue.Queue\nnice: 3\nwords: []\n")

    def scorebo(*arguments, path=ROOT):
        command = [str(Path(sys.executable).with_name("scorebo")), *arguments]
        environment = os.environ | {"PYTHONPATH": path}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return scorebo


def states(done):
    assert done.returncode == 0, done.stderr
    return {name: count for name, count in json.loads(done.stdout)["counts"].items() if count}


@pytest.mark.slow
def test_a_whole_sweep_cancelled_broken_and_finished(tmp_path, scorebo):
    bed, fault, results = (tmp_path / name for name in ("bed", "fault", "results"))
    bed.touch()
    sleepy = ["benchmark._target_=tests.bad_tasks.Sleepy", f"+benchmark.bed={bed}", "seed=1,2"]
    mine = ["--config-dir", "my_configs", "launcher=queue", "launcher.nice=5"]
    done = scorebo("sweep", *mine, *RUN, *sleepy)
    assert done.returncode == 0, done.stderr
    assert "sweep-1 submitted (queue)" in done.stdout
    about = json.loads((results / ".sweeps" / "sweep-1" / "sweep.json").read_text())
    assert about["launcher"] == {"name": "queue", "_target_": "my_queue.Queue", "nice": 5, "words": []}
    until(lambda: [run.iteration for run in survey(results).of("running")] == [3], 120)
    told = scorebo("status", "--json")
    assert states(told) == {"running": 1, "queued": 1}
    assert json.loads(told.stdout)["notes"] == ["the queue was asked about 1 runs"]
    assert scorebo("cancel").stdout == "sweep-1 cancelled\n"
    bed.unlink()  # the run that was at work goes on, and sees that it is to stop
    until(lambda: not survey(results).of("running"))
    assert states(scorebo("status", "--json")) == {"cancelled": 2}
    fault.touch()
    breakable = ["benchmark._target_=tests.bad_tasks.Breakable", f"+benchmark.fault={fault}", "seed=3,4"]
    assert scorebo("sweep", *mine, *RUN, *breakable, "--wait").returncode == 1
    told = scorebo("status")
    assert "cancelled 2  of 4 runs" in told.stdout
    assert "seed 3, at iteration 3: Observation 4 at x = " in told.stdout
    assert "RuntimeError: the machine is on fire" in told.stdout
    fault.unlink()
    done = scorebo("retry", "--failed", "--cancelled", "launcher.nice=0", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    configs = [
        *sweep_of(results, range(1, 3), task="Sleepy", bed=str(bed)),
        *sweep_of(results, range(3, 5), task="Breakable", fault=str(fault)),
    ]
    assert_finished_once(configs, {seed: undisturbed(tmp_path / "alone", seed) for seed in range(1, 5)})


def test_the_reason_the_launcher_knows_and_one_that_is_gone(tmp_path, scorebo):
    (tmp_path / "graves").mkdir()
    mortal = ["benchmark._target_=tests.bad_tasks.Mortal", f"+benchmark.grave={tmp_path / 'graves'}", "seed=2"]
    done = scorebo("sweep", "--config-dir", "my_configs", "launcher=queue", *RUN, *mortal, "--wait")
    assert done.returncode == 1
    assert "seed 2, at iteration 1: exit code 137" in done.stdout
    (tmp_path / "my_queue.py").unlink()
    done = scorebo("status")
    assert "lost 1" in done.stdout
    assert "The class of launcher 'queue' (_target_: my_queue.Queue) cannot be loaded: No module" in done.stdout
    assert scorebo("retry", "--failed").returncode == 2


@pytest.mark.slow
def test_by_an_entry_point_of_an_installed_package(tmp_path, scorebo):
    installed = tmp_path / "site" / "my_queue-1.0.dist-info"
    installed.mkdir(parents=True)
    (tmp_path / "my_queue.py").rename(tmp_path / "site" / "my_queue.py")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my_queue\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[scorebo.launchers]\nmine = my_queue:Queue\nbad = my_queue:Missing\n")

    def sweep(*settings):
        return scorebo("sweep", *RUN, "seed=1,2", *settings, path=str(installed.parent))

    assert "No value for launcher.nice" in sweep("launcher=mine").stderr
    assert "Did you mean mine? Allowed: bad, local, mine, slurm" in sweep("launcher=mime").stderr
    assert "launcher 'bad' (my_queue:Missing) cannot be loaded" in sweep("launcher=bad").stderr
    unknown = sweep("launcher=mine", "launcher.nice=1", "launcher.nicer=1").stderr
    assert "Unknown setting in 'launcher' 'nicer'. Did you mean nice? Allowed: nice, words." in unknown
    done = sweep("launcher=mine", "launcher.nice=1", "--wait")
    assert done.returncode == 0, done.stderr
    assert "finished 2" in done.stdout
    about = Sweep(tmp_path / "results" / ".sweeps" / "sweep-1").about
    assert about["launcher"] == {"name": "mine", "_target_": "my_queue.Queue", "nice": 1, "words": []}


@pytest.mark.parametrize(
    ("yaml", "settings", "message"),
    [
        ("nice: 1", [], "The class of launcher 'queue' (_target_: None) cannot be loaded"),
        ("_target_: my_queue.Quee", [], "(_target_: my_queue.Quee) cannot be loaded"),
        ("_target_: pathlib.Path", [], "(_target_: pathlib.Path) is not a subclass of scorebo.launch.Launcher"),
        ("_target_: my_queue.Queue\ncolor: 1", [], "Unknown option of launcher 'queue' 'color'. Allowed: nice, words."),
        ("_target_: my_queue.Queue", [], "missing 1 required positional argument: 'nice'"),
        ("_target_: my_queue.Queue\nnice: -1", [], "launcher.nice must be a whole number of at least 0"),
        ("_target_: my_queue.Queue\nnice: 1", ["workers=2"], "workers=2 has no effect with this launcher"),
        ("_target_: my_queue.Queue\nnice: 1", ["launcher=cue"], "Allowed: local, queue, slurm"),
    ],
)
def test_mistakes(tmp_path, scorebo, monkeypatch, capsys, yaml, settings, message):
    (tmp_path / "my_configs" / "launcher" / "queue.yaml").write_text(f"{yaml}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_queue", raising=False)
    launcher = [] if any("launcher=" in text for text in settings) else ["launcher=queue"]
    assert main(["sweep", "--config-dir", "my_configs", *launcher, *RUN, *settings]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_its_plan_without_a_description_of_its_own(tmp_path, scorebo, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_queue", raising=False)
    monkeypatch.setattr("scorebo.launch.estimate.pilot", lambda kinds, seconds: {})
    assert main(["sweep", "--config-dir", "my_configs", "launcher=queue", *RUN, "--dry-run"]) == 0
    assert capsys.readouterr().out == (
        "1 runs, 0 of them finished already\nno estimate: no similar run is stored, and the pilot failed\n"
    )
