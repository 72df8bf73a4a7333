"""The command `archive` from end to end, on tiny runs."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from scorebo.cli import main
from tests.runs import tiny_overrides


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "results"
    for seed in (1, 2, 12):
        assert main(["run", "--quiet", *tiny_overrides(folder, "gramacy1", "random"), f"seed={seed}"]) == 0
    return folder


def call(*arguments):
    return main(["archive", *map(str, arguments)])


def table(source, out):
    assert main(["collect", str(source), "--out", str(out)]) == 0
    return pd.read_csv(out)


def test_create_again_adds_what_is_new(results, tmp_path, capsys):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--seeds", "1-2", "--all", "--out", out) == 0
    first = out.read_bytes()
    assert call("create", "--results", results, "--out", out) == 0
    assert call("create", "--results", results, "--out", out) == 0
    said = capsys.readouterr().out
    assert "all.parquet: 2 runs, 14 iterations" in said
    assert "all-2.parquet: 1 runs, 7 iterations" in said
    assert "nothing new" in said
    assert out.read_bytes() == first
    call("create", "--results", results, "--seeds", "1", "--all", "--out", tmp_path / "all-of-one.parquet")
    assert call("create", "--results", results, "--out", out) == 0
    assert "nothing new" in capsys.readouterr().out
    (tmp_path / "all-of-one.parquet").unlink()
    both, expected = table(tmp_path, tmp_path / "both.csv"), table(results, tmp_path / "expected.csv")
    pd.testing.assert_frame_equal(both, expected, check_exact=True)
    assert call("merge", out, tmp_path / "all-2.parquet", "--out", tmp_path / "merged.parquet") == 0
    pd.testing.assert_frame_equal(table(tmp_path / "merged.parquet", tmp_path / "m.csv"), expected, check_exact=True)


def test_a_folder_gets_a_file_for_each_ten_seeds(results, tmp_path, capsys):
    assert call("create", "--results", results, "--out", tmp_path, "--kind", "summary") == 0
    names = ["runs-seeds-1-10.parquet", "runs-seeds-11-20.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert call("create", "--results", results, "--out", tmp_path, "--kind", "summary") == 0
    assert "nothing new" in capsys.readouterr().out
    assert call("list", tmp_path, "--json") == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["kind"], first["seeds"], first["runs"], second["seeds"]) == ("summary", "1-2", 2, "12")
    assert call("list", tmp_path) == 0
    shown = capsys.readouterr().out
    assert "methods     random" in shown
    assert "seeds       1-2" in shown


def test_verify_and_replay(results, tmp_path, capsys):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--out", out) == 0
    assert call("verify", out, "--replay", 3) == 0
    said = capsys.readouterr().out
    assert "3 runs: every checksum matches" in said
    assert said.count("bit-equal, timings apart") == 3
    data = out.read_bytes()
    out.write_bytes(data[:2000] + b"?" + data[2001:])
    assert call("verify", out) == 1
    assert "does not match its checksum" in capsys.readouterr().err
    out.write_bytes(data[:-9])
    assert call("verify", out) == 1
    assert call("list", out) == 1
    assert main(["collect", str(out), "--out", str(tmp_path / "t.csv")]) == 2


def test_a_record_that_is_not_what_the_run_gives_is_found(results, tmp_path, capsys):
    """Every checksum fits, because the archive was made of them."""
    import hashlib
    import shutil

    from scorebo.store.checksummed import seal, unseal

    mine = tmp_path / "results"
    shutil.copytree(results, mine)
    for path in mine.rglob("records.jsonl"):
        records = [unseal(line) for line in path.read_bytes().splitlines()]
        lines = [seal({**record, "y": None if record["y"] is None else record["y"] + 1e-9}) for record in records]
        path.write_bytes(b"".join(lines))
        marker = unseal((path.parent / "finished.json").read_bytes()[:-1])
        digest = hashlib.sha256(b"".join(lines)).hexdigest()
        (path.parent / "finished.json").write_bytes(seal({**marker, "sha256": digest}))
    assert call("create", "--results", mine, "--out", tmp_path / "all.parquet") == 0
    assert call("verify", tmp_path / "all.parquet", "--replay", 5) == 1
    assert "differs: y: " in capsys.readouterr().out


def test_extract(results, tmp_path, capsys):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--out", out) == 0
    assert call("extract", out, "--out", tmp_path / "again") == 0
    assert "3 runs restored" in capsys.readouterr().out
    assert main(["status", "--results", str(tmp_path / "again")]) == 0
    assert "finished 3" in capsys.readouterr().out.replace("3 finished", "finished 3")


def test_wrong_arguments_are_refused(results, tmp_path, capsys):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--out", out, "--kind", "small") == 2
    assert "Unknown kind of archive 'small'" in capsys.readouterr().err
    assert not out.exists()
    assert call("list", tmp_path) == 2
    assert "There is no archive" in capsys.readouterr().err
    assert call("create", "--results", results, "--out", tmp_path / "s.parquet", "--kind", "summary") == 0
    assert call("verify", tmp_path / "s.parquet", "--replay", 1) == 2
    assert "--replay needs a full archive" in capsys.readouterr().err
    assert call("extract", tmp_path / "s.parquet", "--out", tmp_path / "again") == 2


def test_every_reader_takes_an_archive(results, tmp_path, capsys):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--out", out) == 0
    capsys.readouterr()
    for command in (["health", "--all"], ["compare", "--all", "--metric", "simple_regret"], ["scorecard"]):
        answers = []
        for source in (results, out):
            code = main([command[0], "--results", str(source), *command[1:]])
            answers.append((code, *(text.replace(str(source), "SOURCE") for text in capsys.readouterr())))
        assert answers[0] == answers[1]
    assert main(["failures", str(out)]) == 0
    assert main(["replay", "gone", "--results", str(out), "--iteration", "3"]) == 2
    assert "neither the folder" in capsys.readouterr().err
    assert main(["report", "--results", str(out), "--all", "--out", str(tmp_path / "report.html")]) == 0
    assert main(["provenance", str(tmp_path / "report.html")]) == 0
    assert "unchanged: all 3 runs are as they were" in capsys.readouterr().out
    small = tmp_path / "small.parquet"
    assert call("create", "--results", results, "--out", small, "--kind", "summary") == 0
    assert main(["provenance", str(tmp_path / "report.html"), "--results", str(small)]) == 0
    assert "3 cannot be compared, as summaries have them in single precision" in capsys.readouterr().out
    assert main(["provenance", str(tmp_path / "report.html"), "--results", str(results)]) == 0
    assert "unchanged: all 3 runs are as they were" in capsys.readouterr().out


def test_archives_are_looked_at_without_torch_and_help_without_arrow(results, tmp_path):
    out = tmp_path / "all.parquet"
    assert call("create", "--results", results, "--out", out) == 0
    code = "import sys, json; from scorebo.cli import main; main(sys.argv[1:]); print(json.dumps(sorted(sys.modules)))"
    for arguments, unwanted in (
        (["archive", "list", str(out)], "torch"),
        (["collect", str(out), "--out", str(tmp_path / "t.csv")], "torch"),
        (["archive", "create", "--results", str(results), "--out", str(tmp_path / "new.parquet")], "torch"),
        (["status", "--results", str(results)], "pyarrow"),
    ):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert unwanted not in json.loads(done.stdout.splitlines()[-1])
