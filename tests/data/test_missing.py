"""Tasks of a sweep whose data are not there."""

import pytest

from scorebo.cli import main
from scorebo.data.sources import why_missing
from scorebo.launch.submit import with_data


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    (tmp_path / "dna").mkdir()
    (tmp_path / "dna" / "dna.scale").touch()
    return tmp_path


def test_only_what_lacks_a_file_is_left_out(data):
    configs = [{"benchmark": {"name": name}} for name in ("branin", "lasso_dna", "svm_ct", "pd1_wmt", "svm_ct")]
    kept, reasons = with_data(configs)
    assert [config["benchmark"]["name"] for config in kept] == ["branin", "lasso_dna"]
    assert [reason.partition(",")[0] for reason in reasons] == ["svm_ct", "pd1_wmt"]
    assert "the data 'ct_slice' are missing (slice_localization_data.csv): `scorebo data fetch ct_slice`" in reasons[0]


def test_a_file_that_serves_as_well(data):
    assert why_missing("svm_ct")
    (data / "ct_slice").mkdir()
    (data / "ct_slice" / "CT_slice_X.npy").touch()
    assert why_missing("svm_ct") is None


def test_the_union_leaves_them_out_with_a_message(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("scorebo.launch.estimate.pilot", lambda kinds, seconds: {})
    arguments = ["experiment=paper", "benchmark=lasso_dna,svm_ct", "seed=1", f"results={tmp_path / 'r'}", "--dry-run"]
    assert main(["sweep", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "left out: svm_ct, the data 'ct_slice' are missing" in printed
    assert "5 runs, 0 of them finished already" in printed


def test_the_time_of_the_pilot_needs_a_dry_run(capsys):
    assert main(["sweep", "experiment=demo", "--pilot", "3"]) != 0
    assert "--pilot is the time that --dry-run may take: it needs --dry-run" in capsys.readouterr().err
