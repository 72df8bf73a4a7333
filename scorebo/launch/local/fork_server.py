"""Where the workers of a pool come from: a process that has loaded the numerical libraries once and forks.

So a worker, also one that takes the place of a killed one, is there in a moment. The libraries load under the number
of threads in the environment, and have started no thread when the fork happens.

A pool asks for a worker by sending one end of a pair of sockets. The worker reads numbers of runs from it, one a line,
and writes `began <process id>` first and `<how it ended>` for each run; when the worker itself has ended, the nursery
writes `ended <exit code>`, which tells a killed one from others. A worker ends with its input, the nursery with the
pool.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from scorebo.launch.sweep import Sweep
from scorebo.threads import VARIABLES


class Nursery:
    """The pool's side."""

    def __init__(self, sweep: Sweep, threads: int) -> None:
        self._requests, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scorebo.launch.local.fork_server", str(sweep.folder), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=os.environ | dict.fromkeys(VARIABLES, str(threads)),
                pass_fds=(theirs.fileno(),),
            )

    def start_worker(self) -> socket.socket:
        """The pool's end of the line to a new worker, which may still be loading."""
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):  # a nursery that has died closes `theirs`, which tells
            socket.send_fds(self._requests, [b"w"], [theirs.fileno()])
        return ours

    def kill(self) -> None:
        """End it, so that it starts no worker any more; those there are stay."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let it end, once its workers have."""
        self._requests.close()
        self._process.wait()


def main() -> None:
    """The nursery of a sweep: its folder, and the descriptor that requests come from."""
    sweep = Sweep(Path(sys.argv[1]))
    sys.path.insert(0, sweep.about["cwd"])
    began = time.perf_counter()
    import scorebo.run.loop  # noqa: F401 - what is loaded here, no worker has to load

    print(f"libraries loaded in {time.perf_counter() - began:.2f} s", file=sys.stderr, flush=True)
    children: dict[int, socket.socket] = {}
    # Signals wake the selector, which otherwise waits for requests only.
    wake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(fileno=int(sys.argv[2])) as requests, selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        selector.register(wake, selectors.EVENT_READ)
        pool_lives = True
        while pool_lives or children:
            for key, _ in selector.select():
                if key.fileobj is wake:
                    wake.recv(4096)
                    continue
                message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
                if not message:
                    selector.unregister(requests)
                    pool_lives = False
                for descriptor in descriptors:
                    line = socket.socket(fileno=descriptor)
                    child = os.fork()
                    if child == 0:
                        _become_worker(sweep, line, [requests, wake, waker, *children.values()])
                    children[child] = line
            _report_ended(children)


def _report_ended(children: dict[int, socket.socket]) -> None:
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with children.pop(child) as line, contextlib.suppress(OSError):
            line.sendall(f"ended {os.waitstatus_to_exitcode(status)}\n".encode())


def _become_worker(sweep: Sweep, line: socket.socket, others: list[socket.socket]) -> None:
    """Never returns: the child of a fork."""
    from scorebo.launch.worker import work

    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in others:
            other.close()
        os.setpgid(0, 0)  # killed together with whatever its task starts
        line.sendall(f"began {os.getpid()}\n".encode())
        for order in line.makefile("r"):
            line.sendall(f"{work(sweep, int(order))}\n".encode())
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        code = 0  # the pool is gone
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
