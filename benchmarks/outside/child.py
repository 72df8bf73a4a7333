"""The child's side: `python -m scorebo.benchmarks.outside.child DESCRIPTOR`, started by `outside.process`.

It is sent the function that makes the solver, its arguments and the memory limit, then points `n x D`; each is answered
with `(kind, content)`: "ready", "values" with `n` numbers, "input" with the text of an `InputError`, or "error" with
that of any other.
"""

from __future__ import annotations

import os
import pickle
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from scorebo.errors import InputError


def main() -> None:
    """Serve until the parent closes the line, or dies."""
    line = Connection(int(sys.argv[1]))
    # The parent decides what these mean; SLURM sends them to all processes of a job it cancels or queues again.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # Read beside the solver, so that a child that is at work ends with its parent too.
    threading.Thread(target=_read, args=(line, inbox), daemon=True).start()
    make, arguments, memory = pickle.loads(inbox.get())  # in this thread, since it imports the solver's modules
    _limit_memory(memory)
    solve = _answer(line, "ready", make, **arguments)
    while solve is not None:
        _answer(line, "values", solve, pickle.loads(inbox.get()))


def _read(line: Connection, inbox: queue.SimpleQueue[bytes]) -> None:
    try:
        while True:
            inbox.put(line.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _answer(line: Connection, kind: str, function: Callable[..., Any], *points: Any, **arguments: Any) -> Any:
    """Call the function and answer; None if that failed."""
    try:
        result = function(*points, **arguments)
        line.send((kind, result if kind == "values" else None))
        return result
    except InputError as error:
        line.send(("input", str(error)))
    except Exception as error:
        told = [type(error).__name__, *filter(None, [str(error)])]
        if isinstance(error, MemoryError):
            told.append(f"its memory limit is {resource.getrlimit(resource.RLIMIT_AS)[0] / 2**20:g} MiB")
        line.send(("error", ": ".join(told)))
    return None


def _limit_memory(megabytes: float) -> None:
    """Refuse this process more than so much address space."""
    limit = int(megabytes * 2**20)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main()
