from __future__ import annotations

import json

import pytest
from store_samples import make_config, make_record, make_run

from scorebo.cli import main
from scorebo.store import RunStore
from scorebo.store.ledger import entries_of, read_ledger


def troubled(iteration: int, **mcmc) -> dict:
    return {**make_record(iteration), "mcmc": {"retries": 0, "fallback": None, "refresh_reason": None, **mcmc}}


def told(folder) -> list[tuple]:
    return [
        (entry["iteration"], entry["kind"], entry.get("count"), entry.get("reason")) for entry in read_ledger(folder)
    ]


def test_everything_a_record_tells():
    record = troubled(9, retries=3, retry_reason="not finite", fallback="laplace", refresh_reason="diversity")
    record |= {"acquisition_fallbacks": 2, "jittered_blocks": 5, "optimum_violation": 0.25}
    assert entries_of(record) == [
        {"iteration": 9, "kind": "sampler retried", "count": 3, "reason": "not finite"},
        {"iteration": 9, "kind": "sampler replaced", "count": 1, "reason": "laplace"},
        {"iteration": 9, "kind": "refresh", "count": 1, "reason": "diversity"},
        {"iteration": 9, "kind": "acquisition fell back", "count": 2},
        {"iteration": 9, "kind": "block jittered", "count": 5},
        {"iteration": 9, "kind": "optimum beaten", "count": 1, "reason": "by 0.25"},
    ]
    assert entries_of(make_record(1)) == entries_of(troubled(9)) == []


@pytest.fixture
def folder(tmp_path):
    """A run whose third and fifth iteration had trouble, and whose seventh evaluation failed."""
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
        for k in range(1, 7):
            store.append(troubled(k, retries=2) if k in (3, 5) else make_record(k))
        store.note_failure(7, [0.5], "the disk is full", ["Traceback"])
    return store.folder


EXPECTED = [
    (3, "sampler retried", 2, None),
    (5, "sampler retried", 2, None),
    (7, "evaluation failed", None, "the disk is full"),
]


def test_entries_are_made_as_it_happens_and_stay(folder, tmp_path):
    assert told(folder) == EXPECTED
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
    assert told(folder) == EXPECTED
    assert read_ledger(folder)[-1]["x"] == [0.5]


def test_a_run_without_trouble_has_no_ledger(tmp_path):
    assert not (make_run(tmp_path, make_config(), 4) / "ledger.jsonl").exists()


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data.splitlines(keepends=True)[0] + b'{"iterati'])
def test_what_a_kill_kept_out_is_entered_by_the_next_start(folder, tmp_path, damage):
    path = folder / "ledger.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
        assert told(folder) == EXPECTED[:2]
        store.append(troubled(7, retries=1))
    assert told(folder) == [*EXPECTED[:2], (7, "sampler retried", 1, None)]


def test_listing(folder, tmp_path, capsys):
    with RunStore(tmp_path, make_config(seed=2)) as store:
        store.resume()
        for k in range(1, 15):
            store.append(troubled(k, refresh_reason="scheduled") | {"jittered_blocks": 1})
    assert main(["failures", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "sampler retried, 4 times: iterations 3, 5",
        f"  scorebo replay {folder} --iteration 3",
        "evaluation failed (the disk is full): iteration 7",
        f"  scorebo replay {folder} --iteration 7",
        "block jittered: iterations 1, 2, 3, 4, 5, 6, 7, 8 and 6 more",
        f"  scorebo replay {store.folder} --iteration 1",
    ]
    assert main(["failures", str(tmp_path), "--json", "--scheduled"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["kind"], line["count"]) for line in lines] == [
        *(("sampler retried", 4), ("evaluation failed", 1), ("refresh", 14), ("block jittered", 14))
    ]
    assert main(["failures", str(tmp_path / "nowhere")]) == 2


def test_nothing_to_list_is_said(tmp_path, capsys):
    make_run(tmp_path, make_config(), 4)
    assert main(["failures", str(tmp_path)]) == 0
    assert f"Nothing failed or fell back in {tmp_path}." in capsys.readouterr().out
