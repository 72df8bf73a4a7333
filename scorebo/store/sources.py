"""Where runs come from: folders of run folders, and archives; to whoever reads runs they are alike.

An archive is given by its path; those that lie directly in a folder of runs belong to it as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from scorebo.files import storage_errors
from scorebo.store.lock import is_locked
from scorebo.store.stored_run import (
    CHECKPOINT,
    CONFIG,
    ENVIRONMENT,
    FINISHED,
    RECORDS,
    FolderRun,
    StoredRun,
    named_after,
)

Sources = Path | str | Sequence[Path | str]

SUFFIX = ".parquet"
# Of a run folder without records: one of the first, and, unless the folder is named after a run, another of the second.
_MARKS = {CONFIG, CHECKPOINT, FINISHED}
_OTHERS = {*_MARKS, ENVIRONMENT, "lock"}


def source_paths(results: Sources) -> tuple[Path, ...]:
    """The folders and archives in which runs are looked for: one, or several whose runs are taken together."""
    return (Path(results),) if isinstance(results, Path | str) else tuple(map(Path, results))


def sources_text(results: Sources) -> str:
    """The folders and archives in a message."""
    return " and ".join(map(str, source_paths(results)))


def stored_runs(source: Path, problems: list[str], *, without_records: bool = False) -> Iterator[StoredRun]:
    """The runs of a folder or of an archive; what cannot be read is named in `problems`.

    Of a folder those in folders of their own come before archived ones; one that has lost its records is a problem,
    unless it is asked for as well.
    """
    if source.is_file():
        yield from _archived(source, problems)
        return
    for folder, has_records in _scan(source):
        if has_records or without_records:
            yield FolderRun(folder)
        elif not is_locked(folder / "lock"):  # by a process that has only just begun the run
            problems.append(
                f"{folder}: records.jsonl is missing, so the run is left out. Put the file back; or run the same "
                "command again, which starts the run from the beginning; or delete the folder."
            )
    for path in archives_in(source, problems):
        yield from _archived(path, problems)


def runs_by_digits(results: Sources) -> dict[str, StoredRun]:
    """The runs by the first digits of their ids, by which their folders are named; of copies the first.

    Cheaper than `describe_runs`, since no run is opened. A run in a folder of another name is under its place.
    """
    found: dict[str, StoredRun] = {}
    for source in source_paths(results):
        for run in stored_runs(source, [], without_records=True):
            found.setdefault(named_after(run.name) or str(run.place), run)
    return found


def archives_in(folder: Path, problems: list[str]) -> list[Path]:
    """The archives directly in a folder, by name; what may have been one is named in `problems`."""
    with storage_errors(folder, "read"):
        paths = sorted(Path(entry) for entry in os.scandir(folder) if _may_be_archive(entry))
    return [path for path in paths if _is_archive(path, problems)]


def find_runs(results: Path) -> Iterator[Path]:
    """Every run folder at or below `results`, links followed, each folder once; also one that has lost its records."""
    return (folder for folder, _ in _scan(Path(results)))


def _archived(path: Path, problems: list[str]) -> Iterator[StoredRun]:
    from scorebo.store.archive.file import DamagedError
    from scorebo.store.archive.read import Archive

    try:
        archive = Archive(path)
    except DamagedError as error:
        problems.append(f"{error} (left out)")
        return
    yield from archive.runs(problems)


def _may_be_archive(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(SUFFIX) and entry.name[0] != "." and entry.is_file()


def _is_archive(path: Path, problems: list[str]) -> bool:
    """Whether it is one, and no other table."""
    from scorebo.store.archive.file import DamagedError, check_metadata

    try:
        return check_metadata(path) is not None
    except DamagedError as error:
        problems.append(f"{error} (left out)")
        return False


def _scan(results: Path) -> Iterator[tuple[Path, bool]]:
    """Every run folder, and whether it has records."""
    waiting, seen = [results], set()
    with storage_errors(results, "read"):
        while waiting:
            folder = waiting.pop()
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                inside = list(entries)
            has_records = any(entry.name == RECORDS for entry in inside)
            if has_records or _lost_its_records(folder, {entry.name for entry in inside}):
                yield folder, has_records
            else:
                waiting.extend(Path(entry) for entry in inside if entry.name[0] != "." and entry.is_dir())


def _lost_its_records(folder: Path, names: set[str]) -> bool:
    """Whether a folder without records has other files of a run; a user's own `config.yaml` alone makes none."""
    return not names.isdisjoint(_MARKS) and (named_after(folder.name) is not None or len(names & _OTHERS) > 1)
