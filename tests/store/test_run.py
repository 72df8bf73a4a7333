from __future__ import annotations

import hashlib
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from store_samples import make_config, make_record, make_run, make_state, same

from scorebo.errors import InputError
from scorebo.store import RunStore, run_id
from scorebo.store.checksummed import seal, unseal
from scorebo.store.environment import git_state


def test_a_new_run_starts_empty_goes_on_and_finishes(tmp_path):
    store = RunStore(tmp_path, make_config())
    assert not store.is_finished()
    assert not store.folder.exists()
    with store:
        resumed = store.resume()
        assert (resumed.records, resumed.state, resumed.repairs) == ([], None, [])
        for k in range(1, 4):
            store.append(make_record(k))
        assert not store.is_finished()
        store.finish()
        assert store.is_finished()
    marker = json.loads((store.folder / "finished.json").read_text())
    assert marker["records"] == 3
    assert marker["sha256"] == hashlib.sha256((store.folder / "records.jsonl").read_bytes()).hexdigest()
    names = {"config.yaml", "environment.json", "records.jsonl", "checkpoint.json", "finished.json", "lock"}
    assert {path.name for path in store.folder.iterdir()} == names


def test_an_unfinished_run_resumes_with_its_records_and_state(tmp_path):
    make_run(tmp_path, make_config(), 7, states=True)
    with RunStore(tmp_path, make_config()) as store:
        resumed = store.resume()
        assert same(resumed.records, [make_record(k) for k in range(1, 8)])
        assert same(resumed.state, make_state(7))
        assert resumed.repairs == []
        store.append(make_record(8))
    with RunStore(tmp_path, make_config()) as store:
        assert same(store.resume().records, [make_record(k) for k in range(1, 9)])
    assert not (store.folder / "repairs.log").exists()


def test_a_finished_run_can_be_resumed_without_any_change(tmp_path):
    folder = make_run(tmp_path, make_config(), 5, finished=True)
    (folder / "checkpoint.json").unlink()
    before = (folder / "records.jsonl").read_bytes()
    with RunStore(tmp_path, make_config()) as store:
        resumed = store.resume()
        assert len(resumed.records) == 5
        assert resumed.repairs == []
        assert store.is_finished()
        store.finish()
        with pytest.raises(RuntimeError, match="finished"):
            store.append(make_record(6))
    assert store.is_finished()
    assert (folder / "records.jsonl").read_bytes() == before


def test_a_second_store_on_the_run_is_refused(tmp_path):
    with RunStore(tmp_path, make_config()) as store:
        with pytest.raises(InputError, match=f"{store.folder} is already running: process"):
            RunStore(tmp_path, make_config()).open()
        with RunStore(tmp_path, make_config(seed=2)):
            pass


