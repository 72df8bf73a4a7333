"""Damaged archives must never give a wrong number: fewer runs at most, and a reason for each that is missing.

Archives of invented runs are cut short, changed, overwritten with zeros or random bytes, and pieces of them doubled or
removed. Each is read as every command reads runs: a run that is read must have its numbers from before the damage, and
`verify` must notice every damage. As many as are asked for, half of them full archives, half summaries:

    python scripts/validation/damaged_archives.py 2000
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd

from scorebo.config.compose_many import Composer
from scorebo.errors import InputError
from scorebo.store import collect
from scorebo.store.archive.manage import verify
from scorebo.store.archive.write import KINDS, rows_of, write_archive
from scorebo.store.collect import describe_runs

Tables = dict[str, pd.DataFrame]


def main() -> None:
    """Damage and read; print what came of it."""
    from synthetic_results import make_results

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, nargs="?", default=2000, help="of damaged archives")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = ["benchmark.total=12", "mcmc.num_mcmc_samples=4"]
        configs = [
            config
            for method in ("sal_hr", "bald")
            for config in Composer().compose(["benchmark=gramacy1", f"acquisition={method}", *size], [1, 2, 3])
        ]
        make_results(folder / "results", configs)
        runs = describe_runs(folder / "results", [])
        for kind in KINDS:
            path = folder / f"{kind}.parquet"
            write_archive(path, rows_of(runs, kind, {run["run_id"] for run in runs}, []), kind, {})
            began = time.process_time()
            found = damage_and_read(path, options.number // 2, options.seed)
            took = time.process_time() - began
            print(f"{kind}: {dict(found)}; {took:.0f} s; no wrong number, and verify noticed every damage", flush=True)


def damage_and_read(path: Path, number: int, seed: int) -> Counter[str]:
    """What is left of an archive that is damaged so many times; `AssertionError` if a number is not what it was."""
    own = random.Random(seed)
    data = path.read_bytes()
    expected, problems = read(path)
    assert expected
    assert not problems
    found: Counter[str] = Counter()
    for _ in range(number):
        content = damaged(data, own)
        path.write_bytes(content)
        runs, problems = read(path)
        for run, rows in runs.items():
            pd.testing.assert_frame_equal(rows, expected[run], check_exact=True, check_dtype=False)
        assert problems or len(runs) == len(expected), "runs are missing, and nothing is said"
        assert content == data or is_noticed(path), "verify did not notice"
        found["all runs left" if len(runs) == len(expected) else "some runs left" if runs else "no run left"] += 1
    path.write_bytes(data)
    return found


def read(path: Path) -> tuple[Tables, list[str]]:
    """The rows of each run, and why others are left out."""
    try:
        table = collect(path)
    except InputError as error:
        return {}, [str(error)]
    parts = table.groupby("run_id")
    return {str(run): rows.reset_index(drop=True) for run, rows in parts}, table.attrs["problems"]


def is_noticed(path: Path) -> bool:
    """Whether `verify` finds something wrong."""
    problems: list[str] = []
    try:
        verify([path], problems)
    except InputError:
        return True
    return bool(problems)


def damaged(data: bytes, own: random.Random) -> bytes:
    """The archive with a bit changed (in the metadata as often as elsewhere), cut short, or a piece changed."""
    length = own.choice((1, 2, 7, 100, 4000))
    kind = own.choice(("bit", "bit in the metadata", "cut", "zeros", "random", "doubled", "removed"))
    place = own.randrange(len(data))
    if kind == "bit in the metadata":
        place = len(data) - own.randrange(1, min(len(data), 4000))
    head, piece, tail = data[:place], data[place : place + length], data[place + length :]
    if kind.startswith("bit"):
        return head + bytes([data[place] ^ (1 << own.randrange(8))]) + data[place + 1 :]
    pieces = {"zeros": bytes(len(piece)), "random": own.randbytes(len(piece)), "doubled": piece + piece, "removed": b""}
    return head if kind == "cut" else head + pieces[kind] + tail


if __name__ == "__main__":
    main()
