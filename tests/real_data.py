"""The data of the real tasks, where they are."""

from __future__ import annotations

import os
from pathlib import Path

BESIDE = Path(__file__).parents[2] / "shared" / "data"


def folder() -> Path | None:
    """`$SCOREBO_DATA`, or `../shared/data` beside the checkout; None if neither is there."""
    for candidate in (os.environ.get("SCOREBO_DATA"), BESIDE):
        if candidate and Path(candidate).is_dir():
            return Path(candidate)
    return None
