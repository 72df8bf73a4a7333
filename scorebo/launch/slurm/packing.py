"""`launcher.runs_per_job=auto`: runs of seconds or minutes become jobs of a sensible length."""

from __future__ import annotations

from collections.abc import Sequence

AUTO = "auto"
# A job waits for seconds to minutes before it starts: shorter ones are not worth it. Longer ones than half an hour wait
# longer for a place, and lose more when they are pre-empted.
SHORTEST_SECONDS = 300.0
LONGEST_SECONDS = 1800.0
# Of a job's time limit, since estimates are rough.
SHARE_OF_LIMIT = 0.5


def job_seconds(seconds: Sequence[float], at_a_time: int, limit: float) -> float:
    """How long a job is to take: short enough that all places of the cluster have work, within sensible lengths.

    Args:
        seconds: of each run.
        at_a_time: how many jobs may run at a time.
        limit: the time limit of a job, in seconds.
    """
    even = sum(seconds) / at_a_time
    return min(max(even, SHORTEST_SECONDS), LONGEST_SECONDS, SHARE_OF_LIMIT * limit)


def pack(seconds: Sequence[float | None], length: float) -> list[list[int]]:
    """The places of the runs of each job, in order: as many as fit in `length` seconds, at least one.

    A run of which nobody knows how long it takes (None) has a job of its own.
    """
    packs: list[list[int]] = []
    filled = length
    for place, own in enumerate(seconds):
        if own is None or filled + own > length:
            packs.append([])
            filled = 0.0
        packs[-1].append(place)
        filled = length if own is None else filled + own
    return packs
