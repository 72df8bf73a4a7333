"""The best values known of tasks whose optimum is not: each with its point, so that it can be seen to be reached.

The table, `data/best_known.json`, is written by `scripts/maintenance/best_known.py`, for the tasks as configured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TABLE = Path(__file__).parent / "data" / "best_known.json"


@dataclass(frozen=True)
class Best:
    """A value, the point it was found at (`D`, the task's own units), and how it was found."""

    value: float
    x: tuple[float, ...]
    how: str


def best_known(name: str) -> Best | None:
    """The best known value of a task; None where there is none."""
    return _table().get(name)


@lru_cache
def _table() -> dict[str, Best]:
    entries = json.loads(TABLE.read_text(encoding="utf-8"))
    return {name: Best(entry["value"], tuple(entry["x"]), entry["how"]) for name, entry in entries.items()}
