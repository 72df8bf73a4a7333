"""A pool of workers that is kept busy until every run of a sweep had its turn.

The numerical libraries load once for all workers of a sweep (see `fork_server`), under the number of threads of its
runs; a worker does one run after the other.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.launch.finished_runs import FinishedRuns
from scorebo.launch.local.fork_server import ForkServer
from scorebo.launch.local.launcher import num_workers
from scorebo.launch.sweep import BUSY, CANCELLED, FAILED, Sweep

# How often the pool looks whether it was cancelled, or a run it waits for is free, in seconds.
_LOOK = 0.1
_BUSY_PAUSE = 1.0


class Worker:
    """One process of the pool and the run it is at; None while it has none."""

    def __init__(self, line: socket.socket, threads: int, index: int) -> None:
        self.threads = threads
        self.process: int | None = None
        self.index: int | None = None
        self._line = line
        self._unread = b""
        self.begin(index)

    def fileno(self) -> int:
        """Where its answers come from."""
        return self._line.fileno()

    def begin(self, index: int) -> None:
        """Hand it a run."""
        self.index, self._began = index, time.monotonic()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has died, which reading tells as well
            self._line.sendall(f"{index}\n".encode())

    def has_begun(self, process: int) -> None:
        """It is there, and its first run begins only now."""
        self.process, self._began = process, time.monotonic()

    def answers(self) -> list[str]:
        """What it, or the fork server about it, says; at the end of all words, "ended ?"."""
        try:
            received = self._line.recv(4096)
        except ConnectionResetError:
            received = b""
        *lines, self._unread = (self._unread + received).split(b"\n")
        return [line.decode() for line in lines] + ([] if received else ["ended ?"])

    def minutes(self) -> float:
        """Time its run has taken so far; none before the worker is there."""
        return 0.0 if self.process is None else (time.monotonic() - self._began) / 60.0

    def settle(self) -> None:
        """Wait until it is known whether there is a process; the fork server, which is dead, will not start it."""
        while self.process is None:
            for word, _, number in (answer.partition(" ") for answer in self.answers()):
                if word == "began":
                    self.has_begun(int(number))
                elif word == "ended":
                    return

    def kill(self) -> None:
        """End it, with whatever its task has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process, signal.SIGKILL)
        self._line.close()

    def close(self) -> None:
        """Let it end, which it does without input."""
        self._line.close()


class Pool:
    """The workers of a sweep and what is left for them."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.launcher: Any = sweep.launcher
        self.workers = num_workers(sweep.about["workers"], sweep.about["threads"])
        checked = FinishedRuns(sweep.results)
        finished, _ = checked.finished(run.folder for run in sweep.runs)
        checked.save()
        self.waiting = deque(index for index, run in enumerate(sweep.runs) if run.folder not in finished)
        self.busy: dict[int, float] = {}
        self.selector = selectors.DefaultSelector()
        self.fork_servers: dict[int, ForkServer] = {}

    def run(self) -> None:
        """Until nothing is left, or the sweep is cancelled."""
        while not self.sweep.cancelled:
            self._wake_busy()
            self._hand_out()
            if not self._working() and not self.waiting and not self.busy:
                break
            for key, _ in self.selector.select(_LOOK):
                self._hear(key.fileobj)  # type: ignore[arg-type]
            self._stop_overdue()
        if self._working():
            self._cancel()
        for worker in self._idle():
            worker.close()
        for server in self.fork_servers.values():
            server.close()

    def _workers(self) -> list[Worker]:
        return [key.fileobj for key in list(self.selector.get_map().values())]  # type: ignore[misc]

    def _working(self) -> list[Worker]:
        return [worker for worker in self._workers() if worker.index is not None]

    def _idle(self) -> list[Worker]:
        return [worker for worker in self._workers() if worker.index is None]

    def _cancel(self) -> None:
        """Stop at once, also where the libraries are still loading, and leave no worker behind that has just begun."""
        for server in self.fork_servers.values():
            server.kill()
        for worker in self._working():
            worker.settle()
            self._stop(worker, f"{self.sweep.name} was cancelled", CANCELLED)

    def _hand_out(self) -> None:
        while self.waiting and len(self._working()) < self.workers:
            index = self.waiting.popleft()
            if self._already_finished(index):
                continue
            threads = self.sweep.runs[index].threads
            idle = self._idle()
            worker = next((worker for worker in idle if worker.threads == threads), None)
            if worker is not None:
                worker.begin(index)
                continue
            if idle and len(self._workers()) >= self.workers:
                self._let_go(idle[0])
            if threads not in self.fork_servers:
                self.fork_servers[threads] = ForkServer(self.sweep, threads)
            worker = Worker(self.fork_servers[threads].start_worker(), threads, index)
            self.selector.register(worker, selectors.EVENT_READ)

    def _already_finished(self, index: int) -> bool:
        """Also that nothing can be done with it is a reason not to start it."""
        try:
            return self.sweep.store(index).is_finished()
        except InputError as error:
            self._note(index, str(error))
            return True

    def _hear(self, worker: Worker) -> None:
        for answer in worker.answers():
            word, _, number = answer.partition(" ")
            if word == "began":
                worker.has_begun(int(number))
            elif word == "ended":
                if worker.index is None:  # between two runs, of which neither is to blame
                    self._let_go(worker)
                elif worker.process is None:
                    self._stop(worker, f"no worker could be started, see {self.sweep.folder / 'pool.log'}")
                else:
                    self._stop(worker, f"its process {_describe_end(number)}")
                return
            elif worker.index is not None:
                if word == BUSY:
                    self.busy[worker.index] = time.monotonic()
                worker.index = None

    def _wake_busy(self) -> None:
        """A run that another process has is looked at again, after all others; it may be left unfinished there."""
        if self.waiting:
            return
        for index, since in list(self.busy.items()):
            if time.monotonic() - since >= _BUSY_PAUSE:
                del self.busy[index]
                self.waiting.append(index)

    def _stop_overdue(self) -> None:
        limit = self.launcher.minutes
        for worker in self._working() if limit is not None else ():
            if worker.minutes() > limit:
                self._stop(worker, f"time limit: it took more than launcher.minutes={limit:g}")

    def _stop(self, worker: Worker, reason: str, state: str = FAILED) -> None:
        """End a worker, if it has not, and note why its run did not."""
        self.selector.unregister(worker)
        worker.kill()
        if worker.index is not None and not self._already_finished(worker.index):
            self._note(worker.index, reason, state)

    def _let_go(self, worker: Worker) -> None:
        self.selector.unregister(worker)
        worker.close()

    def _note(self, index: int, reason: str, state: str = FAILED) -> None:
        run = self.sweep.runs[index]
        try:
            self.sweep.note(run, state, reason=reason)
        except InputError as error:  # a full disk; the pool goes on with the other runs
            print(f"{run.label}: {reason}; {error}", file=sys.stderr, flush=True)


def _describe_end(code: str) -> str:
    if not code.startswith("-"):
        return f"ended with exit code {code}"
    number = -int(code)
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return f"was killed by {name}{', by hand or because memory ran out' if name == 'SIGKILL' else ''}"


def main() -> None:
    """The pool of a sweep: its folder, and the descriptor of its lock, which is held until this process ends."""
    os.set_inheritable(int(sys.argv[2]), False)
    Pool(Sweep(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
