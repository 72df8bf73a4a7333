import contextlib
import os
import signal
from pathlib import Path

import pytest

from scorebo.launch.display import wait
from scorebo.launch.status import survey
from scorebo.launch.submit import cancel, retry, submit
from scorebo.store import RunStore
from tests.launch.sweeps import TOTAL, assert_finished_once, sweep_of, undisturbed, until

SEEDS = range(1, TOTAL + 2)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return {seed: undisturbed(folder, seed) for seed in SEEDS}


@pytest.mark.slow
def test_a_worker_killed_at_every_iteration_in_turn_and_tasks_that_raise_or_hang(tmp_path, expected):
    """Seven runs that kill their worker, each at another iteration, one that raises, one that hangs; then all again."""
    bed, fault, graves, results = (tmp_path / name for name in ("bed", "fault", "graves", "results"))
    bed.touch()
    fault.touch()
    graves.mkdir()
    limit = "launcher.minutes=0.2"
    mortal = sweep_of(results, SEEDS, limit, task="Mortal", grave=str(graves))
    configs = [
        *sweep_of(results, range(1, 2), limit, task="Sleepy", bed=str(bed)),
        *sweep_of(results, range(2, 3), limit, task="Breakable", fault=str(fault)),
        *sweep_of(results, range(3, 4), limit),
        *mortal,
    ]
    state = wait(results, submit(configs, []).name)
    asleep, broken, good, *killed = state.runs
    assert {run.state for run in (asleep, broken, *killed)} == {"failed"}
    assert good.state == "finished"
    assert "time limit" in asleep.reason
    assert asleep.iteration == broken.iteration == 3
    assert "the machine is on fire" in broken.reason
    assert broken.log_tail.splitlines()[-1] == "RuntimeError: the machine is on fire"
    assert Path(broken.log).exists()
    assert all("killed by SIGKILL" in run.reason for run in killed)
    assert [run.iteration for run in killed] == [seed - 1 for seed in SEEDS]
    bed.unlink()
    fault.unlink()
    (again,) = retry(state.of("failed"), results, {"launcher": {"minutes": None}}, [])
    assert {run.state for run in wait(results, again.name).runs} == {"finished"}
    assert_finished_once(configs, expected)


@pytest.mark.slow
def test_two_sweeps_at_once_one_cancelled_and_the_other_s_pool_killed(tmp_path, expected):
    """The second waits for the run that the first has, and takes it over; its workers outlive its pool."""
    bed, results = tmp_path / "bed", tmp_path / "results"
    bed.touch()
    configs = sweep_of(results, range(1, 3), task="Sleepy", bed=str(bed), workers=1)
    first = submit(configs, [])
    until(lambda: [run.iteration for run in survey(results).of("running")] == [3], 120)
    assert len(survey(results).of("queued")) == 1
    second = submit([{**config, "workers": 2} for config in configs], [])
    until(lambda: [run.iteration for run in survey(results).of("running")] == [3, 3], 120)
    until(lambda: second.read_note(second.runs[0]).get("state") == "busy")
    cancel(first)
    assert not first.alive
    assert first.read_note(first.runs[0])["state"] == "cancelled"
    until(lambda: second.read_note(second.runs[0]).get("state") == "started")
    until(lambda: len(survey(results).of("running")) == 2)
    for process in _processes(second, "scorebo.launch.local.pool"):
        os.kill(process, signal.SIGKILL)
    until(lambda: not second.alive)
    bed.unlink()
    until(lambda: not survey(results).of("running"))
    assert_finished_once(configs, expected)


def _processes(sweep, module):
    """The processes of a module that have the sweep's folder on their command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            words = path.read_bytes().split(b"\0")
            if module.encode() in words and str(sweep.folder).encode() in words:
                yield int(path.parent.name)


def test_finished_runs_are_not_started_again(tmp_path, expected):
    configs = sweep_of(tmp_path, range(1, 2))
    assert undisturbed(tmp_path, 1) == expected[1]
    marker = RunStore(tmp_path, configs[0]).folder / "environment.json"
    before = marker.read_bytes()
    sweep = submit(configs, [])
    assert not sweep.alive
    assert marker.read_bytes() == before


def test_libraries_that_do_not_load_are_told(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('torch is broken')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    configs = sweep_of(tmp_path / "results", range(1, 4))
    sweep = submit(configs, [])
    state = wait(tmp_path / "results", sweep.name)
    log = sweep.folder / "pool.log"
    assert [run.reason for run in state.of("failed")] == [f"no worker could be started, see {log}"] * 3
    assert "torch is broken" in log.read_text()


def test_cancelled_while_the_libraries_are_still_loading(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("import time\n\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    sweep = submit(sweep_of(tmp_path / "results", range(1, 4)), [])
    until(lambda: len(list(_processes(sweep, "scorebo.launch.local.fork_server"))) == 1)
    cancel(sweep)
    assert not sweep.alive
    assert [run.reason for run in survey(tmp_path / "results").of("cancelled")] == ["sweep-1 was cancelled"] * 3
