"""The parent's side: a solver in a process of its own, started when it is first asked and used again after that."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import numpy as np

from scorebo.errors import InputError, TaskError
from scorebo.threads import VARIABLES

Array = np.ndarray
Solve = Callable[[Array], Array]
# Seconds for a child to import what it needs and read its data, also from a slow disk.
START_LIMIT = 300.0
# Seconds of one wait. A wait that took much longer was no wait: the machine slept, or this process was stopped.
SLICE = 0.2


class SolverError(InputError):
    """The solver crashed, hung, ran out of memory or raised at a point; the next call starts a new one if need be."""


class Solver:
    """`solver(X)` is what `make(**arguments)` returns, called on X in the child.

    Args:
        make: a function that can be imported, and that returns the function to call, `n x D` -> `n`.
        arguments: of `make`.
        time_limit: seconds for one call; those in which it waits for a processor do not count.
        memory_limit_mb: of the child, in MiB of address space.
    """

    def __init__(
        self, make: Callable[..., Solve], arguments: Mapping[str, Any], *, time_limit: float, memory_limit_mb: float
    ) -> None:
        self.make, self.arguments = make, dict(arguments)
        self.time_limit, self.memory_limit_mb = time_limit, memory_limit_mb
        self._child: _Child | None = None

    def __call__(self, X: Array) -> Array:
        """The values at the rows of X (`n x D`): `n`."""
        if self._child is None or not self._child.usable():
            self._child = _Child(self.make, self.arguments, self.memory_limit_mb)
            try:
                self._child.answer(START_LIMIT)
            except InputError as error:  # nothing that another point could help
                self._child.end()
                cannot = "The solver cannot be started. " if isinstance(error, SolverError) else ""
                raise TaskError(f"{cannot}{error}") from error
        self._child.send(X)
        return np.asarray(self._child.answer(self.time_limit), dtype=np.float64)


class _Child:
    """One process and the line to it."""

    def __init__(self, make: Callable[..., Solve], arguments: dict[str, Any], memory_limit_mb: float) -> None:
        self.owner = os.getpid()
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self.line, theirs = Pipe()
        threads = {name: os.environ.get(name, "1") for name in VARIABLES}
        modules = os.pathsep.join(path or os.getcwd() for path in sys.path)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scorebo.benchmarks.outside.child", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, **threads, "PYTHONPATH": modules},
            )
        self.end = weakref.finalize(self, _end, self.process, self.line, self.errors, self.owner)
        self.send((make, arguments, memory_limit_mb))

    def usable(self) -> bool:
        """Whether it can be asked: not ended, and no other process's (a fork has its parent's line)."""
        return self.end.alive and self.owner == os.getpid()

    def send(self, what: Any) -> None:
        with contextlib.suppress(OSError):  # a child that has died answers with the end of the line
            self.line.send(what)

    def answer(self, limit: float) -> Any:
        """What the child answers within so many seconds; a child that does not is ended."""
        waited, (spent, _) = 0.0, _processor(self.process.pid)
        while not self.line.poll(SLICE):
            # Whether a spectrum is too slow must not depend on what else the machine does.
            before, (spent, idle) = spent, _processor(self.process.pid)
            waited += SLICE if idle else min(spent - before, SLICE)
            if waited >= limit:
                self.end()
                raise SolverError(f"The solver took longer than its time limit of {limit:g} s and was ended.")
        try:
            kind, content = self.line.recv()
        except (EOFError, OSError):
            raise SolverError(self._last_words()) from None
        if kind == "input":
            raise InputError(content)
        if kind == "error":
            raise SolverError(f"The solver raised {content}.")
        return content

    def _last_words(self) -> str:
        code = self.process.wait()
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        self.end()
        return f"The solver's process ended {how}" + (f" ({said[-1].strip()})." if said else ".")


def _processor(pid: int) -> tuple[float, bool]:
    """Processor seconds of a process so far, and whether it waits for anything but a processor (or nobody knows)."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, True
    return (int(fields[10]) + int(fields[11])) / os.sysconf("SC_CLK_TCK"), state != "R"


def _end(process: subprocess.Popen[bytes], line: Connection, errors: IO[bytes], owner: int) -> None:
    line.close()
    errors.close()
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
