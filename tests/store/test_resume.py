"""Whatever happened to a run folder: after `resume` the records are a prefix of those written, or it is refused."""

from __future__ import annotations

import random
import shutil
import time

import pytest
from store_samples import finish, make_config, make_record, make_run, make_state, python, same

from scorebo.errors import InputError
from scorebo.store import RunStore
from scorebo.store.checksummed import seal, unseal

COUNT = 9


def resume(results):
    with RunStore(results, make_config()) as store:
        return store.resume()


def go_on(results, total=COUNT):
    """Resume and finish, as a run would."""
    with RunStore(results, make_config()) as store:
        for k in range(len(store.resume().records) + 1, total + 1):
            store.append(make_record(k))
        store.finish()
    assert store.is_finished()
    with RunStore(results, make_config()) as store:
        resumed = store.resume()
    assert same(resumed.records, [make_record(k) for k in range(1, total + 1)])
    assert resumed.repairs == []


def test_a_record_without_its_checkpoint_is_cut_off(tmp_path):
    folder = make_run(tmp_path, make_config(), COUNT - 1)
    before = (folder / "checkpoint.json").read_bytes()
    make_run_on(tmp_path, COUNT)
    (folder / "checkpoint.json").write_bytes(before)
    last = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)[-1]
    resumed = resume(tmp_path)
    assert same(resumed.records, [make_record(k) for k in range(1, COUNT)])
    assert len(resumed.repairs) == 1
    assert f"cut back to iteration {COUNT - 1}" in resumed.repairs[0]
    assert resumed.repairs[0] in (folder / "repairs.log").read_text()
    assert (folder / "records.surplus-1.jsonl").read_bytes() == last
    assert resume(tmp_path).repairs == []
    go_on(tmp_path)


def make_run_on(results, total):
    with RunStore(results, make_config()) as store:
        for k in range(len(store.resume().records) + 1, total + 1):
            store.append(make_record(k))


@pytest.mark.parametrize("damage", ["missing", "empty", "flipped", "cut"])
def test_a_checkpoint_is_made_again_from_the_records(tmp_path, damage):
    path = make_run(tmp_path, make_config(), COUNT) / "checkpoint.json"
    data = path.read_bytes()
    path.write_bytes({"empty": b"", "flipped": data.replace(b"1", b"2", 1), "cut": data[:-1], "missing": b""}[damage])
    if damage == "missing":
        path.unlink()
    resumed = resume(tmp_path)
    assert same(resumed.records, [make_record(k) for k in range(1, COUNT + 1)])
    assert "checkpoint.json" in resumed.repairs[0]
    assert path.read_bytes() == data
    go_on(tmp_path)


@pytest.mark.parametrize("finished", [True, False])
def test_a_damaged_line_cuts_the_run_back_and_is_kept_aside(tmp_path, finished):
    folder = make_run(tmp_path, make_config(), COUNT, finished=finished)
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"query", b"quern")
    path.write_bytes(b"".join(lines))
    assert not RunStore(tmp_path, make_config()).is_finished()
    resumed = resume(tmp_path)
    assert same(resumed.records, [make_record(k) for k in range(1, 5)])
    assert any("line 5" in text and "checksum" in text for text in resumed.repairs)
    assert any("counts as unfinished" in text for text in resumed.repairs) == finished
    assert (folder / "records.damaged-1.jsonl").read_bytes() == b"".join(lines[4:])
    assert (folder / "finished.damaged-1.json").exists() == finished
    go_on(tmp_path)
    lines = path.read_bytes()
    path.write_bytes(lines[:-20])
    assert len(resume(tmp_path).records) == COUNT - 1
    assert (folder / "records.damaged-2.jsonl").exists()


