"""All runs of one or several folders and archives as one tidy table."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.files import replacing, storage_errors
from scorebo.store.cache import Cache, Part
from scorebo.store.columns import tidy_table
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.schema import WHO
from scorebo.store.sources import Sources, source_paths, sources_text, stored_runs
from scorebo.store.stored_run import FolderRun, StoredRun, named_after, refuse_conflict

if TYPE_CHECKING:
    import pandas as pd


def collect(results: Sources, *, fresh: bool = False, points: bool = True) -> pd.DataFrame:
    """One row per record: who (benchmark, model, acquisition, seed), when (iteration), what was measured, which run.

    `x` is a list in the task's units; `mcmc_…` are the sampler's scalar diagnostics; for the hyperparameters see
    `collect_hyperparameters`. What could not be read is left out and named in `table.attrs["problems"]`, a list of
    texts; `table.attrs["summaries"]` has the runs that are in single precision, `table.attrs["display"]` the display
    nodes by node and name. What was read is kept in `results/.cache`, and runs whose files are as they were are taken
    from there.

    Args:
        results: a folder of runs, an archive, or several of either. A run that is there twice counts once if both
            copies hold the same.
        fresh: read every run, whatever is kept.
        points: False leaves out `x`, lists of numbers that take more time and memory than all other columns together.
    """
    problems: list[str] = []
    found: list[dict[str, Any]] = []
    known: set[str] = set()
    # Folders first: archives need not be read of runs that are there.
    for source in sorted(source_paths(results), key=Path.is_file):
        found += _collect_source(source, problems, fresh, known)
    runs = _each_once(sorted(found, key=_order))
    if not any(len(run["part"].table) for run in runs):
        raise nothing_found(results, runs, problems, "no records")
    table = tidy_table(runs, [run["part"].table for run in runs], () if points else ("x",))
    table.attrs["problems"] = problems
    # Runs in single precision, by the first digits of their ids.
    table.attrs["summaries"] = [run["run_id"][:RUN_DIGITS] for run in runs if not run["stored"].exact]
    # By node and name; of runs that differ in it the last counts.
    table.attrs["display"] = {
        node: {run[node]: run["display"][node] for run in runs if node in run["display"]} for node in WHO[:-1]
    }
    return table


def _collect_source(source: Path, problems: list[str], fresh: bool, known: set[str]) -> list[dict[str, Any]]:
    """Every run of one source with its columns as `part`; of archived runs that are `known` already none are read."""
    cache = Cache(source, read=not fresh) if source.is_dir() else None
    found = []
    for run in stored_runs(source, problems):
        if not isinstance(run, FolderRun) and (about := run.describe())["run_id"] in known:
            found.append(about)  # to see whether it is a copy
        elif (part := _read_part(run, cache, problems)) is not None:
            found.append({**part.run, "stored": run, "part": part})
            if run.exact:
                known.add(str(part.run["run_id"]))
    if cache is not None:
        cache.save()
    return found


def _read_part(run: StoredRun, cache: Cache | None, problems: list[str]) -> Part | None:
    """What was kept of a run, or is read now; None, with a problem, if it cannot be."""
    stamp = run.stamp()
    part = cache.get(run.place, stamp) if cache is not None else None
    if part is not None:
        return part
    run.check_format()
    so_far = len(problems)
    try:
        part = run.part(problems)
    except InputError as error:
        problems.append(f"{error} (left out)")
        return None
    if cache is not None and len(problems) == so_far:
        cache.put(run.place, stamp, part, run.stamp())
    return part


def describe_runs(
    results: Sources, problems: list[str], run_ids: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Every run of `collect`, in the order of the tables; what is wrong with one is added to `problems`.

    With `run_ids` those alone; folders that are named after other runs are then not opened.
    """
    stored = (run for source in source_paths(results) for run in stored_runs(source, problems))
    if run_ids is not None:
        digits = {identity[:RUN_DIGITS] for identity in run_ids}
        stored = (run for run in stored if (named := named_after(run.name)) is None or named in digits)
    runs = [found for run in stored if (found := _describe(run, problems))]
    return _each_once(sorted((run for run in runs if run_ids is None or run["run_id"] in run_ids), key=_order))


def _describe(run: StoredRun, problems: list[str]) -> dict[str, Any] | None:
    run.check_format()
    try:
        return run.describe()
    except InputError as error:
        problems.append(f"{error} (left out)")
        return None


def _order(run: dict[str, Any]) -> tuple[Any, ...]:
    return (*(run[name] for name in WHO), run["run_id"], not run["stored"].exact)


def _each_once(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs without copies, of which the first counts; two with different content are refused."""
    first: dict[str, dict[str, Any]] = {}
    for run in runs:
        other = first.setdefault(run["run_id"], run)
        if other is not run:
            refuse_conflict(other["stored"], run["stored"])
    return list(first.values())


def find_run(run: str, results: Sources) -> StoredRun:
    """A run by its folder, by its place in an archive, or by the beginning of its id, looked for in `results`."""
    if (Path(run) / "config.yaml").exists():
        return FolderRun(Path(run))
    problems: list[str] = []
    archive = next((path for path in Path(run).parents if path.is_file()), None)
    if archive is not None:
        found = [each for each in stored_runs(archive, problems) if each.place == Path(run)]
    else:
        found = _with_beginning(run, results, problems) if run.isalnum() else []
    # Of copies an exact one.
    copies = {(each.name, each.content()): each for each in sorted(found, key=lambda each: each.exact)}
    if len(copies) == 1:
        return next(iter(copies.values()))
    if found:
        raise InputError(f"'{run}' begins the ids of {len(found)} runs: {', '.join(sorted(_places(found))[:5])}.")
    where, trouble = sources_text(results), f" ({'; '.join(problems)})" if problems else ""
    raise InputError(f"'{run}' is neither the folder of a run nor the beginning of the id of one in {where}{trouble}.")


def _with_beginning(run: str, results: Sources, problems: list[str]) -> list[StoredRun]:
    sources = [source for source in source_paths(results) if source.exists()]
    stored = [each for source in sources for each in stored_runs(source, problems, without_records=True)]
    named = [each for each in stored if each.name.rpartition("-")[2].startswith(run[:RUN_DIGITS])]
    return [each for each in named if each.describe()["run_id"].startswith(run)]


def _places(runs: Iterable[StoredRun]) -> list[str]:
    return [str(run.place) for run in runs]


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
