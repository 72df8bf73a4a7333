"""A short pilot: a few iterations of every kind of run, on made-up observations, in a process of its own.

An iteration is timed after the initial design, in the middle and at the end of a run, and Simpson's rule does the rest.
The observations between are drawn around those of the initial design, so that no task is evaluated more than a few
times. Nothing is stored.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from scorebo.launch.timings import Cost, spent
from scorebo.threads import VARIABLES

# Seconds after which no further kind of run is begun, by default, and how much later the pilot is ended, whatever it
# is at.
BEGIN_SECONDS = 90.0
GRACE_SECONDS = 210.0


def pilot(kinds: Mapping[str, Mapping[str, Any]], seconds: float = BEGIN_SECONDS) -> dict[str, Cost]:
    """The cost of each kind that could be measured in the time there is, one of each task first."""
    if not kinds:
        return {}
    what = "1 kind of run is" if len(kinds) == 1 else f"{len(kinds)} kinds of runs are"
    print(
        f"{what} timed first, which takes {(seconds + GRACE_SECONDS) / 60:g} min at most: after {seconds:g} s no "
        "further kind is begun …",
        file=sys.stderr,
        flush=True,
    )
    began = time.monotonic()
    found = _read(_answers(in_turn(kinds), seconds))
    took = time.monotonic() - began
    print(f"{len(found)} of {len(kinds)} timed in {took:.0f} s", file=sys.stderr, flush=True)
    return found


def in_turn(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The first kind of every task, then the second of each, and so on: the rest is guessed from those timed."""
    place: Counter[str] = Counter()
    order = {}
    for kind, config in kinds.items():
        task = config["benchmark"]["name"]
        order[kind] = place[task]
        place[task] += 1
    return {kind: kinds[kind] for kind in sorted(kinds, key=order.__getitem__)}


def _answers(kinds: Mapping[str, Mapping[str, Any]], seconds: float) -> str:
    """What the pilot's process printed until it ended, or was ended with all that it had started."""
    threads = max(int(config["threads"]) for config in kinds.values())
    process = subprocess.Popen(
        [sys.executable, "-m", "scorebo.launch.pilot", str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | dict.fromkeys(VARIABLES, str(threads)),
        start_new_session=True,
    )
    try:
        lines = "\n".join(json.dumps([kind, config]) for kind, config in kinds.items())
        return process.communicate(lines, timeout=seconds + GRACE_SECONDS)[0]
    except BaseException as error:  # also an interrupt, which does not reach another session
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return process.communicate()[0]


def _read(answers: str) -> dict[str, Cost]:
    found = {}
    for line in answers.splitlines():
        with contextlib.suppress(ValueError, LookupError, TypeError):  # cut short, or printed by a task
            answer = json.loads(line)
            found[answer["kind"]] = Cost(answer["wall_seconds"], answer["memory_mb"], "pilot", answer["cpu_seconds"])
    return found


def measure(config: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Wall and processor seconds of every iteration with a model, from three of them."""
    from scorebo.run.loop import Run
    from scorebo.seeds import generator

    # Every model is judged here: an estimate may be too long, not too short.
    run = Run({**config, "metrics_every": 1})
    task = run.benchmark
    records: list[Any] = [run.record(k, []) for k in range(1, task.initial + 1)]
    rng = generator(task.name, run.seed, "pilot")
    spread = statistics.pstdev([record["y"] for record in records]) or 1.0
    lower, upper = task.bounds.numpy()
    for k in range(task.initial + 1, task.total):
        like = records[k % task.initial]
        y = like["y"] + spread * float(rng.standard_normal())
        # Noiseless values are those of the design: a made-up one may be better than the optimum, which is warned of.
        records.append({"x": rng.uniform(lower, upper).tolist(), "y": y, "f": like["f"]})
    first, last = task.initial + 1, max(task.total, task.initial + 1)
    run.record(first, records[: first - 1])  # loads what is compiled
    three = [spent(run.record(k, records[: k - 1])) for k in (first, (first + last) // 2, last)]
    count = run.num_records - task.initial
    return [_simpson(*(item.wall for item in three))] * count, [_simpson(*(item.cpu or 0.0 for item in three))] * count


def _simpson(begin: float, middle: float, end: float) -> float:
    """The mean over a run, from three of its iterations."""
    return (begin + 4 * middle + end) / 6


def main() -> None:
    """Read kinds and configurations, one a line; answer with seconds and memory until the time is over."""
    from scorebo.launch.worker import peak_memory_mb, reset_peak_memory

    sys.path.insert(0, os.getcwd())
    began, seconds = time.monotonic(), float(sys.argv[1])
    for line in sys.stdin:
        if time.monotonic() - began > seconds:
            break
        kind, config = json.loads(line)
        reset_peak_memory()
        try:
            wall, cpu = measure(config)
        except Exception as error:
            print(f"No pilot of {config['benchmark']['name']}: {error}", file=sys.stderr)
            continue
        answer = {"kind": kind, "wall_seconds": wall, "cpu_seconds": cpu, "memory_mb": peak_memory_mb()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
