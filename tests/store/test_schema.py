"""A record is typed once: what the loop writes, what becomes a column, and what may come later."""

import math

import pandas as pd
from store_samples import make_config, make_record, make_run

from scorebo.gp.diagnostics import Diagnostics
from scorebo.run.loop import execute
from scorebo.store import RunStore, collect, read_records
from scorebo.store.columns import RUN, column_names
from scorebo.store.resume import ENVELOPE
from scorebo.store.schema import COLUMNS, METRICS, MODEL_METRICS, TYPES, WHO, Record, nothing
from tests.runs import tiny_config


def write(results, seed, *records):
    with RunStore(results, make_config(seed=seed)) as store:
        store.resume()
        for record in records:
            store.append(record)


def table_of(tmp_path, *records):
    write(tmp_path, 1, *records)
    return collect(tmp_path)


def test_the_loop_writes_the_fields_of_the_schema_and_no_others(tmp_path):
    config = tiny_config(tmp_path, "gramacy1", "sal_hr", "benchmark.total=4")
    execute(config)
    records = read_records(RunStore(tmp_path, config).folder / "records.jsonl").records
    assert {record["kind"] for record in records} == {"initial", "query", "final"}
    for record in records:
        first = {"task"} if record["iteration"] == 1 else set()
        assert set(record) - set(ENVELOPE) == set(Record.__required_keys__) | first


def test_unknown_fields_are_ignored(tmp_path):
    plain = table_of(tmp_path / "plain", make_record(1), make_record(2))
    further = [make_record(k) | {"later": {"deep": [k]}, "label": "x"} for k in (1, 2)]
    pd.testing.assert_frame_equal(table_of(tmp_path / "further", *further), plain)


def test_missing_fields_are_null(tmp_path):
    table = table_of(tmp_path, {"iteration": 1}, make_record(2))
    row = table.iloc[0].drop([*WHO, *RUN, "iteration", "num_failed_points"])
    assert row.isna().all()
    assert table["num_failed_points"].tolist() == [0, 0]
    assert table["num_observations"].dtype == "Int64"


class TestRound:
    """The number of a batch of queries: read where a record has it, not written yet, and taken by nothing else."""

    def test_is_a_column_where_a_record_has_it(self, tmp_path):
        write(tmp_path, 1, *(make_record(k) | {"round": (k + 1) // 2} for k in (1, 2, 3)))
        write(tmp_path, 2, make_record(1))
        for table in (collect(tmp_path), collect(tmp_path)):  # read, and from the cache
            assert table["round"].dtype == "Int64"
            assert table["round"].tolist()[:3] == [1, 1, 2]
            assert pd.isna(table["round"].iloc[3])
            assert list(table.columns)[4:6] == ["iteration", "round"]

    def test_is_no_column_elsewhere(self, tmp_path):
        make_run(tmp_path, make_config(), 3)
        assert "round" not in collect(tmp_path)
        assert "round" not in nothing(Record)

    def test_the_name_is_taken(self):
        others = [*WHO, *RUN, *ENVELOPE, *Diagnostics.__dataclass_fields__]
        others += [column for field in COLUMNS if field != "round" for column in column_names(field)]
        assert "round" not in others
        assert TYPES["round"] == int | None
        assert "round" in Record.__optional_keys__


def test_metrics_are_columns_of_numbers_with_a_label_and_an_experiment():
    assert set(METRICS) | set(MODEL_METRICS) <= set(COLUMNS)
    for name, column in METRICS.items():
        assert TYPES[name] == float | None
        assert column.words.endswith(column.label)
        assert column.experiment


def test_the_best_value_queried_is_compared_with_and_without_its_noise():
    noisy, noiseless = METRICS["best_observed"], METRICS["best_noiseless"]
    assert (noisy.task_decides, noisy.common_unit, noisy.log) == (True, False, False)
    assert (noiseless.task_decides, noiseless.common_unit, noiseless.log) == (True, False, False)
    assert "best_noiseless" not in MODEL_METRICS


def test_densities_in_task_units_of_older_records_are_made_of_what_they_have(tmp_path):
    old = [make_record(k) for k in (1, 2, 3, 4)]
    of_power = make_record(6) | {"iteration": 5, "yeo_johnson_lambda": 0.5}
    new = make_record(8) | {"iteration": 6, "negative_mll_task_units": 7.5, "nlpd_task_units": -7.5}
    table = table_of(tmp_path, *old, of_power, new)
    for name, stored in (("negative_mll", 7.5), ("nlpd", -7.5)):
        made = [record[name] + math.log(record["output_std"]) for record in old[2:]]
        assert table[f"{name}_task_units"].tolist()[2:4] == made
        assert table[f"{name}_task_units"].isna().tolist() == [True, True, False, False, True, False]
        assert table[f"{name}_task_units"].iloc[-1] == stored