def test_a_damaged_marker_means_unfinished_until_finished_again(tmp_path):
    folder = make_run(tmp_path, make_config(), COUNT, finished=True)
    path = folder / "finished.json"
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"records":9', b'"records":8'))
    store = RunStore(tmp_path, make_config())
    assert not store.is_finished()
    with store:
        resumed = store.resume()
        assert len(resumed.records) == COUNT
        assert "finished.json" in resumed.repairs[0]
        store.finish()
    assert store.is_finished()
    assert path.read_bytes() == data


def test_a_lost_state_is_refused_and_says_what_to_do(tmp_path):
    folder = make_run(tmp_path, make_config(), COUNT, states=True)
    before = (folder / "records.jsonl").read_bytes()
    (folder / "checkpoint.json").unlink()
    with pytest.raises(
        InputError, match=r"cannot be repaired.*state after iteration 9.*Delete the folder and run again"
    ):
        resume(tmp_path)
    assert (folder / "records.jsonl").read_bytes() == before


def test_records_that_needed_no_state_are_repaired_even_if_later_ones_did(tmp_path):
    folder = make_run(tmp_path, make_config(), COUNT, states=True)
    path = folder / "records.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    resumed = resume(tmp_path)
    assert same(resumed.records, [make_record(1), make_record(2)])
    assert resumed.state is None


def test_files_of_another_run_are_not_taken_for_ours(tmp_path):
    folder = make_run(tmp_path, make_config(), COUNT)
    other = make_run(tmp_path, make_config(seed=2), COUNT + 5)
    ours = (folder / "checkpoint.json").read_bytes()
    shutil.copy(other / "checkpoint.json", folder)
    with pytest.raises(InputError, match="belongs to another run"):
        resume(tmp_path)
    (folder / "checkpoint.json").write_bytes(ours)
    shutil.copy(other / "records.jsonl", folder)
    resumed = resume(tmp_path)
    assert resumed.records == []
    assert "another run" in resumed.repairs[0]
    assert (folder / "records.damaged-1.jsonl").read_bytes() == (other / "records.jsonl").read_bytes()


