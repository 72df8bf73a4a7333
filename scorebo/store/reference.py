"""Where reference runs are found: archives that come with a checkout or with the installed package, or a user's own."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from scorebo.errors import InputError
from scorebo.files import storage_errors
from scorebo.store.archive.file import DamagedError, check_metadata
from scorebo.store.sources import SUFFIX, Reference

VARIABLE = "SCOREBO_REFERENCE"
# In a checkout a link to results/reference; of that folder the wheel has the archives of the active-learning suite.
OWN = Path(__file__).parents[1] / "reference"


def reference_archives() -> tuple[Reference, ...]:
    """The archives named by $SCOREBO_REFERENCE (a file, or a folder of them), or else the project's own."""
    given = os.environ.get(VARIABLE)
    place = Path(given) if given else OWN.resolve()
    if given and not place.exists():
        raise InputError(f"${VARIABLE}: there is no file or folder '{place}'.")
    found = _archives(place)
    if not found:
        raise InputError(
            f"There are no reference runs: {place} has no archive. Name a file or a folder of archives in ${VARIABLE}; "
            "`scorebo archive create --kind summary` makes them of finished runs."
        )
    return found


def _archives(place: Path) -> tuple[Reference, ...]:
    """Those in a folder, or the file itself; damaged ones too, which whoever reads them names."""
    if not place.is_dir():
        return (Reference(place),) if place.is_file() else ()
    with storage_errors(place, "read"):
        paths = sorted(path for path in place.glob(f"*{SUFFIX}") if not path.name.startswith("."))
    return tuple(Reference(path) for path in paths if _may_be_archive(path))


def _may_be_archive(path: Path) -> bool:
    with contextlib.suppress(DamagedError):
        return check_metadata(path) is not None
    return True
