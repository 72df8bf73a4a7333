"""All runs below one or several folders as one tidy table."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.files import replacing, storage_errors
from scorebo.store.cache import Cache, Part, stamp_of
from scorebo.store.columns import run_columns, tidy_table
from scorebo.store.folder import check_format
from scorebo.store.identity import node_name, read_config, run_id, run_seed
from scorebo.store.lock import is_locked
from scorebo.store.markers import is_finished
from scorebo.store.records import parse_records, read_bytes
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.schema import NAMES, WHO

if TYPE_CHECKING:
    import pandas as pd


Sources = Path | str | Sequence[Path | str]

RECORDS = "records.jsonl"
# Of a run folder without records: one of the first, and, unless the folder is named after a run, another of the second.
_MARKS = {"config.yaml", "checkpoint.json", "finished.json"}
_OTHERS = {*_MARKS, "environment.json", "lock"}


def source_folders(results: Sources) -> tuple[Path, ...]:
    """The folders in which runs are looked for: one, or several whose runs are taken together."""
    return (Path(results),) if isinstance(results, Path | str) else tuple(map(Path, results))


def sources_text(results: Sources) -> str:
    """The folders in a message."""
    return " and ".join(map(str, source_folders(results)))


def find_runs(results: Path) -> Iterator[Path]:
    """Every run folder at or below `results`, links followed, each folder once; also one that has lost its records."""
    return (folder for folder, _ in _scan(Path(results)))


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
    return not names.isdisjoint(_MARKS) and (_named_after(folder) is not None or len(names & _OTHERS) > 1)


def _runs_with_records(results: Path, problems: list[str]) -> Iterator[Path]:
    """The run folders to read; one without records is a problem, unless a process has only just begun the run."""
    for folder, has_records in _scan(results):
        if has_records:
            yield folder
        elif not is_locked(folder / "lock"):
            problems.append(
                f"{folder}: records.jsonl is missing, so the run is left out. Put the file back; or run the same "
                "command again, which starts the run from the beginning; or delete the folder."
            )


def collect(results: Sources, *, fresh: bool = False, points: bool = True) -> pd.DataFrame:
    """One row per record: who (benchmark, model, acquisition, seed), when (iteration), what was measured, which run.

    `x` is a list in the task's units; `mcmc_…` are the sampler's scalar diagnostics; for the hyperparameters see
    `collect_hyperparameters`. What could not be read is left out and named in `table.attrs["problems"]`, a list of
    texts; `table.attrs["display"]` has the display nodes by node and name. What was read is kept in `results/.cache`,
    and runs whose files are as they were are taken from there.

    Args:
        results: root of the run folders, or several. A run that lies in two folders counts once if both hold the same.
        fresh: read every run, whatever is kept.
        points: False leaves out `x`, lists of numbers that take more time and memory than all other columns together.
    """
    problems: list[str] = []
    found: list[dict[str, Any]] = []
    for folder in source_folders(results):
        found += _collect_folder(folder, problems, fresh)
    runs = _each_once(sorted(found, key=_order))
    if not any(len(run["part"].table) for run in runs):
        raise nothing_found(results, runs, problems, "no records")
    table = tidy_table(runs, [run["part"].table for run in runs], () if points else ("x",))
    table.attrs["problems"] = problems
    # By node and name; of runs that differ in it the last counts.
    table.attrs["display"] = {
        node: {run[node]: run["display"][node] for run in runs if node in run["display"]} for node in WHO[:-1]
    }
    return table


def _collect_folder(results: Path, problems: list[str], fresh: bool) -> list[dict[str, Any]]:
    """Every run below one folder, with its columns as `part`."""
    cache = Cache(results, read=not fresh)
    found = []
    for folder in _runs_with_records(results, problems):
        stamp = stamp_of(folder)
        part = cache.get(folder, stamp)
        if part is None:
            so_far = len(problems)
            part = _read_part(folder, problems)
            if part is not None and len(problems) == so_far:
                cache.put(folder, stamp, part)
        if part is not None:
            found.append({**part.run, "folder": folder, "part": part})
    cache.save()
    return found


def describe_runs(
    results: Sources, problems: list[str], run_ids: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Every run of `collect`, in the order of the tables; what is wrong with one is added to `problems`.

    With `run_ids` those alone; folders that are named after other runs are then not opened.
    """
    folders = (folder for root in source_folders(results) for folder in _runs_with_records(root, problems))
    if run_ids is not None:
        digits = {identity[:RUN_DIGITS] for identity in run_ids}
        folders = (folder for folder in folders if (named := _named_after(folder)) is None or named in digits)
    runs = [run for folder in folders if (run := _read_run(folder, problems))]
    return _each_once(sorted((run for run in runs if run_ids is None or run["run_id"] in run_ids), key=_order))


