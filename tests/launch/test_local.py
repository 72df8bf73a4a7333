import os
import signal
from pathlib import Path

import pytest
from sweeps import TOTAL, assert_finished_once, reasons, sweep_of, undisturbed, until

from scorebo.launch.display import wait
from scorebo.launch.status import survey
from scorebo.launch.submit import cancel, retry, submit
from scorebo.store import RunStore

SEEDS = range(1, TOTAL + 2)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return {seed: undisturbed(folder, seed) for seed in SEEDS}


@pytest.mark.slow
def test_a_worker_killed_at_every_iteration_in_turn(tmp_path, expected):
    """Seven runs, each of which kills its worker at another iteration; then all are submitted again."""
    (tmp_path / "graves").mkdir()
    results = tmp_path / "results"
    configs = sweep_of(results, SEEDS, task="Mortal", grave=str(tmp_path / "graves"))
    state = wait(results, submit(configs, []).name)
    assert len(state.of("failed")) == len(SEEDS)
    assert all("killed by SIGKILL" in reason for reason in reasons(state))
    assert [run.iteration for run in state.runs] == [seed - 1 for seed in SEEDS]
    (again,) = retry(state.of("failed"), results, {}, [])
    assert {run.state for run in wait(results, again.name).runs} == {"finished"}
    assert_finished_once(configs, expected)


@pytest.mark.slow
def test_tasks_that_raise_or_hang_are_explained_and_go_on(tmp_path, expected):
    bed, fault, results = tmp_path / "bed", tmp_path / "fault", tmp_path / "results"
    bed.touch()
    fault.touch()
    configs = [
        *sweep_of(results, range(1, 2), "launcher.minutes=0.2", task="Sleepy", bed=str(bed)),
        *sweep_of(results, range(2, 3), "launcher.minutes=0.2", task="Breakable", fault=str(fault)),
        *sweep_of(results, range(3, 4), "launcher.minutes=0.2"),
    ]
    state = wait(results, submit(configs, []).name)
    asleep, broken, good = state.runs
    assert (asleep.state, broken.state, good.state) == ("failed", "failed", "finished")
    assert "time limit" in asleep.reason
    assert asleep.iteration == broken.iteration == 3
    assert "the machine is on fire" in broken.reason
    assert "the machine is on fire" in broken.log_tail
    assert Path(broken.log).exists()
    bed.unlink()
    fault.unlink()
    (again,) = retry(state.of("failed"), results, {"workers": 1}, [])
    wait(results, again.name)
    assert_finished_once(configs, expected)


@pytest.mark.slow
def test_two_sweeps_at_once_one_of_them_cancelled(tmp_path, expected):
    """The second waits for the runs that the first has; when the first is cancelled, it takes them over."""
    bed, results = tmp_path / "bed", tmp_path / "results"
    bed.touch()
    configs = sweep_of(results, range(1, 3), task="Sleepy", bed=str(bed))
    first = submit(configs, [])
    until(lambda: [run.iteration for run in survey(results).of("running")] == [3, 3])
    second = submit(configs, [])
    until(lambda: len(list((second.folder / "outcomes").iterdir())) == 2)
    cancel(first)
    assert not first.alive
    until(lambda: len(survey(results).of("running")) == 2)
    bed.unlink()
    assert {run.state for run in wait(results, second.name).runs} == {"finished"}
    assert_finished_once(configs, expected)


@pytest.mark.slow
def test_a_pool_that_is_killed_leaves_lost_runs_which_are_told_and_retried(tmp_path, expected):
    bed, results = tmp_path / "bed", tmp_path / "results"
    bed.touch()
    configs = sweep_of(results, range(1, 3), task="Sleepy", bed=str(bed), workers=1)
    sweep = submit(configs, [])
    until(lambda: len(survey(results).of("running")) == 1)
    assert len(survey(results).of("queued")) == 1
    for process in _group_of(sweep):
        os.kill(process, signal.SIGKILL)
    until(lambda: not sweep.alive)
    bed.unlink()
    # The worker, which nobody killed, finishes the run it is at.
    until(lambda: not survey(results).of("running"))
    assert [run.state for run in survey(results).runs] == ["finished", "lost"]
    assert "process ended" in survey(results).of("lost")[0].reason
    (again,) = retry(survey(results).of("lost"), results, {}, [])
    wait(results, again.name)
    assert_finished_once(configs, expected)


def _group_of(sweep):
    """The process of the pool: the one that has the sweep's folder and a lock on its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = path.read_bytes().split(b"\0") if path.exists() else []
        if b"scorebo.launch.local" in words and str(sweep.folder).encode() in words:
            yield int(path.parent.name)


def test_finished_runs_are_not_started_again(tmp_path, expected):
    configs = sweep_of(tmp_path, range(1, 2))
    assert undisturbed(tmp_path, 1) == expected[1]
    marker = RunStore(tmp_path, configs[0]).folder / "environment.json"
    before = marker.read_bytes()
    sweep = submit(configs, [])
    assert not sweep.alive
    assert marker.read_bytes() == before
