"""All runs below a folder as one tidy table."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.store.atomic import replacing, storage_errors
from scorebo.store.cache import Cache, Part, stamp_of
from scorebo.store.columns import WHO, run_columns, tidy_table
from scorebo.store.folder import check_format
from scorebo.store.identity import node_name, run_id, run_seed
from scorebo.store.markers import is_finished
from scorebo.store.records import parse_records, read_bytes
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.stored_config import read_config

if TYPE_CHECKING:
    import pandas as pd


def find_runs(results: Path) -> Iterator[Path]:
    """Every run folder (one with `records.jsonl`) at or below `results`, links followed, each folder once."""
    waiting, seen = [Path(results)], set()
    with storage_errors(results, "read"):
        while waiting:
            folder = waiting.pop()
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                inside = list(entries)
            if any(entry.name == "records.jsonl" for entry in inside):
                yield folder
            else:
                waiting.extend(Path(entry) for entry in inside if entry.name[0] != "." and entry.is_dir())


def collect(results: Path | str, *, fresh: bool = False, points: bool = True) -> pd.DataFrame:
    """One row per record: who (benchmark, model, acquisition, seed), when (iteration), what was measured, which run.

    `x` is a list in the task's units; `mcmc_…` are the sampler's scalar diagnostics; for the hyperparameters see
    `collect_hyperparameters`. What could not be read is left out and named in `table.attrs["problems"]`, a list of
    texts. What was read is kept in `results/.cache`, and runs whose files are as they were are taken from there.

    Args:
        results: root of the run folders.
        fresh: read every run, whatever is kept.
        points: False leaves out `x`, lists of numbers that take more time and memory than all other columns together.
    """
    problems: list[str] = []
    results = Path(results)
    cache = Cache(results, read=not fresh)
    found: list[tuple[dict[str, Any], Part]] = []
    for folder in find_runs(results):
        stamp = stamp_of(folder)
        part = cache.get(folder, stamp)
        if part is None:
            so_far = len(problems)
            part = _read_part(folder, problems)
            if part is not None and len(problems) == so_far:
                cache.put(folder, stamp, part)
        if part is not None:
            found.append(({**part.run, "folder": folder}, part))
    cache.save()
    found.sort(key=lambda run_and_part: _order(run_and_part[0]))
    runs = [run for run, _ in found]
    _refuse_duplicates(runs)
    if not any(len(part.table) for _, part in found):
        raise nothing_found(results, runs, problems, "no records")
    table = tidy_table(runs, [part.table for _, part in found], () if points else ("x",))
    table.attrs["problems"] = problems
    return table


def describe_runs(
    results: Path | str, problems: list[str], run_ids: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Every run at or below `results`, in the order of the tables; what is wrong with one is added to `problems`.

    With `run_ids` those alone; folders that are named after other runs are then not opened.
    """
    folders = find_runs(Path(results))
    if run_ids is not None:
        digits = {identity[:RUN_DIGITS] for identity in run_ids}
        folders = (folder for folder in folders if (named := _named_after(folder)) is None or named in digits)
    runs = [run for folder in folders if (run := _read_run(folder, problems))]
    _refuse_duplicates(runs)
    return sorted((run for run in runs if run_ids is None or run["run_id"] in run_ids), key=_order)


def _named_after(folder: Path) -> str | None:
    """The first digits of the id of the run that a folder is named after; None if it has another name."""
    digits = folder.name.rpartition("-")[2]
    return digits if folder.name.startswith("seed-") and len(digits) == RUN_DIGITS else None


def _order(run: dict[str, Any]) -> tuple[Any, ...]:
    return (*(run[name] for name in WHO), run["run_id"])


def nothing_found(results: Path | str, runs: list[Any], problems: list[str], lacking: str) -> InputError:
    """The error that says why a table would be empty."""
    found = f"The {len(runs)} runs in {results} have {lacking}" if runs else f"There are no runs in {results}"
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
    return Part({**run, "finished": finished, "run": folder.name}, run_columns(records))


def _read_run(folder: Path, problems: list[str]) -> dict[str, Any] | None:
    check_format(folder)
    try:
        config = read_config(folder / "config.yaml")
        identity = run_id(config)
        if _named_after(folder) not in (None, identity[:RUN_DIGITS]):
            raise InputError(f"{folder}: config.yaml is not that of the run the folder is named after")
        names = {node: node_name(config, node) for node in ("benchmark", "model", "acquisition")}
        return {**names, "seed": run_seed(config), "run_id": identity, "folder": folder}
    except InputError as error:
        problems.append(f"{error} (left out)")
        return None


def _refuse_duplicates(runs: list[dict[str, Any]]) -> None:
    folders: dict[str, Path] = {}
    for run in runs:
        other = folders.setdefault(run["run_id"], run["folder"])
        if other is not run["folder"]:
            raise InputError(
                f"Two folders hold the same run ({run['run_id'][:RUN_DIGITS]}): {other} and {run['folder']}. "
                "Remove one of them."
            )


def good_records(run: dict[str, Any], problems: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """The good records of a run, and whether it is finished."""
    folder = run["folder"]
    data = read_bytes(folder / "records.jsonl")
    records, _, problem = parse_records(data, run["run_id"][:RUN_DIGITS])
    if problem:
        problems.append(f"{folder}: records.jsonl {problem}; the {len(records)} records before it are used")
    return records, is_finished(folder, run["run_id"], data)
