"""Invented studies, healthy as they are made, in which one defect is planted at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scorebo.config.sweep import sweep_configs
from scorebo.report.audit import Finding, audit
from scorebo.report.evidence import Evidence
from scorebo.report.query import Query
from scorebo.store import RunStore
from scorebo.store.identity import read_config, run_id
from scorebo.store.records import read_records
from scripts.validation.synthetic_results import make_results, write_records

METHODS = ("nei", "mes", "jes")
STUDY = ("benchmark=branin", f"acquisition={','.join(METHODS)}", "seed=range(1,5)", "benchmark.total=20")


def make(results: Path, *overrides: str) -> list[Path]:
    """The folders of invented runs of a sweep."""
    configs = sweep_configs(overrides)
    make_results(results, configs)
    return [RunStore(results, config).folder for config in configs]


def healthy(results: Path) -> Path:
    """Three methods on Branin, four seeds, with samplers that are all well."""
    for folder in make(results, *STUDY):
        change(folder, well)
    return results


def well(record: dict[str, Any]) -> None:
    """A sampler without complaints."""
    if record.get("mcmc"):
        record["mcmc"] |= {"divergences": 0, "rhat": 1.01, "ess_bulk": 100.0}


def runs(results: Path, method: str = "*", seed: int | str = "*", task: str = "*") -> list[Path]:
    """The folders of the runs of a method and a seed."""
    return sorted(results.glob(f"{task}/*/{method}/seed-{seed}-*"))


def records_of(folder: Path) -> list[dict[str, Any]]:
    found = read_records(folder / "records.jsonl").records
    return [{key: value for key, value in record.items() if key != "checksum"} for record in found]


def store(folder: Path, records: Iterable[dict[str, Any]]) -> None:
    """Put records in place of those of a run."""
    own = run_id(read_config(folder / "config.yaml"))
    write_records(folder, own, [{**record, "run": own[:12]} for record in records])


def change(folder: Path, what: Callable[[dict[str, Any]], None]) -> None:
    """Change the records of a run one by one."""
    records = records_of(folder)
    for record in records:
        what(record)
    store(folder, records)


def session(folder: Path, *, commit: str = "a" * 40, dirty: bool = False, **packages: str) -> None:
    """Say what a run was computed with."""
    found = {"git": {"commit": commit, "dirty": dirty}, "python": "3.11.9", "packages": {"torch": "2.13.0"} | packages}
    (folder / "environment.json").write_text(json.dumps({"sessions": [found | {"machine": {"cpu": "Fast"}}]}))


def findings(results: Path, check: str | None = None, **query: Any) -> list[Finding]:
    """What the audit finds in a folder, or one of its checks does."""
    found = audit(Evidence(Query(results, **query))).findings
    return [finding for finding in found if check in (None, finding.check)]


def only(results: Path, check: str, severity: str, **query: Any) -> Finding:
    """The one finding there is: planted defects must not set off other checks."""
    found = findings(results, **query)
    assert [(each.check, each.severity) for each in found] == [(check, severity)], found
    return found[0]
