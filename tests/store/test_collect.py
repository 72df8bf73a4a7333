from __future__ import annotations

import csv
import json
import math
import shutil
import time

import pandas as pd
import pytest
from store_samples import make_config, make_record, make_run, same

from scorebo.errors import InputError
from scorebo.store import RunStore, collect, collect_hyperparameters, find_runs, write_table
from scorebo.store.checksummed import seal

COLUMNS = [
    *("benchmark", "model", "acquisition", "seed", "iteration", "kind", "num_observations"),
    *("num_failed_points", "has_metrics", "x", "y", "f"),
    *(
        "negative_mll",
        "negative_mll_task_units",
        "nlpd",
        "nlpd_task_units",
        "rmse",
        "jittered_blocks",
        "inference_regret",
        "in_sample_inference_regret",
        "simple_regret",
    ),
    *("best_observed", "best_noiseless", "inference_value", "optimum_violation"),
    *("decomposition_error", "acquisition_value", "acquisition_fallbacks"),
    *("wall_seconds_fit", "wall_seconds_metrics", "wall_seconds_acquisition", "wall_seconds_evaluate"),
    *("cpu_seconds_fit", "cpu_seconds_metrics", "cpu_seconds_acquisition", "cpu_seconds_evaluate"),
    *("mcmc_divergences", "mcmc_rhat", "mcmc_sampler", "maximize", "optimal_value", "finished", "run_id", "run"),
]


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    make_run(folder, make_config(seed=10), 6)
    make_run(folder, make_config(seed=2), 8, finished=True)
    make_run(folder, make_config(seed=2, acquisition={"name": "bald"}), 4, finished=True)
    return folder


def test_one_row_per_record_sorted_with_these_columns(results):
    table = collect(results)
    assert list(table.columns) == COLUMNS
    order = ["acquisition", "seed", "finished"]
    assert table.groupby(order, sort=False).size().to_dict() == {
        ("bald", 2, True): 4,
        ("sal_hr", 2, True): 8,
        ("sal_hr", 10, False): 6,
    }
    assert table.attrs["problems"] == []
    pd.testing.assert_frame_equal(collect(results, points=False), table.drop(columns="x"))
    assert table["run"].iloc[0] == RunStore(results, make_config(seed=2, acquisition={"name": "bald"})).folder.name


def test_the_values_are_those_of_the_records(results):
    table = collect(results).query("acquisition == 'sal_hr' and seed == 2").reset_index(drop=True)
    for k, row in table.iterrows():
        record = make_record(k + 1, seed=2)
        assert row["x"] == record["x"]
        for name in ("iteration", "kind", "y", "f"):
            assert row[name] == record[name]
        for name in ("negative_mll", "nlpd", "rmse", "acquisition_value"):
            expected = math.nan if record[name] is None else record[name]
            assert row[name] == expected or (math.isnan(row[name]) and math.isnan(expected))
        assert row["wall_seconds_metrics"] == record["wall_seconds"]["metrics"]
        assert pd.isna(row["num_observations"]) if record["num_observations"] is None else row["num_observations"] == k
        assert pd.isna(row["mcmc_rhat"]) if record["mcmc"] is None else row["mcmc_rhat"] == record["mcmc"]["rhat"]
    assert math.isinf(table["nlpd"][6])
    assert table["num_observations"].dtype == "Int64"
    assert table["seed"].dtype == "int64"


def test_processor_seconds_are_collected_and_missing_in_older_records(results):
    with RunStore(results, make_config(seed=3)) as store:
        store.resume()
        store.append({**make_record(1), "cpu_seconds": {"evaluate": 0.25}})
    table = collect(results)
    row = table.query("seed == 3").iloc[0]
    assert row["cpu_seconds_evaluate"] == 0.25
    assert math.isnan(row["cpu_seconds_fit"])
    assert row["wall_seconds_evaluate"] == make_record(1)["wall_seconds"]["evaluate"]
    older = table.query("seed != 3")
    assert older["cpu_seconds_evaluate"].isna().all()
    assert older["wall_seconds_evaluate"].notna().all()


def test_runs_with_different_diagnostics_share_a_table(results):
    with RunStore(results, make_config(seed=3)) as store:
        store.resume()
        store.append({**make_record(1), "mcmc": {"fallback": True, "wall_seconds": 2}})
    table = collect(results)
    assert list(table["mcmc_fallback"].dropna()) == [True]
    assert len(table) == len(table["mcmc_rhat"]) == 19
    assert pd.isna(table.query("seed == 3")["mcmc_rhat"].item())


