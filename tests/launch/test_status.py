import errno
import io
import json
import os
import subprocess
import sys

import pytest

from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.launch import Ended, Local, Poll, finished_runs
from scorebo.launch.status import survey
from scorebo.launch.sweep import BUSY, CANCELLED, FAILED, FINISHED, STARTED, Sweep
from scorebo.store import RunStore
from scorebo.store.checksummed import seal
from tests.store.store_samples import make_config, make_run

LOCAL = {"name": "local", "_target_": "scorebo.launch.Local", "minutes": None}


def config(seed, results, **changes):
    nodes = make_config(seed, **changes)
    nodes["benchmark"]["total"] = 5
    return {**nodes, "results": str(results), "launcher": LOCAL, "workers": 1}


def states(results, which=None):
    return [run.state for run in survey(results, which).runs]


def test_each_state_by_what_makes_it(tmp_path):
    configs = [config(seed, tmp_path) for seed in range(1, 6)]
    sweep = Sweep.create(configs, [])
    finished, running, _, failed, _ = sweep.runs
    make_run(tmp_path, configs[0], 6, finished=True)
    make_run(tmp_path, configs[1], 3)
    sweep.note(finished, FAILED, reason="a note does not make a finished run unfinished")
    sweep.note(running, STARTED)
    sweep.note(failed, FAILED, reason="the machine is on fire")
    sweep.log(failed).write_text("1\n2\n3\n4\n5\n6\nthe end\n")
    lock = sweep.lock()
    with RunStore(tmp_path, configs[1]):
        found = survey(tmp_path)
    assert [run.state for run in found.runs] == ["finished", "running", "queued", "failed", "queued"]
    assert (found.runs[1].iteration, found.runs[1].records) == (3, 6)
    assert found.runs[1].seconds_per_iteration > 0
    assert found.runs[1].seconds_left == pytest.approx(3 * found.runs[1].seconds_per_iteration)
    assert found.runs[3].reason == "the machine is on fire"
    assert found.runs[3].log_tail.splitlines()[-1] == "the end"
    os.close(lock)
    assert states(tmp_path) == ["finished", "lost", "lost", "failed", "lost"]
    sweep.cancel()
    found = survey(tmp_path)
    assert [run.state for run in found.runs] == ["finished", "cancelled", "cancelled", "failed", "cancelled"]
    assert {run.reason for run in found.of("cancelled")} == {"sweep-1 was cancelled"}


@pytest.mark.parametrize("swept", [False, True])
def test_a_run_that_lost_its_records_starts_from_the_beginning(tmp_path, swept):
    if swept:
        Sweep.create([config(1, tmp_path)], [])
    folder = make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    assert states(tmp_path) == ["finished"]
    (folder / "records.jsonl").unlink()
    (run,) = survey(tmp_path).runs
    assert (run.state, run.iteration) == ("lost", 0)
    assert run.reason == "its records.jsonl is missing; the same command starts it from the beginning"
    with RunStore(tmp_path, config(1, tmp_path)):
        assert states(tmp_path) == ["running"]


def test_a_marker_that_does_not_fit_its_records_is_not_believed(tmp_path):
    folder = make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    assert states(tmp_path) == ["finished"]
    data = (folder / "records.jsonl").read_bytes()
    (folder / "records.jsonl").write_bytes(data[:-200] + b"x" + data[-199:])
    (run,) = survey(tmp_path).runs
    assert (run.state, run.reason) == (
        "lost",
        "its finished.json does not fit its records: one of the two was changed after it had finished; "
        "the same command mends it",
    )
    sweep = Sweep.create([config(1, tmp_path)], [])
    sweep.note(sweep.runs[0], FINISHED)
    assert survey(tmp_path).runs[0].reason.endswith("was changed after it had finished")
    sweep.note(sweep.runs[0], FAILED, reason="it cannot be repaired")
    assert survey(tmp_path).runs[0].reason == "it cannot be repaired"
    other = make_run(tmp_path / "other", config(2, tmp_path), 6, finished=True)
    for name in ("records.jsonl", "finished.json"):
        (folder / name).write_bytes((other / name).read_bytes())
    assert survey(tmp_path / "gramacy1").runs[0].state == "lost", "the marker is that of another run"


def test_what_was_checked_is_not_read_again(tmp_path, monkeypatch):
    folders = [make_run(tmp_path, config(seed, tmp_path), 6, finished=True) for seed in (1, 2)]
    Sweep.create([config(seed, tmp_path) for seed in (1, 2)], [])
    assert states(tmp_path) == ["finished"] * 2
    read, finished_run = [], finished_runs.finished_run
    monkeypatch.setattr(finished_runs, "finished_run", lambda folder: read.append(folder) or finished_run(folder))
    assert states(tmp_path) == ["finished"] * 2
    assert read == []
    os.utime(folders[0] / "records.jsonl", ns=(0, 12345))
    assert states(tmp_path) == ["finished"] * 2
    assert read == [folders[0]]


