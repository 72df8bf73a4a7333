"""A run by its folder or by the beginning of its id."""

from __future__ import annotations

from pathlib import Path

from scorebo.errors import InputError
from scorebo.store.collect import find_runs
from scorebo.store.identity import run_id
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.stored_config import read_config


def find_run(run: str, results: Path) -> Path:
    """The folder of a run: the folder itself, or the beginning of its id, looked for below `results`."""
    if (Path(run) / "config.yaml").exists():
        return Path(run)
    found = []
    if run.isalnum() and results.is_dir():
        named = [f for f in find_runs(results) if f.name.rpartition("-")[2].startswith(run[:RUN_DIGITS])]
        found = [f for f in named if run_id(read_config(f / "config.yaml")).startswith(run)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"'{run}' begins the ids of {len(found)} runs: {', '.join(map(str, sorted(found)[:5]))}.")
    raise InputError(f"'{run}' is neither the folder of a run nor the beginning of the id of one in {results}.")
