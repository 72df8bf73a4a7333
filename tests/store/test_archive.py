"""Archives against the folders that they are made of; damaged, they give fewer runs, never other numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_samples import make_config, make_run

from scorebo.errors import InputError
from scorebo.store import collect, collect_hyperparameters
from scorebo.store.archive.file import FORMAT, DamagedError, check_body, write_mark
from scorebo.store.archive.manage import contents, extract, merge, verify
from scorebo.store.archive.read import Archive
from scorebo.store.archive.write import ABOUT, KINDS, SUMMARY_ROWS, rows_of, unused, write_archive
from scorebo.store.collect import describe_runs, find_run
from scorebo.store.moments import MEAN, SAMPLES, STD, collect_moments, hyperparameter_table
from scorebo.store.stored_run import FILES
from scripts.validation.damaged_archives import damage_and_read

BAD = {"name": "bald", "_target_": "scorebo.acquisition.BALD"}
ABOUT_IT = {"experiment": "al_mll", "scale": "small"}


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    for seed, count in ((1, 6), (2, 9), (12, 7)):
        make_run(folder, make_config(seed=seed), count, finished=True)
    make_run(folder, make_config(seed=1, acquisition=BAD), 5, finished=True)
    return folder


def archive(results, path, kind="full", moments=True):
    runs = describe_runs(results, [])
    ids = {run["run_id"] for run in runs} if moments else set()
    write_archive(path, rows_of(runs, kind, ids, []), kind, ABOUT_IT)
    return path


def same_tables(left, right):
    pd.testing.assert_frame_equal(left, right, check_exact=True)
    assert left.attrs == right.attrs


def without_problems(path):
    table = collect(path)
    assert table.attrs["problems"] == []
    return table


def test_a_full_archive_holds_the_runs_to_the_bit(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    same_tables(collect(path), collect(results))
    same_tables(collect_hyperparameters(path), collect_hyperparameters(results))
    assert extract([path], tmp_path / "again", []) == (4, 0)
    for run in describe_runs(results, []):
        folder = run["stored"].place
        other = tmp_path / "again" / folder.relative_to(results)
        for file in FILES:
            assert (folder / file).exists() == (other / file).exists()
            assert not (folder / file).exists() or (folder / file).read_bytes() == (other / file).read_bytes()
    assert extract([path], tmp_path / "again", []) == (0, 4)
    assert len(verify([path], [])) == 4


def test_the_same_runs_make_the_same_file(results, tmp_path):
    for kind in KINDS:
        first, second = (archive(results, tmp_path / f"{kind}-{k}.parquet", kind) for k in (1, 2))
        assert first.read_bytes() == second.read_bytes()


def test_a_run_that_has_not_finished_is_left_for_later(results, tmp_path):
    make_run(results, make_config(seed=3), 4)
    table = collect(archive(results, tmp_path / "all.parquet"))
    assert set(table["seed"]) == {1, 2, 12}


def test_a_summary_has_what_figures_read_in_single_precision(results, tmp_path):
    path = archive(results, tmp_path / "summary.parquet", "summary")
    small, whole = without_problems(path), collect(results)
    for name in ("negative_mll", "rmse", "nlpd", "y", "negative_mll_task_units"):
        np.testing.assert_array_equal(small[name].to_numpy(), whole[name].to_numpy().astype(np.float32))
    exact = ["benchmark", "model", "acquisition", "seed", "iteration", "kind", "num_observations", "has_metrics"]
    exact += ["mcmc_divergences", "maximize", "optimal_value", "finished", "run_id", "run"]
    pd.testing.assert_frame_equal(small[exact], whole[exact])
    timings = [name for name in whole if str(name).startswith("wall_seconds")]
    np.testing.assert_allclose(small[timings], whole[timings], rtol=2**-8)
    assert "x" not in small
    same_tables(collect(path, points=False), small)
    assert describe_runs(path, [])[0]["stored"].config() == describe_runs(results, [])[0]["stored"].config()
    assert describe_runs(path, [])[0]["stored"].session()["python"]


def test_a_summary_says_what_it_does_not_have(results, tmp_path):
    path = archive(results, tmp_path / "summary.parquet", "summary")
    with pytest.raises(InputError, match=r"kept as a summary, without records\.jsonl: that needs its run folder"):
        collect_hyperparameters(path)
    with pytest.raises(InputError, match="no records that could be restored"):
        extract([path], tmp_path / "again", [])


def test_moments_are_those_of_the_samples(results, tmp_path):
    path = archive(results, tmp_path / "summary.parquet", "summary")
    samples = collect_hyperparameters(results)
    moments = hyperparameter_table(path)
    assert SAMPLES in moments
    assert SAMPLES not in hyperparameter_table(results)
    groups = np.log10(samples["lengthscale_2"]).groupby([samples["run_id"], samples["iteration"]])
    found = moments.set_index(["run_id", "iteration"]).sort_index()
    np.testing.assert_allclose(found[f"{MEAN}lengthscale_2"], groups.mean(), rtol=2**-23)
    np.testing.assert_allclose(found[f"{STD}lengthscale_2"], groups.std(), rtol=2**-23)
    exact = collect_moments(results).set_index(["run_id", "iteration"]).sort_index()
    np.testing.assert_allclose(exact[f"{MEAN}lengthscale_2"], groups.mean(), rtol=1e-13)
    bare = archive(results, tmp_path / "bare.parquet", "summary", moments=False)
    with pytest.raises(InputError, match="no models yet"):
        collect_moments(bare)


def test_copies_count_once_and_the_exact_one_counts(results, tmp_path):
    full, summary = (archive(results, tmp_path / f"{kind}.parquet", kind) for kind in KINDS)
    expected = collect(results)
    for sources in ([results, full], [full, results, summary], [summary, full], [summary, results], [full, full]):
        same_tables(collect(sources), expected)
    archive(results, results / "inside.parquet")
    archive(results, results / "inside-summary.parquet", "summary")
    expected.to_parquet(results / "somebodys_table.parquet")
    same_tables(collect(results), expected)
    same_tables(collect(results), expected)  # from what was kept


def test_copies_that_differ_are_named_and_refused(results, tmp_path):
    full, summary = (archive(results, tmp_path / f"{kind}.parquet", kind) for kind in KINDS)
    other = tmp_path / "other"
    make_run(other, make_config(seed=2), 8, finished=True)
    for path in (full, summary):
        for sources in ([path, other], [other, path]):
            for read in (collect, lambda sources: describe_runs(sources, [])):
                with pytest.raises(InputError, match=r"the same run \(.*\) with different content") as refused:
                    read(sources)
                assert path.name in str(refused.value)
                assert str(other) in str(refused.value)
    with pytest.raises(InputError, match=r"the same run \(.*\) with different content"):
        merge([full, archive(other, tmp_path / "other.parquet")], tmp_path / "both.parquet", [])
    assert not (tmp_path / "both.parquet").exists()
    problems = []
    assert extract([full], other, problems) == (3, 0)
    assert "there with another content" in problems[0]


@pytest.mark.parametrize("kind", KINDS)
def test_merged_archives_are_one_of_all_runs(results, tmp_path, kind):
    expected = collect(archive(results, tmp_path / "all.parquet", kind))
    runs = describe_runs(results, [])
    paths = [tmp_path / f"{k}.parquet" for k in (1, 2)]
    for path, part in zip(paths, (runs[:3], runs[2:]), strict=True):
        write_archive(path, rows_of(part, kind, {run["run_id"] for run in runs}, []), kind, ABOUT_IT)
    assert merge(paths, tmp_path / "merged.parquet", []) == (4, 5)
    same_tables(collect(tmp_path / "merged.parquet"), expected)
    (found,) = contents([tmp_path / "merged.parquet"], [])
    assert (found.kind, found.runs, found.iterations, found.experiment) == (kind, 4, 27, "al_mll")
    assert (found.tasks, found.methods, found.seeds) == (["gramacy1"], ["bald", "sal_hr"], "1-2,12")
    assert len(verify([tmp_path / "merged.parquet"], [])) == 4


def test_kinds_are_not_merged(results, tmp_path):
    with pytest.raises(InputError, match="cannot be merged"):
        merge([archive(results, tmp_path / f"{kind}.parquet", kind) for kind in KINDS], tmp_path / "m.parquet", [])


def test_archives_are_never_changed(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    with pytest.raises(InputError, match="never changed"):
        archive(results, path)
    assert unused(path) == tmp_path / "all-2.parquet"
    with pytest.raises(InputError, match="no finished run"):
        write_archive(tmp_path / "none.parquet", [], "full", {})
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        write_archive(tmp_path / "none.csv", [], "full", {})
    assert not (tmp_path / "none.parquet").exists()


def test_a_run_is_found_by_its_id_or_place(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    run = describe_runs(path, [])[0]
    for name, where in ((run["run_id"][:9], path), (str(run["stored"].place), tmp_path), (run["run_id"][:9], results)):
        assert find_run(name, where).content() == run["stored"].content()
    with pytest.raises(InputError, match="neither the folder of a run"):
        find_run("abcdef", path)


def test_another_format_is_refused_with_what_to_do(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    path.write_bytes(path.read_bytes().replace(b"archive format 1 ", b"archive format 7 "))
    for use in (collect, lambda path: verify([path], []), Archive):
        with pytest.raises(InputError, match=f"has archive format 7; .* format {FORMAT}.*archive extract"):
            use(path)


def test_other_files_are_no_archives(results, tmp_path):
    table = tmp_path / "table.parquet"
    collect(results).to_parquet(table)
    with pytest.raises(InputError, match="no archive of runs"):
        collect(table)
    for content in (b"", b"PAR1", b"x" * 1000):
        table.write_bytes(content)
        with pytest.raises(InputError, match="cut short, or was never a Parquet file"):
            collect(table)


def test_a_renamed_archive_is_what_it_was(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    same_tables(collect(path.rename(tmp_path / "other name.bin")), collect(results))


def rewritten(path, change):
    """The archive with another table in it, and with marks that fit: what someone may have done to it by hand."""
    file = pq.ParquetFile(path)
    metadata = file.metadata.metadata
    table = change(file.read())
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table, row_group_size=SUMMARY_ROWS)
        mark = re.sub(rb"[0-9a-f]{64}", b"0" * 64, metadata[b"scorebo.archive"])
        writer.add_key_value_metadata({"scorebo.archive": mark, ABOUT: metadata[ABOUT.encode()]})
    write_mark(path)
    check_body(path)


def test_altered_numbers_are_refused_though_the_file_fits_its_marks(results, tmp_path):
    path = archive(results, tmp_path / "summary.parquet", "summary")

    def better(table):
        values = table["rmse"].to_pylist()
        values[1][3] = 1e-9
        at = table.schema.get_field_index("rmse")
        return table.set_column(at, "rmse", pa.array(values, table.schema.field("rmse").type))

    rewritten(path, better)
    table = collect(path)
    assert table["run_id"].nunique() == 3
    (problem,) = table.attrs["problems"]
    assert "its columns do not match their checksum" in problem
    problems = []
    assert len(verify([path], problems)) == 3
    assert len(problems) == 1


@pytest.mark.parametrize("place", ["../../../elsewhere", "/a/b/c/d", "a/b/../d"])
def test_an_archive_cannot_put_files_elsewhere(results, tmp_path, place):
    runs = describe_runs(results, [])
    path = tmp_path / "evil.parquet"
    rows = [replace(row, head={**row.head, "folder": place}) for row in rows_of(runs[:1], "full", (), [])]
    write_archive(path, rows, "full", {})
    problems = []
    assert extract([path], tmp_path / "in" / "here", problems) == (0, 0)
    assert "is not where the archive says" in problems[0]
    assert not (tmp_path / "in").exists()


def test_exchanged_files_are_refused_though_the_file_fits_its_marks(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")

    def exchanged(table):
        values = table["records.jsonl"].to_pylist()
        values[0], values[2] = values[2], values[0]
        at = table.schema.get_field_index("records.jsonl")
        return table.set_column(at, "records.jsonl", pa.array(values, pa.binary()))

    rewritten(path, exchanged)
    table = collect(path)
    assert table["run_id"].nunique() == 2
    assert len(table.attrs["problems"]) == 2


def test_damage_to_one_run_of_a_full_archive_is_damage_to_no_other(results, tmp_path):
    path = archive(results, tmp_path / "all.parquet")
    data = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(1).column(2).data_page_offset
    data[place + 60] ^= 1
    path.write_bytes(data)
    table = collect(path)
    expected = collect(results)
    name = Archive(path).folders[1].rpartition("/")[2]
    pd.testing.assert_frame_equal(table, expected[expected["run"] != name].reset_index(drop=True), check_exact=True)
    assert name in table.attrs["problems"][0]
    with pytest.raises(DamagedError):
        check_body(path)
    merge([path], tmp_path / "rest.parquet", [])
    without_problems(tmp_path / "rest.parquet")
    # A whole copy elsewhere is taken.
    same = collect([path, archive(results, tmp_path / "whole.parquet")])
    pd.testing.assert_frame_equal(same, expected, check_exact=True)


def test_damage_to_some_runs_of_a_summary_is_damage_to_no_others(results, tmp_path, monkeypatch):
    monkeypatch.setattr("scorebo.store.archive.write.SUMMARY_ROWS", 2)
    path = archive(results, tmp_path / "summary.parquet", "summary")
    expected = collect(path)
    names = [folder.rpartition("/")[2] for folder in Archive(path).folders]
    metadata = pq.ParquetFile(path).metadata
    column = metadata.schema.names.index("run")
    data = bytearray(path.read_bytes())
    data[metadata.row_group(1).column(column).data_page_offset + 60] ^= 1
    path.write_bytes(data)
    table = collect(path)
    kept = expected[expected["run"].isin(names[:2])].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, kept, check_exact=True)
    assert [name for name in names if any(name in text for text in table.attrs["problems"])] == names[2:]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_archives_give_no_wrong_number(results, tmp_path, kind):
    found = damage_and_read(archive(results, tmp_path / "damaged.parquet", kind), 60, seed=1)
    assert found["no run left"] > 10
    assert kind == "summary" or found["some runs left"] > 10