def _named_after(folder: Path) -> str | None:
    """The first digits of the id of the run that a folder is named after; None if it has another name."""
    digits = folder.name.rpartition("-")[2]
    return digits if folder.name.startswith("seed-") and len(digits) == RUN_DIGITS else None


def _order(run: dict[str, Any]) -> tuple[Any, ...]:
    return (*(run[name] for name in WHO), run["run_id"])


def find_run(run: str, results: Path) -> Path:
    """The folder of a run: the folder itself, or the beginning of its id, looked for below `results`."""
    if (Path(run) / "config.yaml").exists():
        return Path(run)
    found = []
    if run.isalnum() and results.is_dir():
        named = [f for f in find_runs(results) if f.name.rpartition("-")[2].startswith(run[:RUN_DIGITS])]
        found = [f for f in named if run_id(read_config(f / "config.yaml")).startswith(run)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"'{run}' begins the ids of {len(found)} runs: {', '.join(map(str, sorted(found)[:5]))}.")
    raise InputError(f"'{run}' is neither the folder of a run nor the beginning of the id of one in {results}.")


def nothing_found(results: Sources, runs: list[Any], problems: list[str], lacking: str) -> InputError:
    """The error that says why a table would be empty."""
    where = sources_text(results)
    found = f"The {len(runs)} runs in {where} have {lacking}" if runs else f"There are no runs in {where}"
    return InputError(f"{found}{': ' + '; '.join(problems) if problems else '.'}")


def write_table(table: pd.DataFrame, out: Path | str) -> None:
    """Write a table as `.parquet` or `.csv` (there `x` is JSON text), replacing the file only when all is written."""
    out = Path(out)
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"Cannot write a table as '{out.name}'. Allowed endings: .parquet, .csv.")
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as temporary:
            if out.suffix == ".parquet":
                table.to_parquet(temporary, engine="pyarrow", index=False)
            else:
                if "x" in table:
                    table = table.assign(x=table["x"].map(_json_list, na_action="ignore"))
                table.to_csv(temporary, index=False)


def _json_list(x: Any) -> str:
    return json.dumps([float(value) for value in x])


def _read_part(folder: Path, problems: list[str]) -> Part | None:
    run = _read_run(folder, problems)
    if run is None:
        return None
    records, finished = good_records(run, problems)
    del run["folder"]
    task = (records[0].get("task") if records else None) or {}
    run |= {name: task.get(name) for name in ("maximize", "optimal_value")}
    return Part({**run, "finished": finished, "run": folder.name}, run_columns(records))


def _read_run(folder: Path, problems: list[str]) -> dict[str, Any] | None:
    check_format(folder)
    try:
        config = read_config(folder / "config.yaml")
        identity = run_id(config)
        if _named_after(folder) not in (None, identity[:RUN_DIGITS]):
            raise InputError(f"{folder}: config.yaml is not that of the run the folder is named after")
        names = {node: node_name(config, node) for node in NAMES}
        display = {node: config[node]["display"] for node in names if "display" in config[node]}
        return {**names, "seed": run_seed(config), "run_id": identity, "display": display, "folder": folder}
    except InputError as error:
        problems.append(f"{error} (left out)")
        return None


def _each_once(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs without copies; two folders that hold the same run with different content are refused."""
    first: dict[str, dict[str, Any]] = {}
    for run in runs:
        other = first.setdefault(run["run_id"], run)
        if other is not run and not _same_content(other["folder"], run["folder"]):
            raise InputError(
                f"Two folders hold the same run ({run['run_id'][:RUN_DIGITS]}) with different content: "
                f"{other['folder']} and {run['folder']}. Remove one of them."
            )
    return list(first.values())


def _same_content(folder: Path, other: Path) -> bool:
    names = (RECORDS, "finished.json")
    return folder.samefile(other) or all(read_bytes(folder / name) == read_bytes(other / name) for name in names)


def good_records(run: dict[str, Any], problems: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """The good records of a run, and whether it is finished."""
    folder = run["folder"]
    data = read_bytes(folder / RECORDS)
    records, _, problem = parse_records(data, run["run_id"][:RUN_DIGITS])
    if problem:
        problems.append(f"{folder}: records.jsonl {problem}; the {len(records)} records before it are used")
    return records, is_finished(folder, run["run_id"], data)
