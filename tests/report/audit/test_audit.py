"""The audit as a command, from other packages, on real runs and on invented ones of all experiments."""

import json
import os
import subprocess
import sys

import pytest

from scorebo.cli import main
from scorebo.config import available
from scorebo.config.compose_many import Composer
from scorebo.errors import InputError
from scorebo.report.audit import CHECKS, audit
from scorebo.report.audit.base import NOTE, SERIOUS, WARNING, run_words
from scorebo.report.audit.text import runs_of
from scorebo.report.evidence import Evidence
from scorebo.report.query import Query
from scorebo.report.selection import experiment_runs
from scorebo.run.loop import execute
from scripts.validation.synthetic_results import make_results
from tests.report.audit.studies import change, findings, make, records_of, runs, store, well
from tests.runs import tiny_config

OWN = """\
from scorebo.report.audit import Check, Finding


def test(study):
    odd = study.runs.index[study.runs["seed"] % 2 == 1]
    yield Finding("warning", "Odd seeds.", "Take even ones.", frozenset(odd))


odd = Check("odd", "odd seeds", test)
"""


def test_nothing_found(results, capsys):
    assert main(["audit", "--results", str(results)]) == 0
    assert capsys.readouterr().out == "Nothing found (16 checks of 12 runs: all runs).\n"
    assert main(["audit", "--results", str(results), "--acquisition", "nei,mes", "--seeds", "1-2"]) == 0
    words = "runs selected by acquisition nei, mes; seeds 1-2"
    assert capsys.readouterr().out == f"Nothing found (16 checks of 4 runs: {words}).\n"


def test_what_is_found_is_told_with_runs_and_what_to_do(results, capsys):
    for seed in (1, 2):
        store(runs(results, "mes", seed)[0], records_of(runs(results, "nei", seed)[0]))
    (open_run,) = runs(results, "jes", 4)
    (open_run / "finished.json").unlink()
    assert main(["audit", "--results", str(results)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("✗ SERIOUS  identical\n    Runs of mes, nei on branin that differ in method have identical")
    assert "runs: branin under bo_lognormal: mes, nei, seeds 1–2\n" in said
    assert "    do: Find out why" in said
    assert said.endswith("1 serious, 1 warning (16 checks of 12 runs: all runs).\n")
    assert main(["audit", "--results", str(results), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found["checks"]) == list(CHECKS)
    assert [(each["check"], each["severity"]) for each in found["findings"]] == [
        ("identical", SERIOUS),
        ("unfinished", WARNING),
    ]
    (jes,) = found["findings"][1]["runs"]
    assert jes["run_id"].startswith(open_run.name.rpartition("-")[2])
    assert {k: jes[k] for k in ("benchmark", "model", "acquisition", "seed")} == {
        "benchmark": "branin",
        "model": "bo_lognormal",
        "acquisition": "jes",
        "seed": 4,
    }
    # The defect lies outside of what is asked for.
    assert main(["audit", "--results", str(results), "--acquisition", "nei,jes"]) == 0


def test_runs_in_few_words(results):
    table = audit(Evidence(results)).runs
    assert run_words(table) == "branin under bo_lognormal: jes, mes, nei, seeds 1–4"
    some = table[(table["acquisition"] != "mes") | (table["seed"] != 2)]
    assert (
        run_words(some)
        == "branin under bo_lognormal: jes, nei, seeds 1–4; branin under bo_lognormal: mes, seeds 1, 3–4"
    )
    assert run_words(some, shown=1).endswith("; and 1 more groups")


def test_a_check_of_ones_own(results, tmp_path, monkeypatch, capsys):
    (tmp_path / "my_checks.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "--results", str(results), "--check", "my_checks:odd"]) == 0
    assert "! WARNING  odd\n    Odd seeds.\n    runs: branin under bo_lognormal: jes, mes, nei, seeds 1, 3\n" in (
        capsys.readouterr().out
    )
    with pytest.raises(InputError, match=r"must be a scorebo\.report\.Check"):
        CHECKS["my_checks:test"]
    with pytest.raises(InputError, match="Allowed: beaten-optima"):
        CHECKS["odd"]


def test_several_folders(results, tmp_path):
    for folder in make(tmp_path / "mine", "benchmark=branin", "acquisition=nei_plain", "seed=range(1,5)"):
        change(folder, well)
    found = findings((results, tmp_path / "mine"), "unequal-settings")
    assert ["benchmark.total=20 (jes, mes, nei), 100 (nei_plain)" in each.what for each in found] == [True]


def test_which_runs_are_compared_with_each_other(results, capsys):
    for folder in make(results, "experiment=demo_bo", "seed=1"):
        change(folder, well)
    evidence = Evidence(results)
    assert audit(evidence).studies == ["experiment demo_bo at scale paper", "runs of no experiment"]
    alone = audit(evidence, chosen=[evidence.of("demo_bo")])
    assert alone.studies == ["experiment demo_bo at scale paper"]
    assert set(alone.runs["seed"]) == {1}
    assert audit(Evidence(Query(results, everything=True))).studies == ["all runs"]
    assert audit(Evidence(Query(results, "paper"))).studies == ["experiment demo_bo at scale paper"]
    assert main(["audit", "--results", str(results), "--experiment", "al_mll"]) == 2
    capsys.readouterr()


def test_torch_is_not_loaded(results):
    code = (
        "import sys; from scorebo.cli import main; "
        f"code = main(['audit', '--results', {str(results)!r}]); "
        "sys.exit(code or ('torch' in sys.modules) * 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_real_runs_of_several_methods_models_and_tasks(tmp_path):
    """Designs are equal by common random numbers, one task has no noise; but for the tiny samplers all is well."""
    for task in ("gramacy1", "branin"):
        for method in ("sal_hr", "bald", "nei_map", "sobol"):
            for seed in (1, 2):
                noise = ("benchmark.noise_std=0",) if task == "branin" else ()
                execute(tiny_config(tmp_path, task, method, f"seed={seed}", *noise))
    found = [each for each in findings(tmp_path) if each.check != "samplers"]
    assert [(each.check, each.severity) for each in found] == [("confounded-models", NOTE)] * 2
    for each, task, model in zip(found, ("branin", "gramacy1"), ("bo_lognormal", "al_lognormal"), strict=True):
        words = f"{task} under {model}: bald, sal_hr, sobol, seeds 1–2; {task} under map: nei_map, seeds 1–2"
        assert runs_of(audit(Evidence(tmp_path)), each) == words
    # With what they were computed is known and the same; that some were by other code is found.
    for folder in runs(tmp_path, "bald"):
        sessions = json.loads((folder / "environment.json").read_text())
        sessions["sessions"][-1]["packages"]["torch"] = "1.0"
        (folder / "environment.json").write_text(json.dumps(sessions))
    (found_now,) = findings(tmp_path, "mixed-software")
    assert "torch 1.0 for bald" in found_now.what


@pytest.mark.slow
def test_no_alarm_over_healthy_runs_of_all_experiments(tmp_path):
    composer, tasks = Composer(), available("benchmark")
    configs = {}
    for name in available("experiment"):
        if composer.experiment(name).get("benchmarks"):
            configs |= experiment_runs(name, "smoke", composer, tasks)
    make_results(tmp_path, configs.values())
    found = findings(tmp_path)
    # By itself NEI-MAP has its own model; one invented run in fifty is not well.
    assert {(each.check, each.severity) for each in found} <= {("confounded-models", NOTE), ("samplers", NOTE)}
    assert {"nei_map" in each.what for each in found if each.check == "confounded-models"} == {True}