def test_runs_of_several_sweeps_and_of_none(tmp_path):
    first = Sweep.create([config(seed, tmp_path, experiment={"name": "al_mll"}) for seed in (1, 2)], [])
    second = Sweep.create([config(seed, tmp_path) for seed in (2, 3)], [])
    make_run(tmp_path, config(4, tmp_path), 2)
    assert (first.name, second.name) == ("al_mll-1", "sweep-2")
    assert len(states(tmp_path)) == 4
    assert len(states(tmp_path, "al_mll")) == len(states(tmp_path, "sweep-2")) == 2
    # The last word about a run is that of the last sweep that had it in its hands.
    first.note(first.runs[1], FAILED, reason="first")
    second.note(second.runs[0], BUSY, reason="second")
    assert survey(tmp_path, "sweep-2").runs[0].reason == "first"
    with pytest.raises(InputError, match=r"No sweep or experiment 'al_rmse' .* There are al_mll, al_mll-1, sweep-2"):
        survey(tmp_path, "al_rmse")
    with pytest.raises(InputError, match="There is no results folder"):
        survey(tmp_path / "nowhere")


def test_a_run_that_no_sweep_started_is_not_retried_which_is_said(tmp_path, capsys):
    make_run(tmp_path, config(1, tmp_path), 2)
    assert main(["status", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "stopped at iteration 2; the same command goes on from there" in shown
    assert "scorebo retry" not in shown
    assert main(["retry", "--failed", "--results", str(tmp_path)]) == 0
    assert "1 runs were never part of a sweep: give their `scorebo run` command again" in capsys.readouterr().err


def test_a_run_that_no_sweep_started_can_be_watched_and_is_not_cancelled_which_is_said(tmp_path, capsys, monkeypatch):
    store = RunStore(tmp_path, config(1, tmp_path))
    pauses = []

    def finish(seconds):
        pauses.append(seconds)
        store.close()

    monkeypatch.setattr("time.sleep", finish)
    with store:
        store.resume()
        assert main(["cancel", "--results", str(tmp_path)]) == 0
        assert "gramacy1 al_lognormal sal_hr seed 1 is not part of a sweep" in capsys.readouterr().err
        assert main(["status", "--results", str(tmp_path), "--watch"]) == 0
    assert pauses == [2.0]
    assert "running 1" in capsys.readouterr().out


def test_a_sweep_is_cancelled_only_if_it_has_one_of_the_runs_in_its_hands(tmp_path, capsys, monkeypatch):
    """Others that had the run before, and those that have it now but were not named, are left as they are."""
    cancelled = []
    monkeypatch.setattr("scorebo.launch.submit.cancel", lambda sweep: cancelled.append(sweep.name))
    first = Sweep.create([config(seed, tmp_path) for seed in (1, 2)], [])
    first.note(first.runs[0], FAILED, reason="the machine is on fire")
    again = Sweep.create([config(1, tmp_path)], [])
    lock = again.lock()
    assert main(["cancel", "sweep-1", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "1 run goes on in sweep-2, which was not cancelled\n")
    assert main(["cancel", "--results", str(tmp_path)]) == 0
    assert (cancelled, capsys.readouterr().out) == (["sweep-2"], "sweep-2 cancelled\n")
    os.close(lock)
    with RunStore(tmp_path, config(1, tmp_path)):
        assert main(["cancel", "--results", str(tmp_path)]) == 0
        assert "seed 1 is not part of a sweep that goes on" in capsys.readouterr().err
        # Left behind by a pool that was killed: it reads in the sweep's folder that it is to stop.
        again.note(again.runs[0], STARTED)
        assert main(["cancel", "--results", str(tmp_path)]) == 0
        assert capsys.readouterr().out == "sweep-2 cancelled\n"


def test_clocks_of_other_machines_do_not_matter(tmp_path):
    """Files dated in the past or the future change no state, and no duration is negative."""
    folder = make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    make_run(tmp_path, config(2, tmp_path), 3)
    sweep = Sweep.create([config(seed, tmp_path) for seed in (1, 2)], [])
    lock = sweep.lock()
    for shift in (-(10**9), 10**9):
        for path in (*folder.iterdir(), *RunStore(tmp_path, config(2, tmp_path)).folder.iterdir()):
            os.utime(path, (path.stat().st_mtime + shift,) * 2)
        with RunStore(tmp_path, config(2, tmp_path)):
            finished, running = survey(tmp_path).runs
        assert (finished.state, running.state) == ("finished", "running")
        assert running.seconds_since_record >= 0
    os.close(lock)


def test_another_format_is_refused_or_told(tmp_path, capsys):
    folder = make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    marker = json.loads((folder / "finished.json").read_text())
    del marker["checksum"]
    (folder / "finished.json").write_bytes(seal({**marker, "format": 99}))
    (run,) = survey(tmp_path).runs
    assert run.state == "failed"
    assert "format 99" in run.reason
    sweep = Sweep.create([config(1, tmp_path)], [])
    about = json.loads((sweep.folder / "sweep.json").read_text())
    (sweep.folder / "sweep.json").write_text(json.dumps({**about, "format": 99}))
    assert main(["status", "--results", str(tmp_path)]) == 2
    assert "move it away: the runs themselves stay" in capsys.readouterr().err


def test_command(tmp_path, capsys):
    make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    sweep = Sweep.create([config(seed, tmp_path) for seed in (1, 2)], [])
    sweep.note(sweep.runs[1], FAILED, reason="the machine\n  is on fire")
    sweep.log(sweep.runs[1]).write_text("smoke\n")
    assert main(["status", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("finished 1  running 0  queued 0  failed 1  lost 0  cancelled 0  of 2 runs")
    assert "gramacy1 al_lognormal sal_hr seed 2, at iteration 0: the machine is on fire" in shown
    assert f"log: {sweep.log(sweep.runs[1])}\n    | smoke" in shown
    assert main(["status", "sweep-1", "--results", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == survey(tmp_path).counts
    assert [run["state"] for run in told["runs"]] == ["finished", "failed"]


def test_launchers_are_asked_without_loading_numerical_libraries(tmp_path):
    for target in ("Local", "Slurm"):
        Sweep.create([{**config(1, tmp_path), "launcher": {"name": "x", "_target_": f"scorebo.launch.{target}"}}], [])
    code = "import sys; from scorebo.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", code, "status", "--results", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "it was never submitted" in done.stdout
    assert not {"torch", "numpy", "hydra", "submitit"} & set(done.stdout.split())


def test_a_launcher_that_ends_a_run_in_a_state_that_does_not_exist(tmp_path, monkeypatch):
    Sweep.create([config(1, tmp_path)], [])
    monkeypatch.setattr(Local, "poll", lambda runs: Poll(dict.fromkeys(runs, Ended("broken", "?"))))
    with pytest.raises(InputError, match=r"Unknown state of an ended run in Local\.poll 'broken'.*Allowed: cancelled"):
        survey(tmp_path)


def test_cancelled_runs_are_neither_failed_nor_shown_as_such(tmp_path, capsys):
    sweep = Sweep.create([config(seed, tmp_path) for seed in (1, 2)], [])
    sweep.note(sweep.runs[0], CANCELLED, reason="sweep-1 was cancelled")
    sweep.log(sweep.runs[0]).write_text("at work\n")
    sweep.cancel()
    assert main(["status", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("finished 0  running 0  queued 0  failed 0  lost 0  cancelled 2  of 2 runs\n\ncancelled\n")
    assert "seed 1, at iteration 0: sweep-1 was cancelled\n" in shown
    assert "at work" not in shown
    assert f"`scorebo retry --cancelled --results {tmp_path}` submits them again" in shown
    assert main(["status", "--results", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["counts"]["failed"], told["counts"]["cancelled"]) == (0, 2)
    assert {run["state"] for run in told["runs"]} == {"cancelled"}


def test_a_program_that_watches_gets_every_line_at_once(tmp_path, monkeypatch):
    """Not when some thousands of bytes have come together, which for a small sweep is never."""
    lock = Sweep.create([config(1, tmp_path)], []).lock()
    pipe = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(pipe))

    def sleep(seconds):
        assert json.loads(pipe.getvalue())["counts"]["queued"] == 1
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    assert main(["status", "--watch", "--json", "--results", str(tmp_path)]) == 130
    os.close(lock)


def test_results_in_which_nothing_can_be_kept_can_be_looked_at(tmp_path):
    make_run(tmp_path, config(1, tmp_path), 6, finished=True)
    (tmp_path / ".sweeps").write_text("in the way, for root as well")
    assert states(tmp_path) == ["finished"]


def test_running_and_queued_are_seen_by_who_may_only_read(tmp_path, monkeypatch):
    configs = [config(seed, tmp_path) for seed in (1, 2)]
    lock = Sweep.create(configs, []).lock()
    opened = os.open

    def read_only(path, flags, *mode, **options):
        if flags & (os.O_WRONLY | os.O_RDWR):  # root may, whatever the permissions
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, flags, *mode, **options)

    with RunStore(tmp_path, configs[0]), monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        assert states(tmp_path) == ["running", "queued"]
    os.close(lock)
