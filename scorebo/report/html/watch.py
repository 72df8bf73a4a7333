"""A report that follows running sweeps: written again and again until nothing is queued or running."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from scorebo.errors import InputError
from scorebo.launch.status import survey
from scorebo.report.html.write import Following

PAUSE = 30.0  # seconds


def follow(
    write: Callable[[Following | None], str],
    folders: Iterable[Path],
    say: Callable[[str], None],
    *,
    pause: float = PAUSE,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Write the page while runs are queued or running, and once more when none is.

    Args:
        write: writes the page and says what it shows; given what is running, or None for the last time. What it refuses
            is final only where nothing is running: a run may not have records yet.
        folders: the results folders; an archive has nothing that runs.
        say: is told what each writing came to, where that changed.
        pause: seconds between two writings.
        sleep: waits.
    """
    told = ""
    while True:
        running = _running([folder for folder in folders if folder.is_dir()])
        state = None if running is None else Following(running, pause)
        try:
            words = write(state)
        except InputError as error:
            if state is None:
                raise
            words = f"nothing to show yet. {error}"
        if words != told:
            say(words)
        if state is None:
            return
        told = words
        sleep(pause)


def _running(folders: Iterable[Path]) -> str | None:
    """How many runs are running, queued and finished, in words; None where nothing goes on."""
    states = [survey(folder, tails=False) for folder in folders]
    counts = {name: sum(len(state.of(name)) for state in states) for name in ("running", "queued", "finished")}
    if not counts["running"] + counts["queued"]:
        return None
    return f"{', '.join(f'{count} {name}' for name, count in counts.items())}."
