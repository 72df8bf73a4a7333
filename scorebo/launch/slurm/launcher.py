"""`launcher=slurm`: the runs of a sweep as jobs of a cluster, through submitit."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from submitit.helpers import clean_env

from scorebo.errors import InputError, check_choice, missing_interface
from scorebo.files import storage_errors
from scorebo.launch.settings import SlurmSettings
from scorebo.launch.slurm import cluster
from scorebo.launch.slurm.job import Job
from scorebo.launch.sweep import Sweep
from scorebo.store import write_atomically
from scorebo.threads import VARIABLES


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
            with storage_errors(folder), _outside_jobs():  # submitit writes there what a job is to do
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
    jobs = folder / "jobs"
    command = f"{sys.executable} -u -m submitit.core._submit {jobs}"
    options = parameters(folder.name, threads, settings, settings.array_parallelism)
    try:
        from submitit.slurm.slurm import _make_sbatch_string  # what its executor calls, which needs srun to be made

        inspect.signature(_make_sbatch_string).bind(command, jobs, **options, map_count=None)
    except (ImportError, TypeError) as error:
        raise missing_interface("submitit", ">=1.5.2,<1.6", f"_make_sbatch_string ({error})") from error
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
    # Those that are over are left out: scancel fails for an array that SLURM has forgotten, minutes after its end.
    jobs = cluster.Cluster([sweep]).arrays(sweep)
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
