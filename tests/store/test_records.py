from __future__ import annotations

import hashlib
import json
import random
import re
import struct

import pytest
from store_samples import make_record, same

from scorebo.store import RecordWriter, read_records, truncate_to
from scorebo.store.checksummed import canonical_json, seal, unseal


@pytest.fixture
def path(tmp_path):
    writer = RecordWriter(tmp_path / "records.jsonl")
    for k in range(1, 11):
        writer.append(make_record(k))
    writer.close()
    return writer.path


def test_records_read_back_to_the_bit(path):
    records, good_bytes, problem = read_records(path)
    assert same(records, [make_record(k) for k in range(1, 11)])
    assert good_bytes == path.stat().st_size
    assert problem is None


def test_lines_are_strict_json_whose_checksum_anyone_can_check(path):
    def refuse(name):
        raise AssertionError(name)

    for line in path.read_text().splitlines():
        document = json.loads(line, parse_constant=refuse)
        checksum = document.pop("checksum")
        assert checksum == hashlib.sha256(canonical_json(document).encode()).hexdigest()[:16]
        if document["iteration"] == 5:
            assert document["negative_mll"] is None
            assert document["non_finite"] == {"/negative_mll": "nan"}


def test_random_doubles_round_trip():
    draw = random.Random(3)
    numbers = [struct.unpack("d", draw.randbytes(8))[0] for _ in range(2000)]
    document = {"deep": [{"a/b~c": numbers}, [float("-inf")]], "also": float("nan")}
    back = unseal(seal(document)[:-1])
    assert same(back["deep"][0]["a/b~c"], [float("nan") if x != x else x for x in numbers])
    assert same(back["deep"][1], [float("-inf")])
    assert same(back["also"], float("nan"))


def test_every_flipped_bit_of_a_line_is_noticed():
    line = seal(make_record(10))
    for bit in range(8 * (len(line) - 1)):
        damaged = bytearray(line[:-1])
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="checksum"):
            unseal(bytes(damaged))


def test_half_a_surrogate_pair_comes_back():
    assert unseal(seal({"a": "x\ud800"})[:-1]) == {"a": "x\ud800"}


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, b"x", 1j, 2**63, -(2**63) - 1])
def test_what_json_cannot_hold_is_refused_before_anything_is_written(tmp_path, value):
    writer = RecordWriter(tmp_path / "records.jsonl")
    with pytest.raises(TypeError, match=r"stored|Stored"):
        writer.append({"iteration": 1, "a": value})
    writer.close()
    assert writer.path.read_bytes() == b""


@pytest.mark.parametrize("key", ["checksum", "non_finite"])
def test_reserved_fields_are_refused(key):
    with pytest.raises(ValueError, match=key):
        seal({"iteration": 1, key: "x"})


def test_the_good_prefix_ends_at_the_damage_and_says_where(path):
    lines = path.read_bytes().splitlines(keepends=True)
    start = sum(map(len, lines[:6]))
    cases = {
        "line 7 .* does not match its checksum": [*lines[:6], lines[6].replace(b"query", b"Query"), *lines[7:]],
        "line 7 .* is iteration 8, not 7": [*lines[:6], *lines[7:]],
        "line 7 .* is iteration 6, not 7": [*lines[:6], *lines[5:]],
        "line 7 .* is cut short": [*lines[:6], lines[6][:-1]],
        "line 7 .* does not end in a checksum": [*lines[:6], b"\n", *lines[6:]],
    }
    for says, content in cases.items():
        path.write_bytes(b"".join(content))
        records, good_bytes, problem = read_records(path)
        assert len(records) == 6
        assert good_bytes == start
        assert f"byte {start}" in problem
        assert re.search(says, problem)


def test_lines_of_another_run_are_not_good(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(seal({"iteration": 1, "run": "a"}) + seal({"iteration": 2, "run": "b"}))
    assert len(read_records(path).records) == 2
    assert "line 2 " in read_records(path, run="a").problem
    assert "another run" in read_records(path, run="a").problem


def test_cutting_leaves_a_good_file(path):
    path.write_bytes(path.read_bytes()[:-5])
    truncate_to(path, read_records(path).good_bytes)
    records, good_bytes, problem = read_records(path)
    assert (len(records), good_bytes, problem) == (9, path.stat().st_size, None)


def test_no_file_is_no_records(tmp_path):
    assert read_records(tmp_path / "records.jsonl") == ([], 0, None)
