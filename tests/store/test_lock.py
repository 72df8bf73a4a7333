from __future__ import annotations

import os
import signal
import socket
import time

import pytest
from store_samples import finish, python

from scorebo.errors import InputError
from scorebo.store import RunLock

HOLD = """
import sys, time
from pathlib import Path
from scorebo.store import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from pathlib import Path
from scorebo.errors import InputError
from scorebo.store import RunLock
try:
    with RunLock(Path(sys.argv[1])):
        print("held")
except InputError as error:
    print(error)
"""


def test_a_second_process_is_refused_and_told_by_whom(tmp_path):
    with RunLock(tmp_path):
        message = finish(python(TRY, tmp_path))
    assert str(tmp_path) in message
    assert f"process {os.getpid()} on {socket.gethostname()}" in message
    assert finish(python(TRY, tmp_path)).strip() == "held"


def test_a_second_lock_in_the_same_process_is_refused(tmp_path):
    with RunLock(tmp_path):
        with pytest.raises(InputError, match="already running"):
            RunLock(tmp_path).acquire()
        with pytest.raises(InputError, match="already running"):
            RunLock(tmp_path).acquire()
    with RunLock(tmp_path):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path):
    holder = python(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"process {holder.pid} "):
        RunLock(tmp_path).acquire()
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with RunLock(tmp_path):
        pass


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path):
    code = """
import os, sys, time
from pathlib import Path
from scorebo.store import RunLock
lock = RunLock(Path(sys.argv[1]))
lock.acquire()
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""
    holder = python(code, tmp_path)
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(InputError, match="already running"):
            RunLock(tmp_path).acquire()
        holder.kill()
        holder.wait()
        deadline = time.monotonic() + 5
        while True:
            try:
                RunLock(tmp_path).acquire()
                break
            except InputError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        os.kill(child, 0)  # and the child was alive all the while
    finally:
        os.kill(child, signal.SIGKILL)
        holder.communicate()


def test_the_loser_is_told_even_if_the_holder_has_not_written_its_name(tmp_path):
    with RunLock(tmp_path) as lock:
        lock.path.write_text('{"pid": ')
        with pytest.raises(InputError, match="another process has just started it"):
            RunLock(tmp_path).acquire()
