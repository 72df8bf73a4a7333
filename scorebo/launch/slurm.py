"""`launcher=slurm`: the runs of a sweep as jobs of a cluster, through submitit.

A job that is pre-empted, or near its time limit, queues again and its run goes on from its last record; SLURM itself
queues a job again whose node is lost. A job that spent all its time without a single new record does not: it would for
ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from submitit.helpers import Checkpointable, DelayedSubmission, clean_env

from scorebo.errors import InputError, check_choice
from scorebo.launch import cluster, outcomes
from scorebo.launch.settings import SlurmSettings
from scorebo.launch.sweep import Sweep
from scorebo.launch.worker import work
from scorebo.store import write_atomically
from scorebo.store.atomic import storage_errors
from scorebo.store.markers import read_checkpoint
from scorebo.threads import VARIABLES

# A run that another process has is waited for this long, as it may be that of a job that is being killed; then left.
_BUSY_SECONDS = 60.0
# SLURM sends the signal up to a minute early.
_EARLY_SECONDS = 75.0


class Job(Checkpointable):
    """The runs a job does, one after the other; pickled by submitit, and again whenever the job is queued again."""

    def __init__(self, sweep: Path, indices: Sequence[int], settings: SlurmSettings) -> None:
        self.sweep = sweep
        self.indices = list(indices)
        self.settings = settings
        self.current: int | None = None
        self.before: dict[int, int] = {}
        self.began = 0.0
        self.stopping = False

    def __call__(self) -> dict[str, str]:
        """Do the runs; raises, so that SLURM knows as well, if one was not finished."""
        import submitit

        sweep = Sweep(self.sweep)
        sys.path.insert(0, sweep.about["cwd"])
        self.began, self.stopping = time.monotonic(), False
        self.before = {index: _iteration(sweep, index) for index in self.indices}
        job = submitit.JobEnvironment().job_id
        ends = {}
        for index in self.indices:
            if self.stopping or sweep.cancelled:
                break
            self.current = index
            ends[sweep.runs[index].label] = _work_when_free(sweep, index, job)
        failed = [label for label, end in ends.items() if end == outcomes.FAILED]
        if failed:
            raise RuntimeError(f"Not finished: {', '.join(failed)}; see the logs in {sweep.folder / 'logs'}.")
        return ends

    def checkpoint(self) -> DelayedSubmission:
        """What submitit queues again when the job is told to stop; raises if queueing again would be no use."""
        sweep = Sweep(self.sweep)
        elapsed = time.monotonic() - self.began
        limit = 60.0 * self.settings.minutes
        progressed = any(_iteration(sweep, index) > before for index, before in self.before.items())
        if elapsed > limit - self.settings.signal_seconds - _EARLY_SECONDS and not progressed:
            self.stopping = True
            raise InputError(
                f"time limit: no iteration was completed in launcher.minutes={self.settings.minutes}: "
                "the task hangs, or a job needs more time."
            )
        return DelayedSubmission(Job(self.sweep, self.indices, self.settings))


def submit(sweep: Sweep, indices: Sequence[int], settings: SlurmSettings) -> list[str]:
    """Submit the runs `indices` in arrays no larger than the cluster allows; returns the ids of the jobs."""
    from submitit.core.utils import FailedJobError, FailedSubmissionError
    from submitit.slurm.slurm import SlurmExecutor

    check_cluster(settings)
    packs = [list(indices[i : i + settings.runs_per_job]) for i in range(0, len(indices), settings.runs_per_job)]
    largest = cluster.largest_array()
    arrays = [packs[i : i + largest] for i in range(0, len(packs), largest)]
    folder = sweep.folder / "jobs"
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
    threads = sweep.about["threads"]
    jobs: dict[str, list[int]] = {}
    heads: list[str] = []
    # Arrays side by side share what may run at a time; those for which nothing is left wait for one before them.
    abreast = min(len(arrays), settings.array_parallelism)
    for number, array in enumerate(arrays):
        extra: dict[str, Any] = {}
        share = settings.array_parallelism // abreast + (number % abreast < settings.array_parallelism % abreast)
        if number >= abreast:
            extra["dependency"] = f"afterany:{heads[number - abreast]}"
        try:
            with _outside_jobs():
                executor = SlurmExecutor(folder, max_num_timeout=1_000_000)
                executor.update_parameters(**parameters(sweep.name, threads, settings, share), **extra)
                with executor.batch():
                    submitted = [executor.submit(Job(sweep.folder, pack, settings)) for pack in array]
        except (FailedJobError, FailedSubmissionError, subprocess.SubprocessError) as error:
            done = f" {len(heads)} of {len(arrays)} arrays were submitted; `scorebo cancel` takes them back." * bool(
                heads
            )
            raise InputError(f"SLURM refused the jobs: {' '.join(str(error).split())}.{done}") from error
        jobs.update({job.job_id: pack for job, pack in zip(submitted, array, strict=True)})
        heads.append(submitted[0].job_id.partition("_")[0])
        write_atomically(sweep.folder / "jobs.json", json.dumps(jobs))
    return list(jobs)


def parameters(name: str, threads: int, settings: SlurmSettings, parallelism: int) -> dict[str, Any]:
    """What submitit makes the batch script of."""
    exports = [f"export {variable}={threads}" for variable in VARIABLES]
    given = {name: getattr(settings, name) for name in ("partition", "account", "qos", "constraint")}
    return {
        "job_name": name,
        "time": settings.minutes,
        "mem": f"{round(1024 * settings.memory_gb)}M",
        "cpus_per_task": settings.cpus,
        "array_parallelism": parallelism,
        "signal_delay_s": settings.signal_seconds,
        # Set before Python starts: submitit loads numpy before anything of ours is read.
        "setup": exports + settings.setup,
        "additional_parameters": {"requeue": True},
        "stderr_to_stdout": True,
        **{name: value for name, value in given.items() if value is not None},
    }


def batch_script(folder: Path, threads: int, settings: SlurmSettings, count: int) -> str:
    """The script that `submit` would hand to sbatch for an array of `count` jobs of the sweep in `folder`."""
    from submitit.slurm.slurm import _make_sbatch_string  # what its executor calls, which cannot be made without srun

    jobs = folder / "jobs"
    command = f"{sys.executable} -u -m submitit.core._submit {jobs}"
    options = parameters(folder.name, threads, settings, settings.array_parallelism)
    return _make_sbatch_string(command, jobs, **options, map_count=count if count > 1 else None)


def check_cluster(settings: SlurmSettings) -> None:
    """Refuse a machine without SLURM, a controller that does not answer, a partition that does not exist."""
    missing = [program for program in ("sbatch", "srun", "scontrol", "sinfo") if shutil.which(program) is None]
    if missing:
        raise InputError(
            f"launcher=slurm needs {', '.join(missing)}, not found on this machine's PATH. Submit on a machine of the "
            "cluster, or use launcher=local."
        )
    try:
        known = cluster.partitions()
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise InputError(f"SLURM does not answer: {' '.join(str(said).split())}") from error
    if settings.partition is not None:
        for name in settings.partition.split(","):
            check_choice("partition", name, known)


def cancel(sweep: Sweep) -> None:
    """Take the sweep's jobs out of SLURM's hands."""
    jobs = sorted({job.partition("_")[0] for job in cluster.read_jobs(sweep)})
    if jobs:
        try:
            cluster.ask("scancel", *jobs)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            raise InputError(f"scancel failed: {' '.join(str(said).split())}") from error


@contextlib.contextmanager
def _outside_jobs() -> Iterator[None]:
    """An environment without that of the job this may be in, whose settings sbatch would take for those of the new."""
    if "SLURM_JOB_ID" not in os.environ:
        yield
        return
    kept = {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    with clean_env():
        os.environ.update(kept)
        yield


def _work_when_free(sweep: Sweep, index: int, job: str) -> str:
    began = time.monotonic()
    while True:
        end = work(sweep, index, job=job)
        if end != outcomes.BUSY or time.monotonic() - began > _BUSY_SECONDS:
            return end
        time.sleep(1.0)


def _iteration(sweep: Sweep, index: int) -> int:
    run = sweep.runs[index]
    checkpoint, _ = read_checkpoint(sweep.results / run.folder, run.run_id)
    return 0 if checkpoint is None else checkpoint.iteration
