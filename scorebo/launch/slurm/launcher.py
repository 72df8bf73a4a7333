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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError, check_choice, check_integer, check_number, missing_interface
from scorebo.files import storage_errors
from scorebo.launch.base import Launcher, Poll, SubmittedRun
from scorebo.launch.slurm import cluster
from scorebo.launch.slurm.packing import AUTO, job_seconds, pack
from scorebo.launch.sweep import Sweep
from scorebo.store import write_atomically
from scorebo.threads import VARIABLES

if TYPE_CHECKING:
    from scorebo.launch.estimate import Workload

_NAMES = ("partition", "account", "qos", "constraint")


@dataclass(frozen=True)
class Slurm(Launcher):
    """Jobs of a cluster, each with some runs; for the settings see `configs/launcher/slurm.yaml`."""

    pause = 5.0  # the controller has others to answer

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    minutes: int = 240
    memory_gb: float = 4
    cpus: int = 1
    array_parallelism: int = 256
    runs_per_job: int | str = 1
    signal_seconds: int = 120
    setup: list[str] = field(default_factory=list)

    def check(self, threads: int, workers: int | None) -> None:
        """Check types and ranges; refuse fewer cores than the runs have threads."""
        for name in ("minutes", "cpus", "array_parallelism", "signal_seconds"):
            check_integer(f"launcher.{name}", getattr(self, name), 1)
        if self.runs_per_job != AUTO:
            check_integer("launcher.runs_per_job (or auto)", self.runs_per_job, 1)
        if self.signal_seconds >= 60 * self.minutes:
            raise InputError(
                f"launcher.signal_seconds={self.signal_seconds} must be less than launcher.minutes={self.minutes}."
            )
        check_number("launcher.memory_gb", self.memory_gb, 0.0, exclusive=True)
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InputError(f"launcher.{name} must be a text or null, got {value!r}.")
        if not isinstance(self.setup, list) or not all(isinstance(line, str) for line in self.setup):
            raise InputError(f"launcher.setup must be a list of lines, got {self.setup!r}.")
        if self.cpus < threads:
            raise InputError(f"launcher.cpus={self.cpus} is fewer than threads={threads}: give a job a core a thread.")
        if workers is not None:
            raise InputError(
                f"workers={workers} has no effect with launcher=slurm: launcher.array_parallelism={workers} limits how "
                "many jobs run at a time."
            )

    def check_machine(self) -> None:
        """Refuse a machine without SLURM, a controller that does not answer, a partition that does not exist."""
        missing = [program for program in ("sbatch", "srun", "scontrol", "sinfo") if shutil.which(program) is None]
        if missing:
            raise InputError(
                f"launcher=slurm needs {', '.join(missing)}, not found on this machine's PATH. Submit on a machine of "
                "the cluster, or use launcher=local."
            )
        known = set(cluster.ask("sinfo", "--noheader", "--format=%R").split())
        for name in self.partition.split(",") if self.partition is not None else ():
            check_choice("partition", name, known)

    def submit(self, sweep: Sweep, indices: Sequence[int]) -> None:
        """Submit the runs in arrays no larger than the cluster allows; what it refuses leaves nothing behind."""
        packs = [[indices[place] for place in places] for places in self._packs(self._seconds(sweep, indices))]
        heads: list[str] = []
        jobs: dict[str, list[int]] = {}
        try:
            largest = cluster.largest_array()
            arrays = [packs[i : i + largest] for i in range(0, len(packs), largest)]
            # Arrays side by side share what may run at a time; those with no share wait for one before them.
            abreast = min(len(arrays), self.array_parallelism)
            for number, array in enumerate(arrays):
                share = self.array_parallelism // abreast + (number % abreast < self.array_parallelism % abreast)
                after = {"dependency": f"afterany:{heads[number - abreast]}"} if number >= abreast else {}
                submitted = self._submit_array(sweep, array, share, after)
                jobs.update(zip(submitted, array, strict=True))
                heads.append(submitted[0].partition("_")[0])
                write_atomically(sweep.folder / "jobs.json", json.dumps(jobs))
        except InputError as error:
            if not jobs:
                shutil.rmtree(sweep.folder)
                raise
            done = f"{len(jobs)} of {len(packs)} jobs were submitted; `scorebo cancel` takes them back."
            raise InputError(f"{error} {done}") from error

    def _seconds(self, sweep: Sweep, indices: Sequence[int]) -> list[float | None]:
        """How long each run takes, where jobs are made by that and it is known."""
        if self.runs_per_job != AUTO:
            return [None] * len(indices)
        from scorebo.launch.estimate import seconds_left

        return seconds_left([sweep.config(index) for index in indices], sweep.results)

    def _packs(self, seconds: Sequence[float | None]) -> list[list[int]]:
        """The places of the runs of each job."""
        if isinstance(self.runs_per_job, int):
            size = self.runs_per_job
            return [list(range(i, min(i + size, len(seconds)))) for i in range(0, len(seconds), size)]
        known = [own for own in seconds if own is not None]
        return pack(seconds, job_seconds(known, self.array_parallelism, 60.0 * self.minutes))

    def _submit_array(self, sweep: Sweep, packs: Sequence[list[int]], share: int, extra: dict[str, Any]) -> list[str]:
        """The ids of the jobs that do `packs`, at most `share` at a time."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError
        from submitit.slurm.slurm import SlurmExecutor

        from scorebo.launch.slurm.job import Job

        folder = sweep.folder / "jobs"
        try:
            with storage_errors(folder), _outside_jobs():  # submitit writes there what a job is to do
                folder.mkdir(exist_ok=True)
                executor = SlurmExecutor(folder, max_num_timeout=1_000_000)
                executor.update_parameters(**self._parameters(sweep.name, sweep.about["threads"], share), **extra)
                with executor.batch():
                    submitted = [executor.submit(Job(sweep.folder, pack, self)) for pack in packs]
        except (FailedJobError, FailedSubmissionError, subprocess.SubprocessError) as error:
            raise InputError(f"SLURM refused the jobs: {' '.join(str(error).split())}.") from error
        return [job.job_id for job in submitted]

    def _parameters(self, name: str, threads: int, parallelism: int) -> dict[str, Any]:
        """What submitit makes the batch script of."""
        exports = [f"export {variable}={threads}" for variable in VARIABLES]
        given = {name: getattr(self, name) for name in _NAMES}
        return {
            "job_name": name,
            "time": self.minutes,
            "mem": f"{round(1024 * self.memory_gb)}M",
            "cpus_per_task": self.cpus,
            "array_parallelism": parallelism,
            "signal_delay_s": self.signal_seconds,
            # Set before Python starts: submitit loads numpy before anything of ours is read.
            "setup": exports + self.setup,
            "additional_parameters": {"requeue": True},
            "stderr_to_stdout": True,
            **{name: value for name, value in given.items() if value is not None},
        }

    @classmethod
    def poll(cls, runs: Sequence[SubmittedRun]) -> Poll:
        """Ask the controller once, and the accounting only about runs that no job is to do."""
        slurm = cluster.Cluster({run.sweep.name: run.sweep for run in runs}.values())
        pending = {run for run in runs if slurm.has(run)}
        elsewhere = {run.run.folder for run in pending}
        return Poll(
            {run: slurm.why_ended(run, elsewhere=run.run.folder in elsewhere) for run in runs if run not in pending},
            slurm.notes,
        )

    def cancel(self, sweep: Sweep) -> None:
        """Cancel the sweep's jobs."""
        # Those that are over are left out: scancel fails for an array that SLURM has forgotten, minutes after its end.
        jobs = cluster.Cluster([sweep]).arrays(sweep)
        if jobs:
            cluster.ask("scancel", *jobs)

    def describe(self, work: Workload) -> list[str]:
        """The jobs by `runs_per_job`; a cluster charges for the cores of a job, used or not."""
        unknown = [None] * (work.runs - len(work.seconds))
        packs = self._packs([*work.seconds, *unknown])
        packed = [sum(work.seconds[place] for place in places if place < len(work.seconds)) for places in packs]
        packed = packed if work.seconds else []
        wall = max([sum(packed) / self.array_parallelism, *packed])
        at_a_time = f"{min(self.array_parallelism, len(packed))} jobs"
        lines = work.costs(sum(work.seconds) * self.cpus, wall, at_a_time)
        if work.memory_mb and work.memory_mb > 1024 * self.memory_gb:
            lines.append(f"  more than launcher.memory_gb={self.memory_gb:g}")
        if packed and max(packed) > 60 * self.minutes:
            lines.append(f"  a job takes longer than launcher.minutes={self.minutes}: it will queue again and go on")
        jobs = len(packs)
        script = self.batch_script(work.folder, work.threads, jobs)
        return [*lines, "", f"batch script ({jobs} jobs; in arrays no larger than the cluster allows)", script]

    def batch_script(self, folder: Path, threads: int, count: int) -> str:
        """The script that `submit` would hand to sbatch for an array of `count` jobs of the sweep in `folder`."""
        jobs = folder / "jobs"
        command = f"{sys.executable} -u -m submitit.core._submit {jobs}"
        options = self._parameters(folder.name, threads, self.array_parallelism)
        try:
            from submitit.slurm.slurm import _make_sbatch_string  # what its executor calls, which needs srun to be made

            inspect.signature(_make_sbatch_string).bind(command, jobs, **options, map_count=None)
        except (ImportError, TypeError) as error:
            raise missing_interface("submitit", ">=1.5.2,<1.6", f"_make_sbatch_string ({error})") from error
        return _make_sbatch_string(command, jobs, **options, map_count=count if count > 1 else None)


@contextlib.contextmanager
def _outside_jobs() -> Iterator[None]:
    """An environment without that of the job this may be in, whose settings sbatch would take for those of the new."""
    if "SLURM_JOB_ID" not in os.environ:
        yield
        return
    from submitit.helpers import clean_env

    kept = {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    with clean_env():
        os.environ.update(kept)
        yield
