from __future__ import annotations

import json
import shutil
import threading

import pandas as pd
import pytest
from store_samples import make_config, make_record, make_run

from scorebo.errors import InputError
from scorebo.store import RunStore, collect
from scorebo.store.cache import Cache, stamp_of
from scorebo.store.checksummed import seal, unseal
from scorebo.store.columns import run_columns, tidy_table
from scorebo.store.stored_run import FolderRun

SEEDS = range(1, 7)


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    for seed in SEEDS:
        make_run(folder, make_config(seed=seed), 3 + seed, finished=seed % 2 == 0)
    return folder


@pytest.fixture
def reads(monkeypatch):
    """The folders of the runs that are read, as they are."""
    folders = []
    original = FolderRun.part

    def noted(run, problems):
        folders.append(run.place)
        return original(run, problems)

    monkeypatch.setattr(FolderRun, "part", noted)
    return folders


def same_tables(left: pd.DataFrame, right: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(left, right, check_exact=True)
    assert left.attrs == right.attrs


def folder_of(results, seed):
    return RunStore(results, make_config(seed=seed)).folder


def go_on(results, seed, count=1, finish=False):
    with RunStore(results, make_config(seed=seed)) as store:
        so_far = len(store.resume().records)
        for k in range(so_far + 1, so_far + count + 1):
            store.append(make_record(k, seed))
        if finish:
            store.finish()


def test_the_second_time_nothing_is_read_and_the_table_is_the_same(results, reads):
    first = collect(results)
    assert len(reads) == 6
    same_tables(collect(results), first)
    assert len(reads) == 6
    same_tables(collect(results, fresh=True), first)
    assert len(reads) == 12


def test_what_changed_is_read_again_and_nothing_else(results, reads):
    collect(results)
    reads.clear()
    go_on(results, 1)
    go_on(results, 3, count=0, finish=True)
    shutil.rmtree(folder_of(results, 5))
    make_run(results, make_config(seed=9), 4)
    table = collect(results)
    assert sorted(reads) == sorted(folder_of(results, seed) for seed in (1, 3, 9))
    assert table.groupby("seed").size().to_dict() == {1: 5, 2: 5, 3: 6, 4: 7, 6: 9, 9: 4}
    assert set(table.loc[table["finished"], "seed"]) == {2, 3, 4, 6}
    same_tables(table, collect(results, fresh=True))


def test_a_run_that_is_damaged_is_read_and_named_every_time(results, reads):
    path = folder_of(results, 2) / "records.jsonl"
    collect(results)
    path.write_bytes(path.read_bytes().replace(b'"iteration":4', b'"iteration":3'))
    reads.clear()
    for _ in range(2):
        table = collect(results)
        (problem,) = table.attrs["problems"]
        assert "line 4" in problem
        assert not table.loc[table["seed"] == 2, "finished"].any()
    assert reads == 2 * [path.parent]


def test_edited_settings_are_noticed(results):
    collect(results)
    path = folder_of(results, 2) / "config.yaml"
    path.write_text(path.read_text().replace("seed: 2", "seed: 3"))
    assert "left out" in collect(results).attrs["problems"][0]


def damages(data: bytes):
    head = unseal(data.partition(b"\n")[0])
    yield b""
    yield data[:-1]
    yield data[: len(data) // 2]
    for place in (5, data.index(b"\n") + 9, len(data) - 40):
        yield data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    yield seal(head | {"content": "of another version"}) + data.partition(b"\n")[2]
    yield seal({"nothing": 1}) + b"x"


def test_a_damaged_cache_is_made_again(results, reads):
    first = collect(results)
    paths = sorted((results / ".cache").iterdir())
    whole = paths[0].read_bytes()
    number = len(unseal(whole.partition(b"\n")[0])["runs"])
    for damaged in damages(whole):
        paths[0].write_bytes(damaged)
        reads.clear()
        same_tables(collect(results), first)
        assert len(reads) == number
    reads.clear()
    same_tables(collect(results), first)
    assert reads == []


def test_where_nothing_can_be_kept_it_is_collected_all_the_same(results, reads):
    (results / ".cache").write_text("in the way")
    same_tables(collect(results), collect(results))
    assert len(reads) == 12
    folder = folder_of(results, 1)
    assert len(collect(folder)) == 4
    assert not (folder / ".cache").exists(), "nothing is put in a run's own folder"


def test_two_who_collect_at_once_do_each_other_no_harm(results):
    one, other = Cache(results), Cache(results)
    first = collect(results, fresh=True)
    tables, stop = [], threading.Event()

    def keep_going():
        while not stop.is_set():
            collect(results)

    threads = [threading.Thread(target=keep_going) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        tables.append(collect(results, fresh=True))
    stop.set()
    for thread in threads:
        thread.join()
    for table in [*tables, collect(results)]:
        same_tables(table, first)
    # One that looked before the other wrote.
    folder = folder_of(results, 1)
    stamp = stamp_of(folder)
    part = one.get(folder, stamp)
    other.put(folder, stamp, part, stamp_of(folder))
    go_on(results, 1)
    one.put(folder, stamp, part, stamp_of(folder))  # of files that are no longer so: not kept
    for cache in (one, other):
        cache.save()
    assert len(collect(results)) == len(first) + 1


def test_links_to_runs_elsewhere(results, tmp_path, reads):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "linked").symlink_to(results)
    first = collect(tmp_path / "all")
    reads.clear()
    same_tables(collect(tmp_path / "all"), first)
    assert reads == []


def test_columns_of_several_types():
    run = {"benchmark": "b", "model": "m", "acquisition": "a", "seed": 1, "run_id": "r", "run": "f"}
    run |= {"finished": True, "maximize": None, "optimal_value": None}
    mcmc = [
        {"a": 1, "b": 1, "c": True, "d": None, "e": "x", "f": [1]},
        {"a": 2.5, "b": None, "c": None, "d": None, "e": 3},
    ]
    records = [{"iteration": k, "kind": "query", "x": [0.5], "mcmc": item} for k, item in enumerate(mcmc, 1)]
    table = tidy_table([run, {**run, "seed": 2}], [run_columns(records), run_columns([{"iteration": 1}])])
    assert [str(table[f"mcmc_{name}"].dtype) for name in "abcde"] == ["float64", "Int64", "boolean", "object", "str"]
    assert table["mcmc_e"].tolist()[:2] == ["x", "3"]
    assert "mcmc_f" not in table, "lists are no scalars"
    assert table["x"].tolist() == [[0.5], [0.5], None]
    assert table["seed"].tolist() == [1, 1, 2]


class TestFormat:
    """A run that another version wrote in another format is refused, with how to convert it."""

    @pytest.fixture
    def folder(self, results):
        folder = folder_of(results, 1)
        path = folder / "environment.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))
        return folder

    def test_by_whoever_reads_or_writes(self, folder, results):
        message = (
            r"environment\.json has format 1; .* format 2\. To convert, .* `scorebo collect .* --out table\.parquet`"
        )
        before = (folder / "records.jsonl").read_bytes()
        with pytest.raises(InputError, match=message):
            collect(results)
        with pytest.raises(InputError, match=message), RunStore(results, make_config(seed=1)):
            pass
        assert (folder / "records.jsonl").read_bytes() == before

    def test_runs_that_name_none_are_of_the_first(self, folder, results):
        (folder / "environment.json").unlink()
        assert len(collect(results)) == 39
        (folder / "environment.json").write_text("{")
        assert len(collect(results)) == 39
