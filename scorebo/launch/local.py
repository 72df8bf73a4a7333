"""A pool of processes on this machine, each with its own share of threads."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from scorebo.threads import limit_threads

_messages: Any = None  # the worker's end of the queue, set once per process


@dataclass(frozen=True)
class Progress:
    """A record of one run of the pool has been stored."""

    run: int
    iteration: int
    num_records: int
    summary: str


def run_all(
    configs: Sequence[Mapping[str, Any]],
    workers: int,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> list[BaseException | None]:
    """Execute every configuration; returns, in their order, what stopped each run, or None.

    Args:
        configs: resolved configurations in plain containers; all with the same number of threads.
        workers: processes at a time.
        on_progress: called in this process for every stored record.
    """
    # Spawned, not forked: each worker loads the numerical libraries anew, under the thread limit set here.
    limit_threads(int(configs[0]["threads"]))
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(messages,)) as pool:
        futures = [pool.submit(_execute, index, config) for index, config in enumerate(configs)]
        pending = set(futures)
        while pending:
            _drain(messages, on_progress)
            pending = wait(pending, timeout=0.1).not_done
    # A worker sends its last messages before it ends; here all have ended.
    _drain(messages, on_progress)
    return [future.exception() for future in futures]


def _drain(messages: Any, on_progress: Callable[[Progress], None]) -> None:
    while True:
        try:
            on_progress(messages.get_nowait())
        except queue.Empty:
            return


def _start_worker(messages: Any) -> None:
    global _messages
    _messages = messages


def _execute(index: int, config: Mapping[str, Any]) -> None:
    from scorebo.loop import execute
    from scorebo.progress import describe

    execute(
        config,
        lambda record, total: _messages.put(Progress(index, record["iteration"], total, describe(record))),
    )
