"""Executing a run of a sweep: the same with every launcher."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from scorebo.errors import InputError, reason_of
from scorebo.launch.sweep import BUSY, CANCELLED, FAILED, FINISHED, STARTED, Sweep
from scorebo.store.lock import RunBusyError
from scorebo.threads import limit_threads


class CancelledError(Exception):
    """The sweep was cancelled while the run was at work."""


def work(sweep: Sweep, index: int, *, job: str | None = None) -> str:
    """Do a run, or what is left of it, and note how it ended: an outcome other than started.

    Busy is a run that another process has.
    """
    from scorebo.run.loop import execute

    run = sweep.runs[index]
    where = {"host": socket.gethostname(), "pid": os.getpid(), "job": job}
    made = 0

    def count(*_: object) -> None:
        nonlocal made
        made += 1
        if sweep.cancelled:  # and nobody may be left who would end this process
            raise CancelledError(f"{sweep.name} was cancelled")

    began = time.perf_counter()
    try:
        sweep.note(run, STARTED, **where)
        with _printing_to(sweep.log(run)):
            reset_peak_memory()
            try:
                execute(sweep.config(index), count)
            except (CancelledError, RunBusyError):
                raise
            except Exception as error:
                _print_failure(error)
                raise
    except RunBusyError as error:
        sweep.note(run, BUSY, reason=str(error), **where)
        return BUSY
    except CancelledError as error:
        with contextlib.suppress(InputError):  # as below
            sweep.note(run, CANCELLED, reason=str(error), **where)
        return CANCELLED
    except Exception as error:
        with contextlib.suppress(InputError):  # a disk that is full; the launcher still knows that the run ended
            sweep.note(run, FAILED, reason=reason_of(error), **where)
        return FAILED
    seconds = time.perf_counter() - began
    sweep.note(run, FINISHED, wall_seconds=seconds, records=made, peak_memory_mb=peak_memory_mb(), **where)
    return FINISHED


@contextlib.contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """Everything printed, also by compiled code, goes to the end of `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        with open(log, "a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # a full disk
                stream.flush()
        for number, descriptor in zip((1, 2), kept, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _print_failure(error: BaseException) -> None:
    """Print the whole traceback and last, for `scorebo status`, the user's exception with the frames outside ours."""
    traceback.print_exception(error)
    own = _users_error(error)
    walked = traceback.walk_tb(own.__traceback__)
    frames = traceback.StackSummary.extract((frame, line) for frame, line in walked if not _is_ours(frame))
    head = ["Traceback (most recent call last), without the frames of scorebo:\n"] if frames else []
    print("\n", *head, *frames.format(), *traceback.format_exception_only(own), sep="", end="", file=sys.stderr)


def _users_error(error: BaseException) -> BaseException:
    """The last of an error's causes that was raised outside this package; if there is none, the first cause."""
    causes = [error]
    while cause := causes[-1].__cause__ or (None if causes[-1].__suppress_context__ else causes[-1].__context__):
        causes.append(cause)
    return next((cause for cause in causes if _raised_outside(cause)), causes[-1])


def _raised_outside(error: BaseException) -> bool:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and not _is_ours(frames[-1])


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "scorebo"


def reset_peak_memory() -> None:
    """From here on a process remembers its peak anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory_mb() -> float:
    """The largest resident memory since then."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Execute the runs with these indices, of the sweep in this folder; 1 if one of them failed."""
    sweep = Sweep(Path(sys.argv[1]))
    sys.path.insert(0, sweep.about["cwd"])
    limit_threads(sweep.about["threads"])
    return int(FAILED in [work(sweep, int(index)) for index in sys.argv[2:] if not sweep.cancelled])


if __name__ == "__main__":
    sys.exit(main())
