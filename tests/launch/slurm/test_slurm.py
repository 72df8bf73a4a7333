"""Sweeps on a real cluster, disturbed in every way; then each run is finished once, as if nothing had happened."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from scorebo.errors import InputError
from scorebo.launch.slurm.cluster import read_jobs
from scorebo.launch.status import survey
from scorebo.launch.submit import cancel, retry, submit, unfinished
from scorebo.report.archives import create
from scorebo.report.query import Query
from scorebo.store import RunStore, collect
from scorebo.store.archive.manage import merge
from scripts.maintenance.slurm_cluster import LARGEST_ARRAY, Cluster
from tests.launch.sweeps import assert_finished_once, reasons, sweep_of, undisturbed, until
from tests.runs import TINY

SLURM = ("launcher=slurm", "launcher.memory_gb=1", "launcher.minutes=30")


def why_not() -> str:
    """Why there is no cluster to test on; empty if there is."""
    conf = os.environ.get("SLURM_CONF", "")
    if not conf or not (Path(conf).resolve().parent.parent / "run" / "slurmctld.pid").exists():
        return "no cluster of scripts/maintenance/slurm_cluster.py: start one and export its SLURM_CONF"
    if shutil.which("scontrol") is None:
        return "SLURM is not installed"
    ping = subprocess.run(["scontrol", "ping"], capture_output=True, text=True, check=False)
    return "" if "is UP" in ping.stdout else "the cluster does not answer"


pytestmark = pytest.mark.slurm
if why_not():
    pytest.skip(why_not(), allow_module_level=True)


@pytest.fixture(autouse=True)
def cluster():
    """The cluster, whose node takes jobs whatever the test before left."""
    cluster = Cluster(Path(os.environ["SLURM_CONF"]).parents[1])
    cluster.mend()
    return cluster


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return {seed: undisturbed(folder, seed) for seed in range(1, 21)}


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "bed"
    path.touch()
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def results(tmp_path):
    yield tmp_path / "results"
    for array in {
        job.partition("_")[0] for folder in tmp_path.rglob("jobs.json") for job in json.loads(folder.read_text())
    }:
        subprocess.run(["scancel", array], check=False)


def asleep(results, count=1):
    """Wait until so many runs sleep at their fourth observation."""
    until(lambda: [run.iteration for run in survey(results).of("running")] == [3] * count, 120)


def ended(results, sweep):
    """Where the runs of a sweep stand once none is left to wait for, which must not take for ever."""
    try:
        until(lambda: not survey(results, sweep.name, tails=False).of("running", "queued"), 150 + 15 * len(sweep.runs))
    except AssertionError:
        for command in (["squeue", "--array", "--states=all"], ["sinfo", "--list-reasons"], ["sacct", "--allocations"]):
            print(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        raise
    return survey(results, sweep.name)


def held_job():
    """The id of a new job that is never started."""
    command = ["sbatch", "--parsable", "--hold", "--job-name=held", "--output=/dev/null", "--wrap=true"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def restarts(sweep):
    (job,) = read_jobs(sweep)
    shown = subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True, check=False).stdout
    return int(shown.partition("Restarts=")[2].split()[0]) if "Restarts=" in shown else 0


def sessions(config):
    return json.loads((RunStore(config["results"], config).folder / "environment.json").read_text())["sessions"]


def test_twenty_runs_in_arrays_that_the_cluster_allows(results, expected):
    configs = sweep_of(results, range(1, 21), *SLURM)
    sweep = submit(configs, [])
    arrays = {job.partition("_")[0] for job in read_jobs(sweep)}
    assert len(arrays) == -(-20 // LARGEST_ARRAY)
    assert survey(results).of("finished") == []
    state = ended(results, sweep)
    assert len(state.of("finished")) == 20
    assert_finished_once(configs, expected)
    assert all(len(sessions(config)) == 1 for config in configs)


def test_short_runs_share_jobs_by_their_estimates(results, expected):
    configs = sweep_of(results, range(1, 9), *SLURM, "launcher.runs_per_job=auto")
    sweep = submit(configs, [])
    assert list(read_jobs(sweep).values()) == [list(range(8))]
    ended(results, sweep)
    assert_finished_once(configs, expected)


def test_archives_of_a_running_sweep_make_the_table_of_its_folder_elsewhere(results, expected, bed, tmp_path):
    configs = [
        *sweep_of(results, range(1, 4), *SLURM),
        *sweep_of(results, range(4, 6), *SLURM, task="Sleepy", bed=str(bed)),
    ]
    sweep = submit(configs, [])
    until(lambda: len(survey(results).of("finished")) == 3, 300)
    out = tmp_path / "cluster.parquet"
    assert [made[:2] for made in create(Query(results), out, "full", [])] == [(out, 3)]
    before = out.read_bytes()
    bed.unlink()
    ended(results, sweep)
    again = out.with_name("cluster-2.parquet")
    assert [made[:2] for made in create(Query(results), out, "full", [])] == [(again, 2)]
    assert create(Query(results), out, "full", []) == []
    assert out.read_bytes() == before
    elsewhere = tmp_path / "laptop" / "merged.parquet"
    assert merge([out, again], elsewhere, []) == (5, 5)
    pd.testing.assert_frame_equal(collect(elsewhere), collect(results), check_exact=True)
    assert_finished_once(configs, expected)
    assert unfinished([{**config, "results": str(elsewhere.parent)} for config in configs]) == []


def test_killed_and_raising_runs_and_those_out_of_memory_are_failed_whatever_slurm_says(results, expected, tmp_path):
    (tmp_path / "graves").mkdir()
    fault, purse = tmp_path / "fault", tmp_path / "purse"
    fault.touch()
    purse.touch()
    configs = [
        *sweep_of(results, range(4, 5), *SLURM, task="Greedy", purse=str(purse)),
        *sweep_of(results, range(3, 4), *SLURM, task="Mortal", grave=str(tmp_path / "graves")),
        *sweep_of(results, range(2, 3), *SLURM, task="Breakable", fault=str(fault)),
        *sweep_of(results, range(1, 2), *SLURM),
    ]
    state = ended(results, submit(configs, []))
    greedy, killed, broken, _ = state.runs
    assert [run.state for run in state.runs] == ["failed", "failed", "failed", "finished"]
    assert "out of memory" in greedy.reason
    assert "memory limit" in greedy.log_tail
    assert "signal 9" in killed.reason
    assert killed.iteration == 2
    assert "the machine is on fire" in broken.reason
    assert broken.log_tail.splitlines()[-1] == "RuntimeError: the machine is on fire"
    fault.unlink()
    purse.unlink()
    (again,) = retry(state.of("failed"), results, {"launcher": {"runs_per_job": 3}}, [])
    assert len(read_jobs(again)) == 1
    ended(results, again)
    assert_finished_once(configs, expected)


def test_cancelled_runs_go_on_when_retried(results, expected, bed):
    configs = sweep_of(results, range(1, 4), *SLURM, task="Sleepy", bed=str(bed))
    sweep = submit(configs, [])
    asleep(results, 2)
    assert len(survey(results).of("queued")) == 1
    first, _, third = read_jobs(sweep)
    subprocess.run(["scontrol", "hold", third], check=True)
    assert [f"scontrol release {third}" in note for note in survey(results).notes] == [True]
    subprocess.run(["scancel", first], check=True)  # behind our back
    until(lambda: len(survey(results).of("cancelled")) == 1, 60)
    assert "CANCELLED" in survey(results).of("cancelled")[0].reason
    cancel(sweep)
    until(lambda: len(survey(results).of("cancelled")) == 3, 60)
    bed.unlink()
    (again,) = retry(survey(results).of("cancelled"), results, {}, [])
    ended(results, again)
    assert_finished_once(configs, expected)


def test_preempted_run_queues_again_and_goes_on(results, expected, bed):
    configs = sweep_of(results, range(1, 2), *SLURM, task="Sleepy", bed=str(bed))
    sweep = submit(configs, [])
    asleep(results)
    urgent = ["sbatch", "--parsable", "--partition=urgent", f"--cpus-per-task={os.cpu_count()}", "--output=/dev/null"]
    job = subprocess.run([*urgent, "--wrap=sleep 2"], capture_output=True, text=True, check=True).stdout.strip()
    until(lambda: restarts(sweep) == 1, 90)
    assert len(survey(results).of("queued", "running")) == 1
    bed.unlink()
    ended(results, sweep)
    assert_finished_once(configs, expected)
    assert len(sessions(configs[0])) == 2
    subprocess.run(["scancel", job], check=False)


def test_time_limit_is_survived_by_a_run_that_advances_and_ends_one_that_hangs(results, expected, bed, tmp_path):
    short = ("launcher=slurm", "launcher.memory_gb=1", "launcher.minutes=2", "launcher.signal_seconds=20")
    hangs = tmp_path / "hangs"
    hangs.touch()
    slow = sweep_of(results, range(1, 2), *short, task="Sleepy", bed=str(bed))
    hanging = sweep_of(results, range(2, 3), *short, task="Sleepy", bed=str(hangs), at=1)
    first, second = submit(slow, []), submit(hanging, [])
    until(lambda: restarts(first) == 1, 180)
    bed.unlink()
    until(lambda: not survey(results).of("running", "queued"), 180)
    state = survey(results)
    assert len(state.of("finished")) == 1
    assert len(sessions(slow[0])) == 2
    assert "no iteration was completed in launcher.minutes=2" in reasons(state)[0]
    assert restarts(second) == 0
    hangs.unlink()
    (again,) = retry(state.of("failed"), results, {"launcher": {"minutes": 30}}, [])
    ended(results, again)
    assert_finished_once(slow + hanging, expected)


def test_lost_node(results, expected, bed, cluster):
    configs = sweep_of(results, range(1, 3), *SLURM, task="Sleepy", bed=str(bed))
    sweep = submit(configs, [])
    asleep(results, 2)
    cluster.lose_node()
    until(lambda: not survey(results).of("running"), 20)
    until(lambda: "down" in cluster.ask("sinfo", "--noheader", "--format=%T"), 60)
    bed.unlink()
    cluster.start_node()
    state = ended(results, sweep)
    assert len(state.of("finished")) == 2, [(run.state, run.reason) for run in state.runs]
    assert_finished_once(configs, expected)
    assert all(len(sessions(config)) == 2 for config in configs)


def test_two_sweeps_at_once_and_the_controller_restarted(results, expected, bed, cluster):
    configs = sweep_of(results, range(1, 4), *SLURM, task="Sleepy", bed=str(bed))
    first = submit(configs, [])
    second = submit(configs, [])
    asleep(results, 2)
    until(cluster.saved)
    cluster.stop_daemon("slurmctld", 9)
    dark = survey(results)
    assert len(dark.of("running")) == 2
    assert len(dark.of("queued")) == 1
    assert "gave no answer" in dark.notes[0]
    cluster.restart_controller()
    bed.unlink()
    for sweep in (first, second):
        assert len(ended(results, sweep).of("finished")) == 3
    until(lambda: not subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout, 120)
    assert_finished_once(configs, expected)
    assert all(len(sessions(config)) == 1 for config in configs)


def test_jobs_that_a_restarted_controller_has_forgotten_are_lost_and_retried(results, expected, bed, cluster):
    configs = sweep_of(results, range(1, 2), *SLURM, task="Sleepy", bed=str(bed))
    saved = cluster.folder / "controller" / "job_state"
    held_job()  # so that there is something to save
    until(cluster.saved)
    before = saved.read_bytes()
    sweep = submit(configs, [])
    asleep(results)
    (job,) = read_jobs(sweep)
    # Of the job itself: a step of it may be accounted for earlier.
    accounts = ("sacct", "--noheader", "--allocations", "--format=State", f"--jobs={job}")
    until(lambda: "RUNNING" in cluster.ask(*accounts))
    cluster.stop_daemon("slurmctld", 9)
    saved.write_bytes(before)  # as if it had been killed before it could save what it knew
    cluster.restart_controller()
    state = ended(results, sweep)
    assert [run.reason for run in state.of("lost")] == [
        f"SLURM's controller has forgotten job {job}, which for its accounting is RUNNING"
    ]
    bed.unlink()
    # The controller counts on from what it remembers. A node that is given an id it still knows takes no more jobs.
    while held_job() < int(job):
        pass
    (again,) = retry(state.runs, results, {}, [])
    ended(results, again)
    subprocess.run(["scancel", "--name=held"], check=True)
    assert_finished_once(configs, expected)


def test_full_disk(tmp_path, expected, bed):
    results = tmp_path / "results"
    results.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(results)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        configs = sweep_of(results, range(1, 3), *SLURM, task="Sleepy", bed=str(bed))
        sweep = submit(configs, [])
        asleep(results, 2)
        filler = results / "filler"
        done = subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], capture_output=True, check=False)
        assert b"No space left" in done.stderr
        bed.unlink()
        state = ended(results, sweep)
        assert len(state.of("failed")) == 2
        assert all("No space left on device" in reason for reason in reasons(state))
        filler.unlink()
        (again,) = retry(state.of("failed"), results, {}, [])
        ended(results, again)
        assert_finished_once(configs, expected)
    finally:
        subprocess.run(["umount", "--lazy", str(results)], check=True)


def test_hydra_s_own_launcher_gives_the_same_runs(results, expected, tmp_path):
    settings = [
        "benchmark=gramacy1",
        "acquisition=sal_hr",
        "benchmark.total=6",
        *TINY,
        f"results={results}",
        "seed=1,2",
    ]
    launcher = ["hydra/launcher=submitit_slurm", "hydra.launcher.mem_gb=1", "hydra.launcher.timeout_min=30"]
    command = [sys.executable, "-m", "scorebo", "-m", *launcher, *settings]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert_finished_once(sweep_of(results, range(1, 3)), expected)


def test_a_partition_that_does_not_exist(results):
    with pytest.raises(InputError, match=r"Unknown partition 'debg'\. Did you mean debug.*Allowed: debug, urgent"):
        submit(sweep_of(results, range(1, 2), *SLURM, "launcher.partition=debg"), [])
    assert not list(results.rglob("sweep.json"))


def test_what_sbatch_refuses_is_said(results):
    with pytest.raises(InputError, match="SLURM refused"):
        submit(sweep_of(results, range(1, 2), *SLURM, "launcher.constraint=no_such_feature"), [])
    assert not list(results.rglob("sweep.json"))
