"""Budgets, settings, models and versions that differ: each defect planted alone in a healthy study."""

import shutil

import pytest

from scorebo.report.audit.base import NOTE, SERIOUS, WARNING
from tests.report.audit.studies import STUDY, change, findings, make, only, runs, session, well

ONE = ("benchmark=branin", "seed=range(1,5)", "benchmark.total=20")


def again(results, method, *overrides):
    """The runs of a method computed anew with other settings, in place of those there are."""
    for folder in runs(results, method):
        shutil.rmtree(folder)
    for folder in make(results, *ONE[:2], f"acquisition={method}", *overrides):
        change(folder, well)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("benchmark.total=25", "benchmark.total=20 (jes, nei), 25 (mes)"),
        ("benchmark.noise_std=0.1", "benchmark.noise_std=0.5 (jes, nei), 0.1 (mes)"),
        ("benchmark.initial=5", "benchmark.initial=3 (jes, nei), 5 (mes)"),
        ("mcmc.thinning=4", "mcmc.thinning=16 (jes, nei), 4 (mes)"),
        ("acquisition_optimizer.maxiter=5", "acquisition_optimizer.maxiter=100 (jes, nei), 5 (mes)"),
    ],
)
def test_methods_with_unequal_settings(results, override, words):
    budget = [] if "total" in override else [ONE[2]]
    again(results, "mes", *budget, override)
    found = only(results, "unequal-settings", SERIOUS)
    assert words in found.what
    assert len(found.runs) == 12


def test_runs_of_one_name_with_different_settings(results):
    """Some seeds one budget, some another: of every method, so that no method has an advantage."""
    for folder in runs(results, seed="[34]"):
        shutil.rmtree(folder)
    for folder in make(results, *STUDY[:2], "seed=3,4", "benchmark.total=25"):
        change(folder, well)
    found = only(results, "unequal-settings", SERIOUS)
    assert "different settings from seed to seed: benchmark.total=20 and 25" in found.what


def test_a_sweep_over_a_setting(results):
    for folder in make(results, *STUDY[:3], "benchmark.total=25"):
        change(folder, well)
    assert "benchmark.total=20 and 25" in only(results, "unequal-settings", WARNING).what


def test_a_method_under_a_model_of_its_own(results):
    again(results, "mes", ONE[2], "model=botorch")
    found = only(results, "confounded-models", SERIOUS)
    assert "All runs of mes are under model botorch, those of jes, nei under bo_lognormal" in found.what


def test_a_model_that_the_method_names_itself(results):
    for folder in make(results, *ONE, "acquisition=nei_map"):
        change(folder, well)
    found = only(results, "confounded-models", NOTE)
    assert "nei_map" in found.what


def test_a_model_that_methods_share_confounds_nothing(results):
    for folder in make(results, *ONE, "acquisition=mes,jes", "model=botorch"):
        change(folder, well)
    assert findings(results) == []


def test_experiments_have_budgets_of_their_own(tmp_path):
    """Runs on one task that are of two experiments are compared within each of them."""
    folders = make(tmp_path, "experiment=al_mll", "scale=smoke", "benchmark=gramacy1,gramacy2", "seed=1,2,3")
    folders += make(tmp_path, "experiment=demo", "seed=1,2,3")
    for folder in folders:
        change(folder, well)
    found = findings(tmp_path)
    # Of the first, tasks are missing.
    assert [(each.check, each.severity) for each in found] == [("missing-seeds", NOTE)]
    assert {each.check for each in findings(tmp_path, everything=True)} == {"unequal-settings"}


def test_versions_of_a_node(results):
    for folder in runs(results, "nei", "[12]"):
        shutil.rmtree(folder)
    for folder in make(results, "benchmark=branin", "acquisition=nei", "seed=1,2", ONE[2], "acquisition.version=1"):
        change(folder, well)
    found = findings(results)
    assert [(each.check, each.severity) for each in found] == [
        ("mixed-versions", SERIOUS),
        ("outdated-versions", WARNING),
    ]
    assert "acquisition nei has several versions" in found[0].what
    assert "version 1 (2 runs), version 2 (2 runs)" in found[0].what
    assert "version 1 in 2 runs, version 2 in this installation" in found[1].what
    assert len(found[1].runs) == 2


def test_versions_of_what_all_methods_share(results):
    again(results, "mes", ONE[2], "acquisition_optimizer.version=1")
    found = findings(results)
    assert [each.check for each in found] == ["mixed-versions", "outdated-versions"]
    assert found[0].what.startswith("acquisition_optimizer has several versions")


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"commit": "b" * 40}, "different commits: bbbbbbbbbbbb for mes"),
        ({"torch": "2.12.0"}, "different packages: torch 2.12.0 for mes"),
        ({"dirty": True}, "different commits: aaaaaaaaaaaa (with changes) for mes"),
    ],
)
def test_methods_computed_with_different_software(results, other, what):
    for folder in runs(results):
        session(folder, **(other if "/mes/" in str(folder) else {}))
    assert what in only(results, "mixed-software", WARNING).what.replace("; ", " ")


def test_software_that_changed_on_the_way(results):
    for folder in runs(results):
        session(folder, commit=("b" if "seed-4" in folder.name else "a") * 40)
    found = only(results, "mixed-software", NOTE)
    assert "several commits: aaaaaaaaaaaa, bbbbbbbbbbbb" in found.what


def test_the_same_software(results):
    for folder in runs(results):
        session(folder)
    assert findings(results) == []
