"""What is done with whole archives: list, verify, merge, extract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scorebo.errors import InputError
from scorebo.files import storage_errors, write_atomically
from scorebo.store.archive.file import DamagedError, check_body
from scorebo.store.archive.read import Archive, ArchivedRun
from scorebo.store.archive.write import Row, files_of, write_archive
from scorebo.store.identity import run_id
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.sources import archives_in
from scorebo.store.stored_run import ENVIRONMENT, FILES, FINISHED, RECORDS, FolderRun, refuse_conflict


class Contents(NamedTuple):
    """What is in an archive, as its metadata tell."""

    path: Path
    kind: str
    experiment: str | None
    scale: str | None
    runs: int
    iterations: int
    bytes: int
    commits: list[str]
    version: str
    tasks: list[str]
    methods: list[str]
    seeds: str
    folders: list[str]


def archive_paths(paths: Iterable[Path], problems: list[str]) -> list[Path]:
    """The archives that are named, and those in the folders that are."""
    found = [each for path in paths for each in (archives_in(path, problems) if path.is_dir() else [path])]
    if not found and not problems:
        raise InputError(f"There is no archive in {' and '.join(map(str, paths))}.")
    return found


def contents(paths: Iterable[Path], problems: list[str]) -> list[Contents]:
    """What is in archives; of one that is damaged why it cannot be told."""
    found = []
    for path in archive_paths(paths, problems):
        try:
            found.append(_contents(Archive(path)))
        except DamagedError as error:
            problems.append(str(error))
    return found


def _contents(archive: Archive) -> Contents:
    names = [folder.split("/") for folder in archive.folders]
    return Contents(
        path=archive.path,
        kind=archive.kind,
        experiment=archive.about.get("experiment"),
        scale=archive.about.get("scale"),
        runs=len(names),
        iterations=sum(records for _, _, records in archive.about["runs"]),
        bytes=archive.path.stat().st_size,
        commits=archive.about["commits"],
        version=archive.about["version"],
        tasks=sorted({benchmark for benchmark, *_ in names}),
        methods=sorted({acquisition for _, _, acquisition, _ in names}),
        seeds=seeds_text({seed for _, seed, _ in archive.about["runs"]}),
        folders=archive.folders,
    )


def seeds_text(seeds: Iterable[int]) -> str:
    """Seeds as ranges, as `--seeds` takes them."""
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def describe(found: Sequence[Contents]) -> str:
    """A paragraph for each archive."""
    return "\n".join(
        f"{each.path}\n"
        f"  {each.kind}, {each.runs} runs, {each.iterations} iterations, {each.bytes / 1e6:.2f} MB\n"
        f"  experiment  {each.experiment or '–'}{f' at scale {each.scale}' if each.scale else ''}\n"
        f"  tasks       {', '.join(each.tasks)}\n"
        f"  methods     {', '.join(each.methods)}\n"
        f"  seeds       {each.seeds}\n"
        f"  commit      {', '.join(commit[:RUN_DIGITS] for commit in each.commits)} (scorebo {each.version})"
        for each in found
    )


def archived_runs(paths: Iterable[Path], problems: list[str]) -> Iterator[ArchivedRun]:
    """The runs of archives that can be read; what cannot is named in `problems`."""
    for path in archive_paths(paths, problems):
        try:
            archive = Archive(path)
        except DamagedError as error:
            problems.append(str(error))
            continue
        yield from archive.runs(problems)


def verify(paths: Iterable[Path], problems: list[str]) -> list[ArchivedRun]:
    """The runs all of whose checksums match; what does not is named in `problems`."""
    good = []
    for path in archive_paths(paths, problems):
        try:
            check_body(path)
        except DamagedError as error:
            problems.append(str(error))
    for run in archived_runs(paths, problems):
        try:
            check_run(run)
            good.append(run)
        except InputError as error:
            problems.append(str(error))
    problems[:] = dict.fromkeys(problems)
    return good


def check_run(run: ArchivedRun) -> None:
    """Refuse a run that does not match its checksums, or is not the run that it is said to be."""
    for file in files_of(run.archive.kind):
        run.read(file)
    identity = run.head["run_id"]
    if run_id(run.config()) != identity:
        raise DamagedError(f"{run.place} is damaged: its configuration is not that of the run")
    if not run.exact:
        run.columns()
    else:
        reading, finished = run.reading(identity)
        if not finished or reading.problem or len(reading.records) != run.head["records"]:
            raise DamagedError(f"{run.place} is damaged: its records are not those of a finished run")


def merge(paths: Sequence[Path], out: Path, problems: list[str]) -> tuple[int, int]:
    """Make one archive of several of one kind, copies once; returns how many runs it has, and how many were given."""
    archives = [Archive(path) for path in archive_paths(paths, problems)]
    kinds = {archive.kind for archive in archives}
    if len(kinds) != 1:
        raise InputError("Full archives and summaries cannot be merged with one another: merge those of a kind.")
    about = {name: _joined(archive.about.get(name) for archive in archives) for name in ("experiment", "scale")}
    given: list[ArchivedRun] = []
    runs, _ = write_archive(out, _rows_once(archives, given, problems), kinds.pop(), about)
    return runs, len(given)


def _rows_once(archives: Iterable[Archive], given: list[ArchivedRun], problems: list[str]) -> Iterator[Row]:
    """The rows of all runs, of copies the first that is whole; those that are looked at are added to `given`."""
    first: dict[str, ArchivedRun] = {}
    for run in (run for archive in archives for run in archive.runs(problems)):
        given.append(run)
        identity = run.head["run_id"]
        if identity in first:
            refuse_conflict(first[identity], run)
            continue
        try:
            row = _row_as_it_is(run)
        except DamagedError as error:
            problems.append(f"{error} (left out)")
            continue
        first[identity] = run
        yield row


def _row_as_it_is(run: ArchivedRun) -> Row:
    files = {file: data for file in files_of(run.archive.kind) if (data := run.read(file))}
    head = {name: value for name, value in run.head.items() if name != "columns"}
    return Row(head, files, None if run.exact else run.columns())


def _joined(values: Iterable[str | None]) -> str | None:
    """The texts that there are, each once."""
    return ",".join(sorted({part for value in values if value for part in value.split(",")})) or None


def extract(paths: Sequence[Path], results: Path, problems: list[str]) -> tuple[int, int]:
    """Restore run folders, byte for byte; returns how many, and how many were there already.

    A folder that is there with another content is left alone, and named.
    """
    restored = there = 0
    for run in archived_runs(paths, problems):
        try:
            if not run.exact:
                raise InputError(f"{run.archive.path} is a summary: it has no records that could be restored.")
            check_run(run)
        except DamagedError as error:
            problems.append(f"{error} (left out)")
            continue
        folder = results / run.head["folder"]
        if (folder / RECORDS).exists():
            if FolderRun(folder).content() == run.content():
                there += 1
            else:
                problems.append(f"{folder} is there with another content than {run.place}; it was left alone")
            continue
        _restore(run, folder)
        restored += 1
    return restored, there


def _restore(run: ArchivedRun, folder: Path) -> None:
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # The environment first, which names the format, and the marker last: what is broken off is not finished.
    for file in sorted(FILES, key=lambda file: (file == FINISHED, file != ENVIRONMENT)):
        if data := run.read(file):
            write_atomically(folder / file, data)
