"""Samplers, fallbacks, stalls, missing and unfinished runs: each defect planted alone in a healthy study."""

import shutil

import pytest

from scorebo.report.audit.base import NOTE, SERIOUS, WARNING
from tests.report.audit.studies import change, findings, make, only, records_of, runs, store, well


def ill(record):
    if record.get("mcmc"):
        record["mcmc"]["rhat"] = 1.5


@pytest.mark.parametrize(("seeds", "severity"), [("1", NOTE), ("[12]", WARNING), ("[123]", SERIOUS)])
def test_unhealthy_samplers(results, seeds, severity):
    for folder in runs(results, "mes", seeds):
        change(folder, ill)
    found = only(results, "samplers", severity)
    assert f"mes on branin under bo_lognormal {len(found.runs)} of 4 ({18 * len(found.runs)} of 72 fits)" in found.what


def test_single_unhealthy_fits_of_short_runs_are_no_alarm(results):
    for folder in runs(results, "mes"):
        change(folder, lambda record: ill(record) if record["iteration"] in (7, 8) else None)
    assert len(only(results, "samplers", WARNING).runs) == 4
    for folder in runs(results, "mes", "[12]"):
        change(folder, well)
    assert len(only(results, "samplers", NOTE).runs) == 2


def in_iterations(few, change_of):
    """The change in every `few`-th iteration after the initial design."""
    return lambda record: change_of(record) if record["iteration"] > 3 and record["iteration"] % few == 0 else None


def fell_back(record):
    record["acquisition_fallbacks"] = 2


def was_replaced(record):
    record["mcmc"]["fallback"] = "map"


def was_retried(record):
    record["mcmc"]["retries"] = 1


def failed_before(record):
    record["failed_points"] = [{"x": [0.5, 0.5], "reason": "no power"}]


@pytest.mark.parametrize(
    ("what", "few", "severity", "words"),
    [
        (fell_back, 5, WARNING, "The acquisition fell back on something simpler in 22% of the iterations of mes"),
        (fell_back, 1, SERIOUS, "in 100% of the iterations of mes on branin (of the other methods 0.0%)"),
        (was_retried, 5, WARNING, "The sampler was retried in 22%"),
        (was_retried, 1, WARNING, "The sampler was retried in 100%"),
        (failed_before, 5, WARNING, "Evaluations failed and other points were taken in 22%"),
    ],
)
def test_fallbacks_that_hit_one_method(results, what, few, severity, words):
    for folder in runs(results, "mes"):
        change(folder, in_iterations(few, what))
    found = only(results, "fallbacks", severity)
    assert words in found.what
    assert len(found.runs) == 4


def test_a_replaced_sampler_is_a_fallback_and_unhealthy(results):
    for folder in runs(results, "mes"):
        change(folder, in_iterations(5, was_replaced))
    found = [(each.check, each.severity) for each in findings(results)]
    assert found == [("samplers", WARNING), ("fallbacks", WARNING)]


def test_fallbacks_that_hit_all_methods_alike_or_rarely(results):
    for folder in runs(results):
        change(folder, in_iterations(5, fell_back))
    found = findings(results)
    assert {(each.check, each.severity) for each in found} == {("fallbacks", NOTE)}
    for folder in runs(results):
        change(folder, lambda record: record.update(acquisition_fallbacks=int(record["iteration"] == 7)))
        if "/mes/" not in str(folder):
            change(folder, lambda record: record.update(acquisition_fallbacks=0))
    # 4 of 72 iterations are just noteworthy, 2 are not.
    assert [each.severity for each in findings(results)] == [WARNING]
    for folder in runs(results, "mes", "[12]"):
        change(folder, lambda record: record.update(acquisition_fallbacks=0))
    assert findings(results) == []


def test_two_fallbacks_in_few_iterations_are_no_pattern(tmp_path):
    for folder in make(tmp_path, "benchmark=branin", "acquisition=nei,mes", "seed=1,2", "benchmark.total=5"):
        change(folder, well)
        if "/mes/" in str(folder):
            change(folder, lambda record: record.update(acquisition_fallbacks=int(record["iteration"] == 5)))
    assert findings(tmp_path) == []