@pytest.mark.parametrize("tail", [b"", seal({"iteration": COUNT + 1, "run": "x" * 300}), b"torn"])
@pytest.mark.parametrize("y", [0.5, 0.12345678901234567, 1.2345678901234567e-300])
def test_good_records_that_the_checkpoint_does_not_describe_are_refused(tmp_path, y, tail):
    folder = make_run(tmp_path, make_config(), COUNT)
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = seal({**unseal(lines[3][:-1]), "y": y})
    path.write_bytes(b"".join(lines) + tail)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"not those that checkpoint\.json describes"):
        resume(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("finished", [False, True])
def test_random_damage_never_gives_wrong_records(tmp_path, states, finished):
    template = make_run(tmp_path / "template", make_config(), COUNT, finished=finished, states=states)
    names = ["records.jsonl", "checkpoint.json", "config.yaml", "environment.json", *["finished.json"] * finished]
    draw = random.Random(f"{states} {finished}")
    outcomes = {"whole": 0, "prefix": 0, "refused": 0}
    for trial in range(60):
        results = tmp_path / str(trial)
        folder = RunStore(results, make_config()).folder
        shutil.copytree(template, folder)
        for _ in range(draw.choice([1, 1, 2])):
            damage(folder / draw.choice(names), draw)
        harmed = (folder / "records.jsonl").read_bytes() if (folder / "records.jsonl").exists() else b""
        try:
            done = RunStore(results, make_config()).is_finished()
            resumed = resume(results)
        except InputError:
            outcomes["refused"] += 1
            continue
        count = len(resumed.records)
        assert same(resumed.records, [make_record(k) for k in range(1, count + 1)])
        if not done and states:
            assert same(resumed.state, make_state(count) if count else None)
        assert count == COUNT or not done
        aside = [path.read_bytes() for path in folder.glob("records.*-1.jsonl")]
        assert (folder / "records.jsonl").read_bytes() + b"".join(aside) == harmed
        outcomes["whole" if count == COUNT else "prefix"] += 1
        if trial % 6 == 0:
            go_on(results)
    assert min(outcomes.values()) >= 3, outcomes


def damage(path, draw):
    if not path.exists():
        return
    data = bytearray(path.read_bytes())
    kind = draw.choice(["flip", "flip", "flip", "cut", "zero", "remove", "insert", "repeat"])
    at = draw.randrange(len(data)) if data else 0
    if kind == "remove":
        path.unlink()
        return
    if kind == "flip" and data:
        data[at] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[at : at + 50] = bytes(len(data[at : at + 50]))
    elif kind == "insert":
        data[at:at] = draw.randbytes(3)
    elif kind == "repeat":
        data += data[at:]
    path.write_bytes(data)


RUN = """
import sys
from store_samples import make_config, make_record
from scorebo.store import RunStore
with RunStore(sys.argv[1], make_config()) as store:
    done = len(store.resume().records)
    print("ready", flush=True)
    for k in range(done + 1, int(sys.argv[2]) + 1):
        store.append(make_record(k))
        print(k, flush=True)
    store.finish()
"""


def test_a_run_killed_again_and_again_ends_with_the_same_records(tmp_path):
    draw, total, acknowledged, kills = random.Random(5), 4000, 0, 0
    while kills < 8:
        process = python(RUN, tmp_path, total)
        assert process.stdout.readline() == "ready\n"
        time.sleep(draw.uniform(0.0, 0.12))
        process.kill()
        out, _ = process.communicate()
        kills += 1
        complete = [line for line in out.splitlines(keepends=True) if line.endswith("\n")]
        acknowledged = max([acknowledged, *(int(line) for line in complete)])
        resumed = resume(tmp_path)
        assert len(resumed.records) >= acknowledged  # what was said to be stored is stored
        assert same(resumed.records, [make_record(k) for k in range(1, len(resumed.records) + 1)])
    assert acknowledged > kills
    go_on(tmp_path, len(resumed.records) + 3)


CRASH = """
import os, sys
from store_samples import make_config, make_record, same
from scorebo.store import RunStore
calls = ("write", "fsync", "replace", "ftruncate", "open", "mkdir", "unlink")
real = {name: getattr(os, name) for name in calls}
points = 0
def arm(after, before):
    left = [after]
    def guard(name):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] == 0 and before:
                os._exit(9)
            try:
                return real[name](*arguments, **options)
            finally:
                if left[0] == 0:
                    os._exit(9)
        return call
    for name in calls:
        setattr(os, name, guard(name))
def session(results, total):
    with RunStore(results, make_config()) as store:
        for k in range(len(store.resume().records) + 1, total + 1):
            store.append(make_record(k))
        if total == 4:
            store.finish()
def crash_everywhere(results, total):
    # Dies at one more call each time; every death leaves the folder to the next.
    global points
    for half in range(2, 400):
        child = os.fork()
        if child == 0:
            arm(half // 2, half % 2 == 0)
            session(results, total)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return
        assert status == 9, status
        points += 1
    raise AssertionError("never got through")
from omegaconf import OmegaConf
from scorebo.store.environment import describe_session
describe_session(1)  # what is slow is done once, not in every child
for total in (1, 2, 4):
    crash_everywhere(sys.argv[1], total)
path = RunStore(sys.argv[1], make_config()).folder / "records.jsonl"
data = path.read_bytes()
path.write_bytes(data[:len(data) // 2])  # and while it is repaired
crash_everywhere(sys.argv[1], 4)
assert RunStore(sys.argv[1], make_config()).is_finished()
with RunStore(sys.argv[1], make_config()) as store:
    resumed = store.resume()
    assert same(resumed.records, [make_record(k) for k in range(1, 5)]) and not resumed.repairs
print(points)
"""


def test_a_crash_before_or_after_any_system_call_is_survived(tmp_path):
    assert int(finish(python(CRASH, tmp_path))) > 40
