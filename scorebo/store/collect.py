"""All runs below a folder as one tidy table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorebo.errors import InputError
from scorebo.store.atomic import replacing, storage_errors
from scorebo.store.identity import node_name, run_id, run_seed
from scorebo.store.markers import is_finished
from scorebo.store.records import parse_records, read_bytes
from scorebo.store.resume import RUN_DIGITS
from scorebo.store.stored_config import read_config

if TYPE_CHECKING:
    import pandas as pd

WHO = ("benchmark", "model", "acquisition", "seed")
_WHAT = ("iteration", "kind", "num_observations", "x")
_OPTIMISATION = (
    *("inference_regret", "in_sample_inference_regret", "simple_regret"),
    *("best_observed", "inference_value", "optimum_violation"),
)
_FLOATS = ("y", "f", "negative_mll", "nlpd", "rmse", *_OPTIMISATION, "acquisition_value")
_PHASES = ("fit", "metrics", "acquisition", "evaluate")


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


def collect(results: Path | str) -> pd.DataFrame:
    """One row per record: who (benchmark, model, acquisition, seed), when (iteration), what was measured, which run.

    `x` is a list in the task's units; `mcmc_…` are the sampler's scalar diagnostics; for the hyperparameters see
    `collect_hyperparameters`. What could not be read is left out and named in `table.attrs["problems"]`, a list of
    texts.
    """
    problems: list[str] = []
    runs = describe_runs(results, problems)
    columns: dict[str, list[Any]] = {}
    rows = 0
    for run in runs:
        part = _columns(run, problems)
        count = len(part["iteration"])
        for name in columns.keys() | part.keys():
            columns.setdefault(name, [None] * rows).extend(part.get(name) or [None] * count)
        rows += count
    if not rows:
        raise nothing_found(results, runs, problems, "no records")
    return _table(columns, problems)


def describe_runs(results: Path | str, problems: list[str]) -> list[dict[str, Any]]:
    """Every run at or below `results`, in the order of the tables; what is wrong with one is added to `problems`."""
    runs = [run for folder in find_runs(Path(results)) if (run := _read_run(folder, problems))]
    _refuse_duplicates(runs)
    return sorted(runs, key=lambda run: (*(run[name] for name in WHO), run["run_id"]))


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


def _read_run(folder: Path, problems: list[str]) -> dict[str, Any] | None:
    try:
        config = read_config(folder / "config.yaml")
        identity = run_id(config)
        digits = folder.name.rpartition("-")[2]
        if folder.name.startswith("seed-") and len(digits) == RUN_DIGITS and digits != identity[:RUN_DIGITS]:
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


def good_records(
    run: dict[str, Any], problems: list[str], leave_out: str | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The good records of a run, without the field `leave_out`, and whether it is finished."""
    folder = run["folder"]
    data = read_bytes(folder / "records.jsonl")
    records, _, problem = parse_records(data, run["run_id"][:RUN_DIGITS], leave_out)
    if problem:
        problems.append(f"{folder}: records.jsonl {problem}; the {len(records)} records before it are used")
    return records, is_finished(folder, run["run_id"], data)


def _columns(run: dict[str, Any], problems: list[str]) -> dict[str, list[Any]]:
    """The columns of one run, all of the same length."""
    records, finished = good_records(run, problems, leave_out="hyperparameters")
    seconds = [record.get("seconds") or {} for record in records]
    mcmc = [record.get("mcmc") or {} for record in records]
    scalars = {name for item in mcmc for name, value in item.items() if not isinstance(value, list | dict)}
    same = {name: run[name] for name in WHO} | {"finished": finished, "run_id": run["run_id"]}
    same["run"] = run["folder"].name
    return {
        **{name: [value] * len(records) for name, value in same.items()},
        **{name: [record.get(name) for record in records] for name in (*_WHAT, *_FLOATS)},
        **{f"seconds_{phase}": [item.get(phase) for item in seconds] for phase in _PHASES},
        **{f"mcmc_{name}": [item.get(name) for item in mcmc] for name in scalars},
    }


def _table(columns: dict[str, list[Any]], problems: list[str]) -> pd.DataFrame:
    import pandas as pd

    mcmc = sorted(name for name in columns if name.startswith("mcmc_"))
    order = [*WHO, *_WHAT, *_FLOATS, *(f"seconds_{phase}" for phase in _PHASES), *mcmc, "finished", "run_id", "run"]
    table = pd.DataFrame({name: _series(name, columns.pop(name)) for name in order})
    table.attrs["problems"] = problems
    return table


def _series(name: str, values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(values, dtype=_dtype(name, values))


def _dtype(name: str, values: list[Any]) -> Any:
    """Whole numbers stay whole where some are missing; what is missing among floats is NaN."""
    if name in _FLOATS or name.startswith("seconds_"):
        return "float64"
    kinds = set(map(type, values)) - {type(None)}
    if name == "num_observations":
        return "Int64"  # whether or not the table happens to hold an initial record
    if name == "x" or not kinds:
        return object
    if kinds == {bool}:
        return "bool" if None not in values else "boolean"
    if kinds == {int}:
        return "int64" if None not in values else "Int64"
    if kinds <= {int, float}:
        return "float64"
    return "str" if kinds == {str} else object
