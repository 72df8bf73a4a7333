"""Disks that are full, read-only or not ours; as root too, whom file modes do not stop."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from store_samples import finish, make_config, make_record, make_run, python, same

from scorebo.errors import InputError
from scorebo.store import RunStore, read_records, write_atomically


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 128 KB of its own, where mounting is allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(results, total=10_000):
    """Append until the disk refuses; returns how many records were accepted, and the refusal."""
    with RunStore(results, make_config()) as store:
        count = len(store.resume().records)
        try:
            for k in range(count + 1, total):
                store.append(make_record(k))
                count = k
        except InputError as error:
            return count, str(error)
    raise AssertionError("the disk took everything")


def refuse_to_shorten(descriptor, length):
    if length:  # the lock file is emptied by the same call
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("can_take_back", [True, False])
@pytest.mark.parametrize("spare", [0, 1000, 3000])
def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(small_disk, monkeypatch, can_take_back, spare):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(40_000))
    results = small_disk / "results"
    make_run(results, make_config(), 3)
    with monkeypatch.context() as patch:
        if not can_take_back:
            patch.setattr(os, "ftruncate", refuse_to_shorten)
        (small_disk / "shift").write_bytes(bytes(spare))
        count, message = fill(results)
    assert count > 3
    assert str(small_disk) in message
    assert "No space left on device" in message
    assert not list(small_disk.rglob(".*.tmp"))
    ballast.unlink()
    with RunStore(results, make_config()) as store:
        resumed = store.resume()
        assert len(resumed.records) == count
        assert same(resumed.records, [make_record(k) for k in range(1, count + 1)])
        store.append(make_record(count + 1))
        store.finish()
    assert store.is_finished()


def test_a_new_run_on_a_full_disk_is_refused(small_disk):
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "ballast").write_bytes(bytes(1_000_000))
    with pytest.raises(InputError, match="No space left on device"):
        RunStore(small_disk / "results", make_config()).open()


def test_a_read_only_disk_refuses_runs_but_shows_what_is_finished(small_disk):
    make_run(small_disk, make_config(), 3, finished=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert RunStore(small_disk, make_config()).is_finished()
    with pytest.raises(InputError, match="Read-only file system"):
        RunStore(small_disk, make_config(seed=2)).open()
    with pytest.raises(InputError, match="Read-only file system"):
        RunStore(small_disk, make_config()).open()


LIMITED = """
import os, resource, sys
from store_samples import make_config, make_record
from scorebo.errors import InputError
from scorebo.store import RunStore
with RunStore(sys.argv[1], make_config()) as store:
    store.resume()
    if sys.argv[2] == "torn":  # as if killed before the torn line could be taken back
        os.ftruncate = lambda *_: None
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        for k in range(1, 1000):
            store.append(make_record(k))
            print(k)
    except InputError as error:
        print(error)
"""


def test_a_limit_on_file_sizes_is_said_and_leaves_whole_records(tmp_path):
    *stored, message = finish(python(LIMITED, tmp_path, "whole")).splitlines()
    assert "records.jsonl: File too large" in message
    path = RunStore(tmp_path, make_config()).folder / "records.jsonl"
    records, good_bytes, problem = read_records(path)
    assert len(records) == len(stored) > 5
    assert (good_bytes, problem) == (path.stat().st_size, None)


def test_a_line_torn_by_a_limit_is_repaired_on_the_next_start(tmp_path):
    *stored, _ = finish(python(LIMITED, tmp_path, "torn")).splitlines()
    path = RunStore(tmp_path, make_config()).folder / "records.jsonl"
    assert path.stat().st_size == 20_000
    with RunStore(tmp_path, make_config()) as store:
        resumed = store.resume()
        assert same(resumed.records, [make_record(k) for k in range(1, len(stored) + 1)])
        assert "is cut short" in resumed.repairs[0]
        store.append(make_record(len(stored) + 1))
    assert read_records(path).problem is None


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from omegaconf import OmegaConf
from store_samples import make_config
from scorebo.errors import InputError
from scorebo.store import RunStore, collect, write_table
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for action in (lambda: RunStore(sys.argv[1], make_config()).open(),
               lambda: RunStore(sys.argv[2], make_config()).is_finished(),
               lambda: collect(sys.argv[2])):
    try:
        action()
        print("allowed")
    except InputError as error:
        print(error)
"""


@pytest.fixture
def open_folder():
    """A folder that others can enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_folder_without_permission_is_said(open_folder):
    readable, closed = open_folder / "readable", open_folder / "closed"
    readable.mkdir()
    make_run(closed, make_config(), 3, finished=True)
    readable.chmod(0o555)
    closed.chmod(0o000)
    try:
        messages = finish(python(UNPRIVILEGED, readable, closed)).splitlines()
    finally:
        readable.chmod(0o755)
        closed.chmod(0o755)
    assert len(messages) == 3
    for message, folder, verb in zip(messages, (readable, closed, closed), ("write", "read", "read"), strict=True):
        assert f"Cannot {verb} {folder}" in message
        assert "Permission denied" in message


def test_an_atomic_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match=r"Cannot write .*file: No space left on device\. Free some space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_an_atomic_write_follows_links_and_respects_the_umask(tmp_path):
    target = tmp_path / "target"
    link = tmp_path / "link"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        write_atomically(link, "content")
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert target.read_text() == "content"
    assert target.stat().st_mode & 0o777 == 0o640
