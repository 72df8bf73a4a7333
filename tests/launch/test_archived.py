"""Runs of full archives in the results folder are finished runs."""

import shutil

import pytest

from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.launch import finished_runs
from scorebo.launch.estimate import Stored
from scorebo.launch.status import survey
from scorebo.launch.submit import unfinished
from scorebo.launch.sweep import Sweep
from scorebo.store.archive.write import rows_of, write_archive
from scorebo.store.collect import describe_runs
from tests.launch.test_status import config, states
from tests.store.store_samples import make_run


def archived(results, kind="full", keep=False):
    """Two finished runs that are there as an archive alone; and the configurations of three runs."""
    configs = [config(seed, results) for seed in (1, 2, 3)]
    for own in configs[:2]:
        make_run(results, own, 6, finished=True)
    write_archive(results / "done.parquet", rows_of(describe_runs(results, []), kind, (), []), kind, {})
    if not keep:
        shutil.rmtree(results / "gramacy1")
    return configs


def test_sweep_and_status_take_them_for_finished(tmp_path):
    configs = archived(tmp_path)
    assert unfinished(configs) == [2]
    assert states(tmp_path) == ["finished"] * 2
    assert [run.iteration for run in survey(tmp_path).runs] == [6, 6]
    Sweep.create(configs, [])
    assert states(tmp_path) == ["finished", "finished", "lost"]
    assert main(["status", "--results", str(tmp_path)]) == 0


def test_a_run_that_was_begun_here_as_well_need_not_go_on(tmp_path):
    configs = archived(tmp_path)
    make_run(tmp_path, configs[0], 3)
    assert unfinished(configs) == [2]


def test_summaries_finish_nothing(tmp_path):
    assert unfinished(archived(tmp_path, "summary")) == [0, 1, 2]
    assert states(tmp_path) == []


def test_their_timings_are_estimates_too(tmp_path):
    configs = archived(tmp_path, keep=True)
    expected = Stored(tmp_path).cost(configs[2])
    assert expected is not None
    shutil.rmtree(tmp_path / "gramacy1")
    assert Stored(tmp_path).cost(configs[2]) == expected
    (tmp_path / "done.parquet").unlink()
    assert Stored(tmp_path).cost(configs[2]) is None


def test_a_damaged_archive_is_not_taken_for_missing_runs(tmp_path):
    configs = archived(tmp_path)
    path = tmp_path / "done.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:1000] + b"?" + data[1001:])
    with pytest.raises(InputError, match=r"done\.parquet is damaged: it does not match its checksum"):
        unfinished(configs)
    found = survey(tmp_path)
    assert found.runs == []
    assert "done.parquet is damaged" in found.notes[0]
    path.write_bytes(data)
    assert unfinished(configs) == [2]


def test_what_was_checked_is_not_read_again(tmp_path, monkeypatch):
    configs = archived(tmp_path)
    assert states(tmp_path) == ["finished"] * 2
    monkeypatch.setattr(finished_runs, "_runs_of", None)
    assert unfinished(configs) == [2]
    assert states(tmp_path) == ["finished"] * 2


def test_another_table_there_is_left_alone(tmp_path):
    configs = archived(tmp_path, keep=True)
    (tmp_path / "done.parquet").unlink()
    assert main(["collect", str(tmp_path), "--out", str(tmp_path / "table.parquet")]) == 0
    assert unfinished(configs) == [2]
    assert survey(tmp_path).notes == []
