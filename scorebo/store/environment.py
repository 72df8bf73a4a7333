"""Where and with what a run was computed: kept with it, one entry for each time it was started."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGES = (
    *("scorebo", "torch", "botorch", "gpytorch", "pyro-ppl", "nutpie", "numba", "numpy", "scipy", "hydra-core"),
    # What the real tasks are solved with, on which their values depend; XGBoost has two names.
    *("scikit-learn", "camb", "onnxruntime", "xgboost", "xgboost-cpu"),
)
_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


def describe_session(threads: int | None) -> dict[str, Any]:
    """What `environment.json` keeps of one start of a run."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(sys.argv),
        "threads": threads,
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "slurm_job_id": os.environ.get("SLURM_JOB_ID"),
        "python": platform.python_version(),
        "packages": dict(package_versions()),
        "git": git_state(_PACKAGE_FOLDER),
        "machine": {
            "hostname": socket.gethostname(),
            "platform": platform.platform(),
            "cpu": cpu_model(),
            "cpu_count": os.cpu_count(),
            "cpus_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        },
    }


def last_session(environment: bytes) -> dict[str, Any]:
    """The last start of a run, by its `environment.json`; empty if that is not known."""
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return dict(json.loads(environment)["sessions"][-1])
    return {}


def changes_since(session: dict[str, Any]) -> list[str]:
    """What is not as it was in a session, of all that can change the last bits of a number."""
    now = describe_session(session.get("threads"))

    def parts(of: dict[str, Any]) -> dict[str, Any]:
        commit = (of.get("git") or {}).get("commit")
        return {**of.get("packages", {}), "python": of.get("python"), "cpu": of.get("machine", {}).get("cpu")} | {
            "commit": commit and commit[:12]
        }

    before, here = parts(session), parts(now)
    return [f"{name} {before[name]} then, {here.get(name)} now" for name in before if before[name] != here.get(name)]


# Cached: none of these changes while a process lives, and a sweep starts many runs in one.
@functools.cache
def package_versions() -> Mapping[str, str | None]:
    """Installed versions, None for a package that is not installed."""
    versions: dict[str, str | None] = dict.fromkeys(PACKAGES)
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


@functools.cache
def git_state(package: Path) -> dict[str, Any] | None:
    """Commit and whether the checkout differs from it; None if the package does not lie at the top of a checkout."""
    try:
        top, commit = _git(package, "rev-parse", "--show-toplevel", "HEAD").splitlines()
        # An environment inside someone's repository is not a checkout of this project.
        if Path(top).resolve() != package.parent:
            return None
        return {"commit": commit, "dirty": bool(_git(package, "status", "--porcelain"))}
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


@functools.cache
def cpu_model() -> str | None:
    """The processor's name where the system tells it."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def _git(folder: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()
