"""A short pilot: a few iterations of every kind of run, on made-up observations, in a process of its own.

An iteration is timed after the initial design, in the middle and at the end of a run, and Simpson's rule does the rest.
The observations between are drawn around those of the initial design, so that no task is evaluated more than a few
times. Nothing is stored.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scorebo.threads import VARIABLES

if TYPE_CHECKING:
    from scorebo.launch.estimate import Cost

PILOT_SECONDS = 90.0


def pilot(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Cost]:
    """The cost of each kind that could be measured in the time there is."""
    from scorebo.launch.estimate import Cost

    if not kinds:
        return {}
    threads = max(int(config["threads"]) for config in kinds.values())
    command = [sys.executable, "-m", "scorebo.launch.pilot"]
    lines = "\n".join(json.dumps([kind, config]) for kind, config in kinds.items())
    environment = os.environ | dict.fromkeys(VARIABLES, str(threads))
    what = "kind of run is" if len(kinds) == 1 else "kinds of runs are"
    print(f"{len(kinds)} {what} timed first, for {PILOT_SECONDS:.0f} s or a little more …", file=sys.stderr, flush=True)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            answer = json.loads(line)
            found[answer["kind"]] = Cost(answer["seconds"], answer["memory_mb"], "pilot")
    return found


def measure(config: Mapping[str, Any]) -> list[float]:
    """Seconds of every iteration with a model, from three of them."""
    from scorebo.loop import Run
    from scorebo.seeds import generator

    # Every model is judged here: an estimate may be too long, not too short.
    run = Run({**config, "metrics_every": 1})
    task = run.benchmark
    records = [run.record(k, []) for k in range(1, task.initial + 1)]
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
    begin, middle, end = (_seconds(run, k, records) for k in (first, (first + last) // 2, last))
    count = run.num_records - task.initial
    return [(begin + 4 * middle + end) / 6] * count


def _seconds(run: Any, iteration: int, records: list[dict[str, Any]]) -> float:
    began = time.perf_counter()
    run.record(iteration, records[: iteration - 1])
    return time.perf_counter() - began


def main() -> None:
    """Read kinds and configurations, one a line; answer with seconds and memory until the time is over."""
    from scorebo.launch.worker import peak_memory_mb, reset_peak_memory

    sys.path.insert(0, os.getcwd())
    began = time.monotonic()
    for line in sys.stdin:
        if time.monotonic() - began > PILOT_SECONDS:
            break
        kind, config = json.loads(line)
        reset_peak_memory()
        try:
            seconds = measure(config)
        except Exception as error:
            print(f"No pilot of {config['benchmark']['name']}: {error}", file=sys.stderr)
            continue
        print(json.dumps({"kind": kind, "seconds": seconds, "memory_mb": peak_memory_mb()}), flush=True)


if __name__ == "__main__":
    main()
