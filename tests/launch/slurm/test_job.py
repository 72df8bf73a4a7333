"""What a job does by itself; what SLURM does with it is tested on a real one in test_slurm.py."""

import sys

import pytest

from scorebo.launch import Slurm
from scorebo.launch.slurm.job import Job
from scorebo.launch.sweep import Sweep
from scorebo.store import RunStore
from scorebo.store.checksummed import seal
from tests.launch.sweeps import comparable, sweep_of, undisturbed


def test_a_run_that_is_refused_does_not_keep_the_others_of_its_job_from_their_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "local")
    monkeypatch.setenv("SUBMITIT_LOCAL_JOB_ID", "7")
    monkeypatch.setattr(sys, "path", [*sys.path])
    configs = sweep_of(tmp_path / "results", range(1, 3))
    sweep = Sweep.create(configs, [])
    refused = RunStore(tmp_path / "results", configs[0]).folder
    refused.mkdir(parents=True)
    (refused / "checkpoint.json").write_bytes(seal({"format": 2, "run_id": "of another run"}))
    with pytest.raises(RuntimeError, match=r"^Not finished: gramacy1 al_lognormal sal_hr seed 1; see the logs"):
        Job(sweep.folder, [0, 1], Slurm())()
    assert "belongs to another run" in sweep.read_note(sweep.runs[0])["reason"]
    assert comparable(configs[1]) == undisturbed(tmp_path / "undisturbed", 2)
