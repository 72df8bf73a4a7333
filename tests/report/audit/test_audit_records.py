"""Repeated records, designs, noise and optima: each defect planted alone in a healthy study."""

import shutil

import pytest

from scorebo.report.audit.base import SERIOUS, WARNING
from scorebo.store.identity import read_config, run_id
from tests.report.audit.studies import METHODS, change, findings, make, only, records_of, runs, store, well


def ids(folders):
    return {run_id(read_config(folder / "config.yaml")) for folder in folders}


def test_nothing_is_found_in_a_healthy_study(results):
    assert findings(results) == []
    assert findings(results, everything=True) == []


def test_a_seed_without_effect(results):
    one, other = runs(results, "nei", 1) + runs(results, "nei", 3)
    store(other, records_of(one))
    found = findings(results)
    # The design of seed 3 is then not that of the other methods either.
    assert [each.check for each in found] == ["identical", "unequal-designs"]
    assert "differ in seed have identical records" in found[0].what
    assert found[0].runs == ids([one, other])
    assert found[1].runs == ids([other])


def test_a_method_without_effect(results):
    for seed in (1, 2):
        store(runs(results, "mes", seed)[0], records_of(runs(results, "nei", seed)[0]))
    found = only(results, "identical", SERIOUS)
    assert "Runs of mes, nei on branin that differ in method" in found.what
    assert found.runs == ids([*runs(results, "mes", "[12]"), *runs(results, "nei", "[12]")])


def test_a_run_that_has_not_ended_repeats_another(results):
    own = records_of(runs(results, "nei", 1)[0])
    (folder,) = runs(results, "mes", 1)
    store(folder, own[:9])
    (folder / "finished.json").unlink()
    assert [each.check for each in findings(results)] == ["identical", "unfinished"]


def test_an_override_without_effect(results):
    for seed in range(1, 5):
        base = records_of(runs(results, "nei", seed)[0])
        (more,) = make(
            results,
            "benchmark=branin",
            "acquisition=nei",
            f"seed={seed}",
            "benchmark.total=20",
            "acquisition.num_samples=64",
        )
        store(more, base)
    (found,) = findings(results, "identical")
    assert "differ in settings have identical records (acquisition.num_samples=" in found.what
    assert len(found.runs) == 8


def test_a_longer_run_may_repeat_a_shorter_one(results):
    (longer,) = make(results, "benchmark=branin", "acquisition=nei", "seed=1", "benchmark.total=30")
    change(longer, well)
    short = records_of(runs(results, "nei", 1)[0])
    store(longer, [*short[:20], *records_of(longer)[20:]])
    assert findings(results, "identical") == []


def test_designs_that_do_not_change_with_the_seed(results):
    design = records_of(runs(results, "nei", 1)[0])[:3]
    for folder in runs(results):
        store(folder, [*design, *records_of(folder)[3:]])
    found = only(results, "equal-designs", WARNING)
    assert len(found.runs) == 12


def test_values_on_a_plateau_are_no_design(results):
    for folder in runs(results):
        change(folder, lambda record: record.update(f=300.0, y=300.0) if record["kind"] == "initial" else None)
    assert findings(results) == []


@pytest.mark.parametrize(("field", "what"), [("f", "initial points or function values"), ("y", "noise at the same")])
def test_designs_and_noise_that_differ_between_methods(results, field, what):
    for folder in runs(results, "mes", "[12]"):
        change(folder, lambda record: record.update({field: record[field] + 0.1}) if record["iteration"] == 2 else None)
    found = only(results, "unequal-designs", SERIOUS)
    assert f"Runs of mes have other {what}" in found.what
    assert found.runs == ids(runs(results, "mes", "[12]"))


def test_rounding_and_failed_points_make_no_other_design(results):
    (one,), (other,) = runs(results, "mes", 1), runs(results, "mes", 2)
    change(one, lambda record: record["f"] and record.update(f=record["f"] * (1 + 1e-14), y=record["y"] * (1 - 1e-14)))
    failed = [{"x": [0.1, 0.1], "reason": "no power"}]
    change(other, lambda r: r.update(f=0.7, y=0.7, failed_points=failed) if r["iteration"] == 2 else None)
    assert findings(results) == []


def described(value, maximize=False):
    task = {"dim": 2, "maximize": maximize, "optimal_value": value}
    return lambda record: record.update(task=task) if record["iteration"] == 1 else None


@pytest.mark.parametrize(("maximize", "optimum"), [(False, -1.0), (True, 2.0)])
def test_an_optimum_that_was_beaten(results, maximize, optimum):
    for folder in runs(results):
        change(folder, described(optimum, maximize))
    assert findings(results) == []
    (folder,) = runs(results, "jes", 2)
    better = optimum + (0.25 if maximize else -0.25)
    change(folder, lambda record: record.update(f=better) if record["iteration"] == 9 else None)
    found = only(results, "beaten-optima", SERIOUS)
    assert "The optimal value of branin was beaten by up to 0.25" in found.what
    assert found.runs == ids([folder])


def test_a_recommendation_that_beats_the_optimum(results):
    for folder in runs(results):
        change(folder, described(-1.0))
    (folder,) = runs(results, "jes", 2)
    change(folder, lambda record: record.update(optimum_violation=0.5) if record["iteration"] == 12 else None)
    assert "by up to 0.5" in only(results, "beaten-optima", SERIOUS).what


def test_rounding_beats_no_optimum(results):
    lowest = min(record["f"] for folder in runs(results) for record in records_of(folder) if record["f"] is not None)
    for folder in runs(results):
        change(folder, described(lowest + 1e-10))
    assert findings(results) == []


def test_optima_that_differ_between_runs_of_a_seed(results):
    for method in METHODS:
        for folder in runs(results, method):
            change(folder, described(-1.0 if method == "nei" else -1.1))
    found = only(results, "unequal-optima", SERIOUS)
    assert "0.1 apart" in found.what
    assert len(found.runs) == 12


def test_every_seed_may_have_an_optimum_of_its_own(results):
    for folder in runs(results):
        change(folder, described(-float(folder.name.split("-")[1])))
    assert findings(results) == []


def test_copies_of_a_run_in_two_folders_are_one(results, tmp_path):
    shutil.copytree(results, tmp_path / "copy")
    assert findings((results, tmp_path / "copy")) == []
