"""Reference runs: where they are found, and what counts where a run is among one's own too."""

import pandas as pd
import pytest
from store_samples import make_config, make_run

from scorebo.errors import InputError
from scorebo.store import collect
from scorebo.store import reference as module
from scorebo.store.archive.write import rows_of, write_archive
from scorebo.store.collect import describe_runs
from scorebo.store.reference import VARIABLE, reference_archives
from scorebo.store.sources import Reference, source_paths, sources_text


def archive(path, *runs):
    """A summary of runs, each a seed and a number of records."""
    folder = path.with_suffix("")
    for seed, count in runs:
        make_run(folder, make_config(seed=seed), count, finished=True)
    write_archive(path, rows_of(describe_runs(folder, []), "summary", (), []), "summary", {})
    return Reference(path)


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_file_a_folder_or_the_own_folder(tmp_path, monkeypatch):
    first, second = archive(tmp_path / "a.parquet", (1, 5)), archive(tmp_path / "b.parquet", (2, 5))
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "table.parquet")
    (tmp_path / ".hidden.parquet").write_bytes(first.read_bytes())
    monkeypatch.setattr(module, "OWN", tmp_path)
    assert reference_archives() == (first, second)
    monkeypatch.setattr(module, "OWN", tmp_path / "nowhere")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert reference_archives() == (first, second)
    monkeypatch.setenv(VARIABLE, str(second))
    assert reference_archives() == (second,)
    assert all(isinstance(path, Reference) for path in reference_archives())


def test_none_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "OWN", tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no reference runs: .*nowhere has no archive. Name a file or a folder"):
        reference_archives()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"\$SCOREBO_REFERENCE: there is no file or folder '.*gone'"):
        reference_archives()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="has no archive"):
        reference_archives()


def test_a_damaged_archive_is_named_by_who_reads_it(tmp_path, monkeypatch):
    archive(tmp_path / "a.parquet", (1, 5))
    whole = archive(tmp_path / "b.parquet", (2, 5)).read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:-20] + b"?" * 12 + whole[-8:])
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    table = collect(reference_archives())
    assert set(table["seed"]) == {1}
    assert "b.parquet is damaged" in " ".join(table.attrs["problems"])


def test_one_s_own_run_counts_with_its_own_numbers(tmp_path):
    """Runs that were repeated on another machine are not bit-equal; of a reference that is no conflict."""
    reference = archive(tmp_path / "a.parquet", (1, 5), (2, 5))
    own = tmp_path / "own"
    make_run(own, make_config(seed=2), 8, finished=True)
    for sources in ([own, reference], [reference, own]):
        table = collect(sources)
        assert table.groupby("seed").size().to_dict() == {1: 5, 2: 8}
        assert table.attrs["problems"] == []
        assert table.attrs["reference"] == [table.loc[table["seed"] == 1, "run_id"].iloc[0]]
    with pytest.raises(InputError, match=r"same run \(seed-.*\) with different content"):
        collect([own, str(reference)])
    assert "reference" not in collect(own).attrs


def test_two_references_that_differ_are_a_conflict(tmp_path):
    one, other = archive(tmp_path / "a.parquet", (1, 5)), archive(tmp_path / "b.parquet", (1, 6))
    with pytest.raises(InputError, match=r"same run \(seed-.*\) with different content"):
        collect([one, other])


def test_messages_name_the_place_once(tmp_path):
    paths = source_paths(["results", Reference(tmp_path / "a.parquet"), Reference(tmp_path / "b.parquet")])
    assert sources_text(paths) == f"results and the reference ({tmp_path})"
