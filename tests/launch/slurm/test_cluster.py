"""What SLURM's answers are taken for; that the answers are these is tested on a real one in test_slurm.py."""

import json
import sys

import pytest

from scorebo.cli import main
from scorebo.launch.display import wait
from scorebo.launch.slurm import cluster
from scorebo.launch.slurm.cluster import Cluster
from scorebo.launch.status import survey
from scorebo.launch.sweep import FAILED, Sweep
from tests.launch.sweeps import sweep_of

SQUEUE = "7_0|RUNNING|None\n7_1|PENDING|JobHeldUser\n7_2|FAILED|NonZeroExitCode\n7_8|COMPLETING|None\n"
SACCT = """7_0|RUNNING|0:0
7_2|FAILED|9:0
7_2.batch|FAILED|9:0
7_2.0|CANCELLED|0:9
7_3|OUT_OF_MEMORY|0:125
7_3.0|OUT_OF_MEMORY|0:125
7_4|TIMEOUT|0:0
7_4.batch|CANCELLED|0:15
7_5|COMPLETED|0:0
7_6|CANCELLED by 1000|0:0
7_9|REQUEUED|0:0
"""


@pytest.fixture
def sweep(tmp_path):
    sweep = Sweep.create(sweep_of(tmp_path, range(1, 12), "launcher=slurm"), [])
    (sweep.folder / "jobs.json").write_text(json.dumps({f"7_{index}": [index] for index in range(10)}))
    return sweep


def answer(monkeypatch, squeue, sacct):
    def ask(cluster, program, *options):
        text = {"squeue": squeue, "sacct": sacct}[program]
        if text is None:
            cluster.notes.append(f"{program} gave no answer: it is on fire")
        return text

    monkeypatch.setattr(Cluster, "_ask", ask)


def test_states_and_reasons(sweep, monkeypatch):
    answer(monkeypatch, SQUEUE, SACCT)
    state = survey(sweep.results)
    found = {run.index: (run.state, run.reason) for run in state.runs}
    assert [found[index][0] for index in (0, 1, 8)] == ["queued"] * 3
    assert found[2] == ("failed", "its job failed (job 7_2: FAILED, killed by signal 9)")
    assert found[3][1].startswith("out of memory: raise launcher.memory_gb")
    assert found[4][1].startswith("time limit reached (job 7_4: TIMEOUT")
    assert found[5] == ("failed", "its job ended without finishing it (job 7_5: COMPLETED)")
    assert found[6] == ("cancelled", "cancelled (job 7_6: CANCELLED)")
    assert found[7] == ("lost", "SLURM knows nothing of job 7_7 any more")
    assert found[9][0] == "lost"
    assert found[9][1].startswith("SLURM's controller has forgotten job 7_9, which for its accounting is ")
    assert found[10] == ("lost", "it was never submitted: the submission was interrupted")
    assert state.notes == ["Job 7_1 is held (JobHeldUser): SLURM starts it only after `scontrol release 7_1`."]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        *(("REQUEUED", "queued"), ("SPECIAL_EXIT", "queued"), ("REVOKED", "queued"), ("POWER_UP_NODE", "queued")),
        *(("NODE_FAIL", "failed"), ("PREEMPTED", "failed"), ("BOOT_FAIL", "failed"), ("DEADLINE", "failed")),
    ],
)
def test_a_job_is_over_only_in_a_state_that_is_an_end(sweep, monkeypatch, state, expected):
    """Whatever else a version of SLURM calls a job."""
    answer(monkeypatch, f"7_0|{state}|None\n", "")
    assert survey(sweep.results).runs[0].state == expected


def test_a_run_that_failed_in_a_job_is_not_queued_while_the_job_goes_on_with_others(sweep, monkeypatch):
    """But it is when the job itself is queued again, which tries it again, or ends, from which it may be queued."""
    (sweep.folder / "jobs.json").write_text(json.dumps({"7_0": [0, 1], "7_1": [2]}))
    for run in sweep.runs[:2]:
        sweep.note(run, FAILED, reason="the machine is on fire")
    answer(monkeypatch, SQUEUE, SACCT)
    first, last, *_ = survey(sweep.results).runs
    assert (first.state, first.reason) == ("failed", "the machine is on fire")
    assert last.state == "queued", "its job is about to end"
    for state in ("PENDING", "COMPLETING"):
        answer(monkeypatch, SQUEUE.replace("7_0|RUNNING", f"7_0|{state}"), SACCT)
        assert survey(sweep.results).runs[0].state == "queued"


def test_runs_of_a_cancelled_sweep_are_not_queued_while_its_jobs_are_still_ending(sweep, monkeypatch):
    sweep.cancel()
    answer(monkeypatch, SQUEUE.replace("PENDING", "COMPLETING"), SACCT)
    assert {(run.state, run.reason) for run in survey(sweep.results).runs} == {("cancelled", "sweep-1 was cancelled")}


def test_arrays_that_are_over_are_not_cancelled(sweep, monkeypatch):
    """SLURM forgets them, and scancel fails for what it does not know."""
    jobs = {"7_0": [0], "7_1": [1], "7_2": [2], "8_0": [3], "9": [4]}
    (sweep.folder / "jobs.json").write_text(json.dumps(jobs))
    asked = []
    monkeypatch.setattr(cluster, "ask", lambda *command: asked.append(command))
    answer(monkeypatch, SQUEUE + "8_0|COMPLETED|None\n", SACCT)
    sweep.launcher.cancel(sweep)
    answer(monkeypatch, None, None)
    sweep.launcher.cancel(sweep)
    assert asked == [("scancel", "7"), ("scancel", "7", "8", "9")]
    answer(monkeypatch, "", SACCT)
    sweep.launcher.cancel(sweep)
    assert len(asked) == 2


@pytest.mark.parametrize("command", ["wait", "status --watch"])
def test_what_is_waited_for_is_told_once(command, sweep, monkeypatch, capsys):
    """After what is shown, so that it stays there where showing clears the screen."""
    answer(monkeypatch, SQUEUE, SACCT)
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            answer(monkeypatch, "", SACCT)

    monkeypatch.setattr("time.sleep", sleep)
    if command == "wait":
        wait(sweep.results, sweep.name)
    else:
        monkeypatch.setattr("sys.stderr", sys.stdout)
        assert main(["status", "--watch", "--results", str(sweep.results)]) == 0
    assert len(looks) == 3
    told = "".join(capsys.readouterr())
    assert told.count("Job 7_1 is held") == 1
    if command != "wait":
        assert told.startswith("finished 0  running 0  queued 3")


def test_without_an_answer_nothing_is_called_lost(sweep, monkeypatch):
    answer(monkeypatch, None, None)
    state = survey(sweep.results)
    assert [run.state for run in state.runs] == ["queued"] * 10 + ["lost"]
    assert state.notes == ["squeue gave no answer: it is on fire"]


def test_without_accounting_the_controller_s_word_and_the_log_remain(sweep, monkeypatch):
    answer(monkeypatch, SQUEUE, None)
    (sweep.folder / "jobs").mkdir()
    log = sweep.folder / "jobs" / "7_3_0_log.out"
    log.write_text("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0\n")
    found = {run.index: run for run in survey(sweep.results).runs}
    assert found[2].reason == "its job failed (job 7_2: FAILED)"
    assert found[3].reason == "out of memory: raise launcher.memory_gb (job 7_3)"
    assert (found[3].log, found[3].log_tail) == (str(log), log.read_text().strip())
    assert found[4].state == "lost"