def test_the_config_is_stored_and_reads_back_as_the_same_run(tmp_path):
    folder = make_run(tmp_path, make_config(threads=4), 1)
    stored = OmegaConf.load(folder / "config.yaml")
    assert run_id(stored) == run_id(make_config())
    assert set(stored) == {"benchmark", "model", "mcmc", "acquisition", "acquisition_optimizer", "seed"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("warmup: 256", "warmup: 257"),
        lambda text: text.replace("seed: 1", "seed: 2"),
        lambda text: text + "threads: 1\n",
        lambda text: text.replace("seed: 1", "seed: .nan"),
        lambda text: text.replace("seed: 1", "seed: ["),
        lambda text: text.replace("mcmc:", "mcmd:"),
        lambda text: "\udcff" + text,
        lambda text: "",
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_an_edited_config_is_refused_and_nothing_is_changed(tmp_path, damage, finished):
    folder = make_run(tmp_path, make_config(), 3, finished=finished)
    path = folder / "config.yaml"
    path.write_bytes(damage(path.read_text()).encode(errors="surrogateescape"))
    before = {item.name: item.read_bytes() for item in folder.iterdir() if item.name != "lock"}
    store = RunStore(tmp_path, make_config())
    with pytest.raises(InputError, match=r"config\.yaml"):
        store.open()
    if finished:
        with pytest.raises(InputError, match=r"config\.yaml"):
            store.is_finished()
    assert {item.name: item.read_bytes() for item in folder.iterdir() if item.name != "lock"} == before


def test_records_without_a_config_are_refused(tmp_path):
    (make_run(tmp_path, make_config(), 3) / "config.yaml").unlink()
    with pytest.raises(InputError, match=r"Cannot read .*config\.yaml"):
        RunStore(tmp_path, make_config()).open()


def test_a_folder_made_but_not_filled_is_taken_over(tmp_path):
    store = RunStore(tmp_path, make_config())
    store.folder.mkdir(parents=True)
    (store.folder / ".config.yaml.0123456789ab.tmp").write_text("half")
    with store:
        assert store.resume().records == []
        assert not list(store.folder.glob(".*"))


def test_the_environment_tells_what_ran_where_once_per_session(tmp_path):
    folder = make_run(tmp_path, make_config(threads=3), 1)
    make_run_again = RunStore(tmp_path, make_config(threads=2))
    with make_run_again:
        pass
    first, second = json.loads((folder / "environment.json").read_text())["sessions"]
    assert (first["threads"], second["threads"]) == (3, 2)
    assert first["packages"]["torch"] == importlib.metadata.version("torch")
    assert set(first["packages"]) == {
        *("torch", "botorch", "gpytorch", "pyro-ppl", "nutpie", "numba", "numpy", "scipy", "hydra-core", "scorebo"),
        *("scikit-learn", "camb", "onnxruntime", "xgboost", "xgboost-cpu"),
    }
    assert first["packages"]["scikit-learn"] == importlib.metadata.version("scikit-learn")
    assert first["python"] == ".".join(map(str, sys.version_info[:3]))
    assert first["command"] == sys.argv
    assert {"hostname", "platform", "cpu", "cpu_count"} <= set(first["machine"])


def test_the_commit_is_that_of_the_checkout_and_of_no_other(tmp_path):
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", *who, "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    package = tmp_path / "scorebo"
    package.mkdir()
    assert git_state(package) is None
    git("init")
    (package / "a.py").write_text("1")
    git("add", ".")
    git("commit", "-m", "one")
    git_state.cache_clear()
    assert git_state(package) == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (package / "a.py").write_text("2")
    git_state.cache_clear()
    assert git_state(package)["dirty"] is True
    installed = tmp_path / ".venv" / "site-packages" / "scorebo"
    installed.mkdir(parents=True)
    assert git_state(installed) is None
    git_state.cache_clear()


def test_a_damaged_environment_is_set_aside(tmp_path):
    folder = make_run(tmp_path, make_config(), 1)
    (folder / "environment.json").write_text("{")
    with RunStore(tmp_path, make_config()) as store:
        assert "environment.json" in store.resume().repairs[0]
    assert (folder / "environment.damaged-1.json").read_text() == "{"
    assert len(json.loads((folder / "environment.json").read_text())["sessions"]) == 1


def test_records_out_of_order_or_before_resume_are_the_programmers_mistake(tmp_path):
    with pytest.raises(RuntimeError, match="open"):
        RunStore(tmp_path, make_config()).resume()
    with RunStore(tmp_path, make_config()) as store:
        with pytest.raises(RuntimeError, match="resume"):
            store.append(make_record(1))
        store.resume()
        with pytest.raises(RuntimeError, match="once"):
            store.resume()
        with pytest.raises(ValueError, match="Expected iteration 1, got 2"):
            store.append(make_record(2))
        with pytest.raises(ValueError, match="'run'"):
            store.append({**make_record(1), "run": "mine"})
        with pytest.raises(TypeError, match="cannot be stored"):
            store.append({**make_record(1), "x": object()})
        store.append(make_record(1))
    assert store.folder.joinpath("records.jsonl").read_bytes().count(b"\n") == 1


def test_a_file_changed_under_the_run_stops_it(tmp_path):
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
        store.append(make_record(1))
        path = store.folder / "records.jsonl"
        path.write_bytes(path.read_bytes().replace(b"initial", b"Initial"))
        with pytest.raises(InputError, match="changed by another process"):
            store.finish()
        path.write_bytes(b"")
        with pytest.raises(InputError, match="changed by another process"):
            store.append(make_record(2))
    assert not store.is_finished()


@pytest.mark.parametrize("name", ["checkpoint.json", "finished.json"])
def test_another_version_of_the_format_is_refused(tmp_path, name):
    folder = make_run(tmp_path, make_config(), 3, finished=name == "finished.json")
    path = folder / name
    path.write_bytes(seal({**unseal(path.read_bytes()[:-1]), "format": 3}))
    before = (folder / "records.jsonl").read_bytes()
    with RunStore(tmp_path, make_config()) as store, pytest.raises(InputError, match=r"has format 3; .* format 2"):
        store.resume()
    assert (folder / "records.jsonl").read_bytes() == before


def test_results_that_are_a_file_or_lie_below_one(tmp_path):
    path = tmp_path / "results"
    path.write_text("mine")
    with pytest.raises(InputError, match="results is a file"):
        RunStore(path, make_config()).open()
    with pytest.raises(InputError, match="Not a directory"):
        RunStore(path / "below", make_config()).open()
    assert not RunStore(path, make_config()).is_finished()
    assert path.read_text() == "mine"


def test_a_file_where_a_folder_of_the_run_should_be(tmp_path):
    (tmp_path / "gramacy1").write_text("mine")
    with pytest.raises(InputError, match="gramacy1"):
        RunStore(tmp_path, make_config()).open()
    store = RunStore(tmp_path / "other", make_config())
    store.folder.parent.mkdir(parents=True)
    store.folder.write_text("mine")
    with pytest.raises(InputError, match="A file is where a folder is needed"):
        store.open()
    assert Path(store.folder).read_text() == "mine"
