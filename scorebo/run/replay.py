"""One iteration of a stored run, repeated from its files alone and compared with what was recorded.

A record is a function of the configuration, the records before it, the points that failed in its iteration, which it
names, and the state that the sampler carried. Only the last state is in the checkpoint. Earlier ones are made again by
repeating fits, from a record on whose state before it the sampler can tell (`Sampler.restart`); every fit on the way
must give the recorded hyperparameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorebo.errors import EvaluationError, InputError, reason_of
from scorebo.run.loop import Run, history, hyperparameters
from scorebo.store import run_id
from scorebo.store.checksummed import seal, unseal
from scorebo.store.ledger import EVALUATION, ITERATION, Entry
from scorebo.store.markers import parse_checkpoint
from scorebo.store.resume import contents
from scorebo.store.schema import TIMINGS, FailedPoint, Record
from scorebo.store.stored_run import CHECKPOINT, FolderRun, StoredRun


@dataclass(frozen=True)
class Replay:
    """The iteration as it was repeated; `differences` from what is stored, as texts, none if all is bit-equal.

    `record` is None where there is none, for the reason `failure`.
    """

    iteration: int
    record: Record | None
    differences: list[str]
    failure: str | None = None


def replay(stored: StoredRun | Path, iteration: int) -> Replay:
    """Repeat an iteration of a stored run, which is only read.

    Args:
        stored: the run, or its folder.
        iteration: of a record, counted from 1; or the one after the last, if it failed.
    """
    stored = FolderRun(stored) if isinstance(stored, Path) else stored
    config = stored.config()
    reading, _ = stored.reading(run_id(config))
    records = [contents(record) for record in reading.records]
    failures = [e for e in stored.ledger() if e["kind"] in (EVALUATION, ITERATION) and e["iteration"] == iteration]
    failed = iteration == len(records) + 1 and bool(failures)
    if not failed and not 1 <= iteration <= len(records):
        damage = f" ({reading.problem})" if reading.problem else ""
        raise InputError(f"{stored.place} has records of iterations 1 to {len(records)}{damage}, not of {iteration}.")
    # A record tells itself which points failed before its own, and whether metrics are missing for a failure.
    tried = _tried_before(failures) if failed else records[iteration - 1].get("failed_points", [])
    avoid = "attempt" in failures[-1] if failed else True
    run = Run({**config, "on_failure": "avoid" if avoid else "stop"})
    carried = iteration > 1 and reading.records[iteration - 2].get("needs_state")
    differences = _restore(run, stored, config, records, iteration) if carried else []
    if differences:
        return Replay(iteration, None, differences, "the sampler's state before it cannot be made again")
    # Whether the model was judged is not in the configuration, which is of what makes a run the run it is.
    judge = None if failed else records[iteration - 1].get("has_metrics")
    try:
        record = _plain(run.record(iteration, records[: iteration - 1], judge, tried))
    except Exception as error:
        before: Mapping[str, Any] = failures[-1] if failed else records[iteration - 1]
        reason = error.reason if isinstance(error, EvaluationError) else reason_of(error)
        return Replay(iteration, None, _differences_of_failure(before, error, reason), reason)
    if failed:
        what = failures[-1]["kind"].split()[0]
        return Replay(iteration, record, [f"y: the {what} failed ({failures[-1]['reason']}), now {record['y']}"])
    return Replay(iteration, record, differences_between(records[iteration - 1], record))


def _tried_before(failures: list[Entry]) -> list[FailedPoint]:
    """The points that failed in the same start of the run and the same iteration as the last failure, before it."""
    attempt = failures[-1].get("attempt", 0)
    return [{"x": entry["x"], "reason": entry["reason"]} for entry in failures[-1 - attempt : -1]]


def _differences_of_failure(stored: Mapping[str, Any], error: Exception, reason: str) -> list[str]:
    """Where a failure of today differs from what is stored: a failure as well (it has a `reason`), or a record."""
    what = EVALUATION if isinstance(error, EvaluationError) else ITERATION
    differences = []
    if isinstance(error, EvaluationError) and "x" in stored and error.x != stored["x"]:
        differences.append(f"x: {stored['x']} stored, {error.x} now")
    if "reason" not in stored:
        differences.append(f"y: {stored['y']} stored, now the {what.split()[0]} fails")
    elif what != stored["kind"] or (what == ITERATION and reason != stored["reason"]):
        differences.append(f"failure: {stored['kind']} ({stored['reason']}) stored, {what} ({reason}) now")
    return differences


def _restore(
    run: Run, stored: StoredRun, config: Mapping[str, Any], records: list[Record], iteration: int
) -> list[str]:
    """Give the run the sampler's state before an iteration; what differs on the way to it."""
    before: list[Any] = records[: iteration - 1]
    data = stored.read(CHECKPOINT)
    checkpoint, _ = parse_checkpoint(data, stored.place / CHECKPOINT, run_id(config)) if data else (None, None)
    if checkpoint is not None and checkpoint.iteration == len(before):
        run.carry.state = checkpoint.state
        return []
    start, run.carry.state = run.sampler.restart(before)
    for k in range(start, len(before)):
        model, _ = run.fit(k + 1, *history(before[:k], before[k].get("failed_points", []), run.benchmark.dim))
        then, now = {"hyperparameters": before[k]["hyperparameters"]}, {"hyperparameters": hyperparameters(model)}
        differences = differences_between(then, _plain(now))
        if differences:
            return [f"iteration {k + 1}, {difference}" for difference in differences]
    return []


def differences_between(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Where two records differ in any bit, as `path: stored, now`; timings apart, and fields younger than the first."""
    later = Record.__required_keys__ - stored.keys()
    left, right = _leaves(stored), _leaves({name: value for name, value in now.items() if name not in later})
    return [
        f"{path}: {left.get(path, 'nothing')} stored, {right.get(path, 'nothing')} now"
        for path in [*left, *(path for path in right if path not in left)]
        if repr(left.get(path)) != repr(right.get(path)) and not _is_timing(path)
    ]


def _is_timing(path: str) -> bool:
    return path.partition(".")[0] in TIMINGS or path == "mcmc.wall_seconds"


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, Mapping | list) and value:
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        parts = [_leaves(item, f"{path}.{key}" if path else str(key)) for key, item in items]
        return {key: leaf for part in parts for key, leaf in part.items()}
    return {path: value}


def _plain(record: Mapping[str, Any]) -> Any:
    """A record as it comes back from its file."""
    return unseal(seal(record)[:-1])