def same_value(record):
    if record["kind"] == "query" and record["iteration"] > 8:
        record.update(f=0.125)


def test_queries_that_repeat(results):
    for folder in runs(results, "mes", "[12]"):
        change(folder, same_value)
    found = only(results, "stalls", WARNING)
    assert "up to 12 times in a row" in found.what
    assert len(found.runs) == 2


def test_queries_that_repeat_on_a_task_without_noise(tmp_path):
    for folder in make(tmp_path, "benchmark=branin", "acquisition=nei,mes", "seed=1,2", "benchmark.noise_std=0"):
        change(folder, well)
        change(folder, lambda r: r.update(f=0.1, y=0.1) if r["kind"] == "query" and r["iteration"] > 60 else None)
    assert "on tasks without noise" in only(tmp_path, "stalls", NOTE).what


def test_a_model_that_is_not_fitted(results):
    (folder,) = runs(results, "mes", 1)
    change(folder, lambda r: r.update(negative_mll=0.5) if r["iteration"] > 12 else None)
    assert "same negative MLL in up to 9 iterations" in only(results, "stalls", WARNING).what


def test_an_iteration_that_hung(results):
    (folder,) = runs(results, "mes", 1)
    change(folder, lambda r: r["wall_seconds"].update(fit=7200.0) if r["iteration"] == 12 else None)
    assert "1 iterations took over 50 times the median of their runs, up to 2.0 h" in only(results, "stalls", NOTE).what


def remove(*folders):
    for folder in folders:
        shutil.rmtree(folder)


def test_seeds_that_a_method_lacks(results):
    remove(*runs(results, "mes", "[34]"))
    assert "Missing seeds: mes on branin 3–4." in only(results, "missing-seeds", WARNING).what


def test_methods_without_a_common_seed(results):
    remove(*runs(results, "mes", "[12]"), *runs(results, "nei", "[34]"), *runs(results, "jes", "[34]"))
    found = findings(results)
    assert [(each.check, each.severity) for each in found] == [("missing-seeds", SERIOUS), ("missing-seeds", WARNING)]
    assert found[0].what.startswith("mes share no seed")


def test_seeds_and_tasks_that_an_experiment_lacks(tmp_path):
    for folder in make(tmp_path, "experiment=demo_bo", "seed=1,2"):
        change(folder, well)
    found = only(tmp_path, "missing-seeds", NOTE)
    assert found.studies == ("experiment demo_bo at scale paper",)
    assert "Not all of the study has been run" in found.what
    assert " 3" in found.what
    remove(*runs(tmp_path, "jes"))
    assert "jes on" in only(tmp_path, "missing-seeds", NOTE).what
    (kept, *_) = {folder.parents[2].name for folder in runs(tmp_path)}
    remove(*(folder for folder in runs(tmp_path, "nei", 2) if folder.parents[2].name == kept))
    assert [each.severity for each in findings(tmp_path, experiment="demo_bo")] == [WARNING, NOTE]


def test_filters_leave_out_what_was_not_asked_for(tmp_path):
    for folder in make(tmp_path, "experiment=demo_bo", "seed=1,2"):
        change(folder, well)
    assert findings(tmp_path, experiment="demo_bo", seeds="1-2") == []


def test_runs_that_have_not_ended(results):
    (folder,) = runs(results, "mes", 4)
    store(folder, records_of(folder)[:10])
    (folder / "finished.json").unlink()
    assert "1 of 12 runs have not ended (mes 1)" in only(results, "unfinished", WARNING).what


def test_records_that_cannot_be_read(results):
    (folder,) = runs(results, "mes", 4)
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    lines[12] = lines[12].replace(b"1", b"2")
    (folder / "records.jsonl").write_bytes(b"".join(lines))
    found = findings(results)
    assert {each.check for each in found} == {"unfinished", "unreadable"}
    assert "records.jsonl" in next(each.what for each in found if each.check == "unreadable")
