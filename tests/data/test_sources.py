"""The table itself, and the files it describes where they are there."""

import re

import pytest

from scorebo.cli import main
from scorebo.config import available
from scorebo.data import sources
from scorebo.data.sources import INTACT, MISSING, how_to_get, required, states
from scorebo.errors import InputError


def test_every_entry_is_whole():
    for name, data in sources.datasets().items():
        assert all((data.what, data.license, data.citation, data.tasks, data.files)), name
        for source in data.files:
            assert source.sha256 is None or re.fullmatch("[0-9a-f]{64}", source.sha256)
            assert source.url is None or source.url.startswith("https://")
            assert source.sha256 or source.member, f"{source.name} can be verified neither by digest nor by archive"


def test_every_task_of_the_table_exists():
    named = {task for data in sources.datasets().values() for task in data.tasks}
    assert named <= set(available("benchmark"))


def test_folder_is_that_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("SCOREBO_DATA", raising=False)
    assert str(sources.dataset("dna").path()) == "data/dna"
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    assert sources.dataset("ct_slice_757").path() == tmp_path / "ct_slice"


def test_missing_and_damaged_data_are_told_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"The data 'dna' are missing: .*`scorebo data fetch dna` gets it, or set"):
        required("dna")
    with pytest.raises(InputError, match=r"put an intact ct_slice_757rows\.csv\.gz there, or set SCOREBO_DATA"):
        required("ct_slice_757")
    (tmp_path / "dna").mkdir()
    (tmp_path / "dna" / "dna.scale").write_text("1 1:1\n")
    with pytest.raises(InputError, match=r"dna\.scale is damaged or another version: its SHA-256 is .*, not f74937cc"):
        required("dna")
    (tmp_path / "ct_slice").mkdir()
    (tmp_path / "ct_slice" / "ct_slice_757rows.csv.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"remove it; put an intact ct_slice_757rows\.csv\.gz there, or set"):
        required("ct_slice_757")


def test_the_list_says_what_to_do_about_damaged_data_too(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    (tmp_path / "dna").mkdir()
    (tmp_path / "dna" / "dna.scale").write_text("1 1:1\n")
    assert main(["data", "list", "dna"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "damaged; `scorebo data fetch dna` gets it, or set SCOREBO_DATA to the folder that has dna/" in shown


def test_another_form_of_a_file_serves_as_well(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"data\.csv, nor CT_slice_X\.npy or CT_slice_X\.npy\.gz instead"):
        required("ct_slice")
    (tmp_path / "ct_slice").mkdir()
    (tmp_path / "ct_slice" / "CT_slice_X.npy").write_bytes(b"")
    assert required("ct_slice") == [tmp_path / "ct_slice" / "CT_slice_X.npy"]
    assert main(["data", "check", "ct_slice"]) == 0
    assert capsys.readouterr().out.endswith("CT_slice_X.npy: there, without a published checksum\n")


def test_only_the_files_that_are_asked_for_have_to_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    first, second, _ = (source.name for source in sources.dataset("pd1").files)
    (tmp_path / "pd1" / "surrogates").mkdir(parents=True)
    (tmp_path / "pd1" / second).write_text("{}")
    assert required("pd1", [second]) == [tmp_path / "pd1" / second]
    with pytest.raises(InputError, match="The data 'pd1' are missing"):
        required("pd1", [first])


def test_the_files_here_are_those_of_the_table(real_data):
    for name, data in sources.datasets().items():
        found = set(states(data).values())
        if data.path().is_dir() and found != {MISSING}:
            assert found == {INTACT}, f"{name}: {found}; {how_to_get(data)}"
