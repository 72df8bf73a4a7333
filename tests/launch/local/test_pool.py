"""What a pool does about its workers, which here are threads that say what they are told to."""

import socket
import threading

import pytest

from scorebo.launch.local import pool
from scorebo.launch.sweep import Sweep
from tests.launch.sweeps import sweep_of
from tests.store.store_samples import make_run

NOBODY = 2**22 + 1  # larger than any process id


class Puppets:
    """In place of the fork server: `parts[k]` is what the k-th worker does with its line."""

    def __init__(self, parts):
        self.parts = list(parts)
        self.threads = []

    def start_worker(self):
        ours, theirs = socket.socketpair()
        thread = threading.Thread(target=self.parts.pop(0), args=(theirs,))
        thread.start()
        self.threads.append(thread)
        return ours

    def close(self):
        for thread in self.threads:
            thread.join(timeout=30)


@pytest.fixture
def sweep(tmp_path):
    return Sweep.create(sweep_of(tmp_path, range(1, 4), workers=1), [])


@pytest.fixture
def act(sweep, monkeypatch):
    """Run the pool with these workers; returns what is noted of the runs that are not finished."""

    def run(*parts):
        puppets = Puppets(parts)
        monkeypatch.setattr(pool, "ForkServer", lambda *_: puppets)
        pool.Pool(sweep).run()
        puppets.close()
        assert puppets.parts == [], "fewer workers were started than expected"
        return {
            index: sweep.read_note(run).get("reason")
            for index, run in enumerate(sweep.runs)
            if not sweep.store(index).is_finished()
        }

    return run


def finish(sweep, index):
    config = sweep.config(index)
    make_run(sweep.results, config, config["benchmark"]["total"] + 1, finished=True)


def diligent(sweep):
    """A worker that finishes every run it is handed."""

    def part(line):
        with line:
            line.sendall(f"began {NOBODY}\n".encode())
            for order in line.makefile("r"):
                finish(sweep, int(order))
                line.sendall(b"finished\n")

    return part


def test_a_worker_does_one_run_after_the_other(sweep, act):
    assert act(diligent(sweep)) == {}


def test_one_that_is_killed_between_two_runs_costs_none_of_them(sweep, act):
    """Its last word and the news of its death come together."""

    def dies(line):
        with line:
            line.sendall(f"began {NOBODY}\n".encode())
            finish(sweep, int(line.makefile("r").readline()))
            line.sendall(b"finished\nended -9\n")

    assert act(dies, diligent(sweep)) == {}


def test_one_that_is_killed_at_a_run_fails_it_alone(sweep, act):
    def dies(line):
        with line:
            line.sendall(f"began {NOBODY}\n".encode())
            line.makefile("r").readline()
            line.sendall(b"ended -9\n")

    reason = "its process was killed by SIGKILL, by hand or because memory ran out"
    assert act(dies, diligent(sweep)) == {0: reason}


def test_one_that_cannot_be_started_is_told_from_one_that_ended(sweep, act):
    log = sweep.folder / "pool.log"
    assert act(lambda line: line.close(), diligent(sweep)) == {0: f"no worker could be started, see {log}"}


def test_ends():
    assert pool._describe_end("3") == "ended with exit code 3"
    assert pool._describe_end("-11") == "was killed by SIGSEGV"
    assert pool._describe_end("-45") == "was killed by signal 45", "a signal without a name"
