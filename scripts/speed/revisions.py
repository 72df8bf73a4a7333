"""The code of another commit, to be measured in the same environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Before optima in many dimensions, exact distances, PES and additive fits were made faster.
BEFORE = "3471cf4"
HERE = Path(__file__).parents[2]


@contextmanager
def trees(revision: str) -> Iterator[dict[str, Path]]:
    """Folders with the code to measure: `before`, that commit unpacked for a while (without it for none), and `now`."""
    with tempfile.TemporaryDirectory() as folder:
        before: dict[str, Path] = {}
        if revision != "none":
            archive = subprocess.Popen(["git", "archive", revision], cwd=HERE, stdout=subprocess.PIPE)
            with tarfile.open(fileobj=archive.stdout, mode="r|") as contents:
                contents.extractall(folder, filter="data")
            if archive.wait():
                sys.exit(f"git archive {revision} failed.")
            before["before"] = Path(folder)
        yield before | {"now": HERE}


def environment(place: Path) -> dict[str, str]:
    """Variables of a process that imports the code at this place."""
    return {**os.environ, "PYTHONPATH": str(place)}
