"""Sweeps of tiny runs on tasks that can be disturbed, and what they must end as."""

from __future__ import annotations

import copy
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scorebo.launch.status import Survey, survey
from scorebo.run.loop import execute
from scorebo.store import RunStore, read_records
from tests.runs import tiny_config, without_timings

TOTAL = 6


def sweep_of(
    results: Path, seeds: range, *more: str, task: str | None = None, workers: int = 2, **options: Any
) -> list[dict[str, Any]]:
    """Configurations of one run a seed; `task` of `tests.bad_tasks` with its `options` in place of Gramacy (1D)."""
    base = copy.deepcopy(_composed(more)) | {"results": str(results)}
    base["workers"] = workers if base["launcher"]["name"] == "local" else None
    configs = []
    for seed in seeds:
        config = {**base, "seed": seed, "benchmark": dict(base["benchmark"])}
        if task is not None:
            config["benchmark"] |= {"_target_": f"tests.bad_tasks.{task}"} | options
        configs.append(config)
    return configs


@functools.cache
def _composed(more: tuple[str, ...]) -> dict[str, Any]:
    return tiny_config(Path("results"), "gramacy1", "sal_hr", f"benchmark.total={TOTAL}", *more)


def comparable(config: dict[str, Any]) -> list[str]:
    """The records of a run, every number bit for bit, timings apart."""
    records = read_records(RunStore(config["results"], config).folder / "records.jsonl").records
    return [json.dumps(without_timings(record), sort_keys=True) for record in records]


def undisturbed(folder: Path, seed: int) -> list[str]:
    """What the run of a seed must have recorded, whatever happened to it."""
    config = sweep_of(folder, range(seed, seed + 1))[0]
    execute(config)
    return comparable(config)


def assert_finished_once(configs: list[dict[str, Any]], expected: dict[int, list[str]]) -> None:
    """Every run is finished, in one folder, with one marker, and has the records of an undisturbed one."""
    results = Path(configs[0]["results"])
    left = [(run.label, run.state, run.reason) for run in survey(results).runs if run.state != "finished"]
    assert not left, left
    assert len(list(results.rglob("finished.json"))) == len(configs)
    for config in configs:
        assert comparable(config) == expected[config["seed"]]


def reasons(state: Survey) -> list[str]:
    """Why runs failed."""
    return [str(run.reason) for run in state.of("failed")]


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition, not for ever."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
