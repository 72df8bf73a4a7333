"""One process at a time in a run folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
import weakref
from datetime import UTC, datetime
from pathlib import Path

from scorebo.errors import InputError
from scorebo.files import storage_errors

# Somebody who only asks whether the lock is held has it for an instant.
_TRIES, _PAUSE_SECONDS = 4, 0.02

_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


class RunBusyError(InputError):
    """Another process has the run."""


class RunLock:
    """Holds `folder/lock` by `flock`: the system gives it back when the holder ends, however it ends.

    The file stays, since removing it would let two processes lock two files of one name; that it is there means
    nothing. It names the last holder, for the message the next one gets.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "lock"
        self._descriptor = -1

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor >= 0

    def acquire(self) -> None:
        """Take the lock or raise a `RunBusyError` that names who has it."""
        with storage_errors(self.path, "lock"):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                self._take(descriptor)
                holder = {"host": socket.gethostname(), "pid": os.getpid(), "started": _now()}
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, (json.dumps(holder) + "\n").encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
        self._descriptor = descriptor
        _held.add(self)

    def release(self) -> None:
        """Give the lock back; harmless if it is not held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        _held.discard(self)

    def _take(self, descriptor: int) -> None:
        try:
            for _ in range(_TRIES - 1):
                with contextlib.suppress(BlockingIOError):
                    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                time.sleep(_PAUSE_SECONDS)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusyError(f"The run in {self.folder} is already running: {_describe(descriptor)}.") from None
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                raise InputError(
                    f"The file system of {self.folder} has no file locks, without which two processes could write one "
                    "run. Choose a results folder elsewhere, or mount this one with locks (Lustre: -o flock)."
                ) from error
            raise

    def __enter__(self) -> RunLock:
        self.acquire()
        return self

    def __exit__(self, *raised: object) -> None:
        self.release()


def is_locked(path: Path | str) -> bool:
    """Whether someone holds the lock on `path`; asked of the file system, so that no clock or process id is needed."""
    try:
        # Reading is enough to share a lock: whoever may only look at another's results sees what is running as well.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _describe(descriptor: int) -> str:
    # The holder may be between taking the lock and writing its name.
    with contextlib.suppress(ValueError, KeyError, TypeError):
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']} on {holder['host']}, since {holder['started']}"
    return "another process has just started it"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _forget_in_child() -> None:
    # A forked child shares the lock; if it kept its copy, the run would stay locked after the parent is killed.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)