def test_a_subfolder_a_single_run_or_a_linked_folder_can_be_collected(results, tmp_path):
    assert len(collect(results / "gramacy1" / "al_lognormal" / "bald")) == 4
    assert len(collect(RunStore(results, make_config(seed=2)).folder)) == 8
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(results)
    (elsewhere / "again").symlink_to(elsewhere)
    assert len(collect(elsewhere)) == 18


def test_a_table_is_the_same_after_parquet(results, tmp_path):
    table = collect(results)
    out = tmp_path / "new" / "table.parquet"
    write_table(table, out)
    back = pd.read_parquet(out)
    back["x"] = [list(x) for x in back["x"]]
    pd.testing.assert_frame_equal(back, table, check_exact=True)


def test_a_table_is_the_same_after_csv(results, tmp_path):
    table = collect(results)
    out = tmp_path / "table.csv"
    write_table(table, out)
    with open(out, newline="") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS
    for name in ("y", "f", "negative_mll", "rmse", "wall_seconds_fit", "mcmc_rhat"):
        texts = [row[COLUMNS.index(name)] for row in rows]
        assert same([float(text or "nan") for text in texts], list(map(float, table[name])))
    assert same([json.loads(row[COLUMNS.index("x")]) for row in rows], list(table["x"]))


def test_a_closing_record_has_no_query(results, tmp_path):
    closing = {**make_record(9), "kind": "final", "x": None, "y": None, "f": None, "acquisition_value": None}
    with RunStore(results, make_config(seed=10)) as store:
        for k in range(len(store.resume().records) + 1, 9):
            store.append(make_record(k))
        store.append(closing)
    table = collect(results)
    row = table[table["kind"] == "final"].iloc[0]
    assert row["x"] is None
    assert math.isnan(row["y"])
    for name in ("table.csv", "table.parquet"):
        write_table(table, tmp_path / name)
    back = pd.read_csv(tmp_path / "table.csv")
    assert back["x"].isna().sum() == 1
    assert pd.read_parquet(tmp_path / "table.parquet")["x"].isna().sum() == 1


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.CSV"])
def test_other_endings_are_refused(results, tmp_path, name):
    with pytest.raises(InputError, match=r"\.parquet, \.csv"):
        write_table(collect(results), tmp_path / name)


def test_a_table_that_cannot_be_written_leaves_the_old_one(results, tmp_path):
    out = tmp_path / "table.csv"
    out.write_text("old")
    table = collect(results)
    with pytest.raises(InputError, match="A file is where a folder is needed"):
        write_table(table, out / "below.csv")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        write_table(table, tmp_path / "folder.parquet")
    table["x"] = object()
    with pytest.raises(TypeError):
        write_table(table, out)
    assert out.read_text() == "old"
    assert {item.name for item in tmp_path.iterdir()} == {"results", "table.csv", "folder.parquet"}


def test_the_good_part_of_a_damaged_run_is_collected_and_the_damage_named(results):
    path = RunStore(results, make_config(seed=2)).folder / "records.jsonl"
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    for damaged in (data.replace(b'"iteration":6', b'"iteration":5'), b"".join(lines[:5]) + lines[5][:-9]):
        path.write_bytes(damaged)
        table = collect(results)
        rows = table.query("acquisition == 'sal_hr' and seed == 2")
        assert list(rows["iteration"]) == [1, 2, 3, 4, 5]
        assert not rows["finished"].any()
        (problem,) = table.attrs["problems"]
        assert str(path.parent) in problem
        assert "line 6" in problem


def test_a_run_with_a_damaged_config_is_left_out_and_named(results):
    folder = RunStore(results, make_config(seed=2)).folder
    text = (folder / "config.yaml").read_text()
    for damaged in (text.replace("hellinger", "hellinges"), text.replace("seed: 2", "seed: ["), ""):
        (folder / "config.yaml").write_text(damaged)
        table = collect(results)
        assert len(table) == 10
        (problem,) = table.attrs["problems"]
        assert str(folder) in problem
        assert "left out" in problem


def test_a_copy_of_a_run_counts_once_and_another_version_of_it_is_refused(results, tmp_path):
    folder = RunStore(results, make_config(seed=2)).folder
    for copy in (results / "old" / folder.name, tmp_path / "elsewhere" / folder.name):
        before = collect(results)
        shutil.copytree(folder, copy)
        where = [results] if results in copy.parents else [results, copy.parent]
        pd.testing.assert_frame_equal(collect(where), before)
        assert len(collect_hyperparameters(where)) == len(collect_hyperparameters(results))
        for name in ("records.jsonl", "finished.json"):
            whole = (copy / name).read_bytes()
            (copy / name).write_bytes(whole.splitlines(keepends=True)[0] if name == "records.jsonl" else b"")
            with pytest.raises(InputError, match=r"the same run .* with different content") as refusal:
                collect(where)
            assert str(folder) in str(refusal.value)
            assert str(copy) in str(refusal.value)
            (copy / name).write_bytes(whole)
        shutil.rmtree(copy)


