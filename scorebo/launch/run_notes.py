"""What workers note about the runs of a sweep, one small file a run: that it started, and how it ended.

A note is never a proof that a run is finished. It says why one is not, and what one cost.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.launch.sweep import Sweep, SweepRun
from scorebo.store import write_atomically

STARTED, FINISHED, FAILED, CANCELLED, BUSY = "started", "finished", "failed", "cancelled", "busy"
# A note takes this much from the beginning, so that the last one still fits when the disk has become full.
_SIZE = 4096
_LONGEST = 1500


def note(sweep: Sweep, run: SweepRun, state: str, **details: Any) -> None:
    """Replace the note about a run; where a disk has no room for a new file, over the old one."""
    if isinstance(details.get("reason"), str):
        details["reason"] = details["reason"][:_LONGEST]
    text = json.dumps({"state": state, **details}).encode().ljust(_SIZE)
    path = Path(_path(sweep, run))
    try:
        write_atomically(path, text)
    except InputError:
        with storage_errors(path), open(path, "rb+", buffering=0) as file:
            file.write(text)
            os.fsync(file.fileno())


def read_note(sweep: Sweep, run: SweepRun) -> dict[str, Any]:
    """The last note about a run; empty if there is none that can be read."""
    with contextlib.suppress(OSError, ValueError):
        with open(_path(sweep, run), "rb") as file:
            found = json.loads(file.read())
        return found if isinstance(found, dict) else {}
    return {}


def _path(sweep: Sweep, run: SweepRun) -> str:
    return f"{sweep.folder}/notes/{run.key}.json"