def test_the_runs_of_several_folders_are_one_table(results, tmp_path):
    make_run(tmp_path / "more", make_config(seed=3), 5)
    table = collect([results, tmp_path / "more"])
    assert table.groupby(["acquisition", "seed"]).size().to_dict() == {
        **{("bald", 2): 4, ("sal_hr", 2): 8, ("sal_hr", 3): 5, ("sal_hr", 10): 6}
    }
    pd.testing.assert_frame_equal(collect([results, results / "gramacy1"]), collect(results))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"There are no runs in {tmp_path / 'empty'} and {tmp_path / 'empty'}"):
        collect([tmp_path / "empty", str(tmp_path / "empty")])


class TestMissingRecords:
    """A run that lost its records.jsonl: named by every reader, and started from the beginning."""

    @pytest.fixture
    def folder(self, results):
        folder = RunStore(results, make_config(seed=2)).folder
        (folder / "records.jsonl").unlink()
        return folder

    def test_it_is_named_as_a_problem(self, results, folder):
        for read in (collect, collect, collect_hyperparameters):  # the second time from what is kept
            table = read(results)
            assert set(table["seed"]) == {2, 10}
            assert "sal_hr" not in set(table.query("seed == 2")["acquisition"])
            (problem,) = table.attrs["problems"]
            assert problem.startswith(f"{folder}: records.jsonl is missing")
            assert "run the same command again, which starts the run from the beginning" in problem

    @pytest.mark.parametrize("left", ["config.yaml", "checkpoint.json", "finished.json"])
    def test_whatever_else_is_left(self, results, folder, left):
        for file in folder.iterdir():
            if file.name != left:
                file.unlink()
        assert folder in find_runs(results)
        assert len(collect(results).attrs["problems"]) == 1

    def test_also_in_a_folder_of_another_name_but_a_lone_config_is_no_run(self, results, folder):
        folder.rename(results / "renamed")
        assert len(collect(results).attrs["problems"]) == 1
        for file in (results / "renamed").iterdir():
            if file.name != "config.yaml":
                file.unlink()
        assert collect(results).attrs["problems"] == []

    def test_alone_it_is_said(self, folder):
        with pytest.raises(InputError, match=r"There are no runs in .*: records\.jsonl is missing"):
            collect(folder)

    def test_a_run_that_a_process_has_just_begun_is_no_problem(self, results):
        with RunStore(results, make_config(seed=3)) as store:
            assert not (store.folder / "records.jsonl").exists()
            assert collect(results).attrs["problems"] == []
        assert len(collect(results).attrs["problems"]) == 1  # it ended without a record

    def test_started_again_it_begins_anew_and_ends_the_same(self, results, folder, tmp_path):
        config = make_config(seed=2)
        assert not RunStore(results, config).is_finished()
        with RunStore(results, config) as store:
            state = store.resume()
            assert state.records == []
            assert "checkpoint.json is at iteration 8, the good records end at 0" in state.repairs
        make_run(results, config, 8, finished=True)
        whole = make_run(tmp_path / "whole", config, 8, finished=True)
        for name in ("records.jsonl", "finished.json"):
            assert (folder / name).read_bytes() == (whole / name).read_bytes()
        assert collect(results).attrs["problems"] == []
        assert RunStore(results, config).is_finished()


def test_no_runs_is_said(tmp_path):
    with pytest.raises(InputError, match="no runs in"):
        collect(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        collect(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="was never a Parquet file"):
        collect(tmp_path / "file")
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
    assert list(find_runs(tmp_path)) == [store.folder]
    with pytest.raises(InputError, match=r"1 runs in .* have no records"):
        collect(tmp_path)


def test_collecting_twenty_runs_of_a_hundred_records_is_not_slow(tmp_path):
    for seed in range(20):
        folder = make_run(tmp_path, make_config(seed=seed), 1)
        run = folder.name[-12:]
        numbers = {"lengthscale": [[0.1 + i / 7 for i in range(6)] for _ in range(16)]}
        more = ({**make_record(k), "hyperparameters": numbers, "run": run} for k in range(2, 101))
        with open(folder / "records.jsonl", "ab") as file:
            file.write(b"".join(seal(record) for record in more))
    start = time.process_time()
    assert len(collect(tmp_path)) == 2000
    assert time.process_time() - start < 1.5  # about 0.2 s on a quiet core; this only notices a much slower path
