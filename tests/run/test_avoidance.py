"""Evaluations that fail: a run stops at the first, or notes it and goes on with another point."""

import json
import math

import pytest
import torch

from scorebo.acquisition import Context
from scorebo.acquisition.strategy import Random
from scorebo.cli import main
from scorebo.config import as_dict, compose, load_benchmark, load_model
from scorebo.config.sweep import sweep_configs
from scorebo.errors import EvaluationError, InputError
from scorebo.inference import Carry
from scorebo.report.html.sections import failed_points_table
from scorebo.run.avoidance import MOST_FAILURES, fit_tried, propose, tried_points
from scorebo.run.loop import execute
from scorebo.run.replay import replay
from scorebo.store import RunStore, collect, read_records
from scorebo.store.ledger import read_ledger
from scorebo.transforms.standardize import DataTransform
from tests import bad_tasks
from tests.conftest import random_ensemble
from tests.runs import EVERY_THIRD_FIT_COLD, tiny_config, tiny_overrides, without_timings

TASK = ["benchmark._target_=tests.bad_tasks.Forbidden"]
AVOID = [*TASK, "on_failure=avoid", "benchmark.total=12", "mcmc.num_features=64", "mcmc.num_optima=2"]
SAMPLERS = {"nuts": (), "sequential": (*EVERY_THIRD_FIT_COLD, "mcmc.thinning=4")}


def folder_of(config):
    return RunStore(config["results"], config).folder


def records_of(config):
    return read_records(folder_of(config) / "records.jsonl").records


def comparable(config):
    return [json.dumps(without_timings(record), sort_keys=True) for record in records_of(config)]


def failed_in(records):
    return [point["x"] for record in records for point in record.get("failed_points", [])]


def is_forbidden(x):
    lower, upper = bad_tasks.Forbidden.bounds
    return 0.1 <= (x[0] - lower[0]) / (upper[0] - lower[0]) <= 0.7


class TestStop:
    def test_second_failure_at_the_same_point_names_the_way_out(self, tmp_path, capsys):
        command = ["run", "--quiet", *tiny_overrides(tmp_path, "gramacy1", "random", *TASK)]
        assert main(command) == 2
        first = capsys.readouterr().err
        assert "the mixture explodes" in first
        assert "on_failure" not in first
        for times in (2, 3):
            assert main(command) == 2
            message = capsys.readouterr().err
            assert f"This point has now failed {times} times for this reason" in message
            assert "with on_failure=avoid the run goes on with another point" in message
        entries = read_ledger(folder_of(tiny_config(tmp_path, "gramacy1", "random", *TASK)))
        assert len(entries) == 3
        assert len({json.dumps(entry["x"]) for entry in entries}) == 1

    def test_a_run_that_stopped_goes_on_with_avoid(self, tmp_path):
        config = tiny_config(tmp_path, "gramacy1", "random", *TASK)
        with pytest.raises(EvaluationError):
            execute(config)
        execute(config | {"on_failure": "avoid"})
        undisturbed = tiny_config(tmp_path / "undisturbed", "gramacy1", "random", *TASK, "on_failure=avoid")
        execute(undisturbed)
        assert comparable(config) == comparable(undisturbed)


@pytest.fixture(scope="module", params=[(a, s) for a in ("sal_hr", "scorebo_hr", "random") for s in SAMPLERS])
def avoiding(request, tmp_path_factory):
    acquisition, sampler = request.param
    settings = ("gramacy1", acquisition, *AVOID, *SAMPLERS[sampler])
    config = tiny_config(tmp_path_factory.mktemp("avoiding"), *settings)
    execute(config)
    records = records_of(config)
    assert any(r.get("failed_points") for r in records[:2]), "choose other settings"
    assert any(r.get("failed_points") for r in records[2:]), "choose other settings"
    return config, records, settings


class TestAvoid:
    def test_all_observations_are_made_away_from_the_failed_points(self, avoiding):
        _, records, _ = avoiding
        assert len(records) == 13
        failed = failed_in(records)
        assert all(map(is_forbidden, failed))
        assert len(set(map(tuple, failed))) == len(failed)
        assert not any(is_forbidden(record["x"]) for record in records[:-1])

    def test_records_count_and_scale_true_observations_alone(self, avoiding):
        _, records, _ = avoiding
        task = load_benchmark("gramacy1")
        for record in records[2:]:
            y = torch.tensor([r["y"] for r in records[: record["iteration"] - 1]], dtype=torch.float64)
            assert record["num_observations"] == len(y)
            assert record["best_observed"] == float(y.min())
            assert record["output_mean"] == float(y.mean())
        for record in records[:-1]:  # the noise is that of the iteration, however many points failed in it
            assert record["y"] == record["f"] + task.noise(1, record["iteration"])

    def test_the_design_goes_on_with_its_own_sequence(self, avoiding):
        records = avoiding[1][:2]
        tried = [x for r in records for x in [*(point["x"] for point in r.get("failed_points", [])), r["x"]]]
        longer = load_benchmark("gramacy1", initial=len(tried), total=50).initial_design(1)
        assert tried == longer.tolist()

    def test_stopped_after_every_number_of_evaluations_it_ends_bit_equal(self, avoiding, tmp_path, monkeypatch):
        """So it is stopped within iterations in which points have failed, too."""
        config, _, settings = avoiding
        pieces = tiny_config(tmp_path, *settings)
        observe, left = bad_tasks.Forbidden.observe, 0

        def interrupted(self, x, seed, index):
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return observe(self, x, seed, index)

        monkeypatch.setattr(bad_tasks.Forbidden, "observe", interrupted)
        for session in range(1, 30):
            left = session
            try:
                execute(pieces)
                break
            except KeyboardInterrupt:
                continue
        assert session > 3
        assert comparable(pieces) == comparable(config)

    def test_every_iteration_is_replayed_bit_equal(self, avoiding, monkeypatch):
        config, records, _ = avoiding
        for iteration in range(1, 14):
            assert replay(folder_of(config), iteration).differences == [], f"iteration {iteration}"
        assert records[-1]["metrics_failure"]  # of the test points in the region, which is replayed, too

    def test_they_are_visible_in_table_ledger_and_report(self, avoiding, capsys):
        config, records, _ = avoiding
        table = collect(config["results"])
        counts = [len(record.get("failed_points", [])) for record in records]
        assert table["num_failed_points"].tolist() == counts
        entries = [entry for entry in read_ledger(folder_of(config)) if entry["kind"] == "evaluation failed"]
        assert [entry["x"] for entry in entries] == failed_in(records)
        assert main(["failures", config["results"], "--json"]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        reason = "Task 'gramacy1' raised RuntimeError: the mixture explodes."
        listed = {line["kind"]: line["count"] for line in lines if line["reason"].startswith(reason)}
        assert listed["evaluation failed"] == sum(counts)
        assert listed["metrics failed"] >= 1
        assert f">{sum(counts)}</td>" in failed_points_table(table)
        assert failed_points_table(table.assign(num_failed_points=0)) == ""


def test_sequential_sampler_goes_on_through_failures(tmp_path):
    """Points are kept in the order they were tried, so that a fit finds the data of the one before."""
    settings = ("mcmc=sequential", "mcmc.refresh_every=100", "mcmc.refresh_fraction=null", "mcmc.num_mcmc_samples=8")
    config = tiny_config(tmp_path, "gramacy1", "sal_hr", *AVOID, *settings, "mcmc.warmup=100")
    execute(config)
    records = records_of(config)
    assert any(record.get("failed_points") for record in records[3:]), "choose other settings"
    assert sum(record["mcmc"]["refresh_reason"] is None for record in records[3:]) > 5
    for k, record in enumerate(records[3:], 3):
        if (
            record["mcmc"]["refresh_reason"] == "other data"
        ):  # with a new worst value all failed points have another one
            assert records[k - 1]["y"] == max(r["y"] for r in records[:k])
    (folder_of(config) / "checkpoint.json").unlink()
    for iteration in range(3, 14):
        assert replay(folder_of(config), iteration).differences == [], f"iteration {iteration}"


def test_partitions_are_sampled_through_failures(tmp_path, monkeypatch):
    observe, faults = bad_tasks.Benchmark.observe, [6, 7, 7]

    def failing(self, x, seed, index):
        if index in faults:
            faults.remove(index)
            raise RuntimeError("the mixture explodes")
        return observe(self, x, seed, index)

    monkeypatch.setattr(bad_tasks.Benchmark, "observe", failing)
    config = tiny_config(tmp_path, "addgp6", "nei", "benchmark.total=8", "mcmc.warmup=2", "on_failure=avoid")
    execute(config)
    records = records_of(config)
    assert [len(record.get("failed_points", [])) for record in records[5:]] == [1, 2, 0, 0]
    for iteration in (6, 7, 8, 9):
        assert replay(folder_of(config), iteration).differences == []


def test_a_failure_that_passes_is_replayed_from_its_record(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, "gramacy1", "random", "benchmark._target_=tests.bad_tasks.Forbidden",
                         "+benchmark.start=2.0", "+benchmark.end=3.0", "on_failure=avoid")  # fmt: skip
    observe, faults = bad_tasks.Forbidden.observe, 2

    def fragile(self, x, seed, index):
        nonlocal faults
        if index == 4 and faults:
            faults -= 1
            raise RuntimeError("the machine is on fire")
        return observe(self, x, seed, index)

    monkeypatch.setattr(bad_tasks.Forbidden, "observe", fragile)
    execute(config)
    assert [len(record.get("failed_points", [])) for record in records_of(config)] == [0, 0, 0, 2, 0, 0, 0]
    assert [replay(folder_of(config), k).differences for k in range(1, 8)] == [[]] * 7


def test_without_failures_records_are_those_of_a_run_that_would_stop(tmp_path):
    stop, avoid = (tiny_config(tmp_path / how, "gramacy1", "sal_hr", f"on_failure={how}") for how in ("stop", "avoid"))
    execute(stop)
    execute(avoid)
    assert comparable(stop) == comparable(avoid)
    assert RunStore(tmp_path, stop).run_id == RunStore(tmp_path, avoid).run_id
    assert not any({"failed_points", "metrics_failure"} & set(record) for record in records_of(stop))


def test_metrics_at_points_that_fail_change_no_query(tmp_path):
    often, seldom = (tiny_config(tmp_path / k, "gramacy1", "nei", *AVOID, f"metrics_every={k}") for k in ("1", "4"))
    execute(often)
    execute(seldom)
    assert [r["x"] for r in records_of(often)] == [r["x"] for r in records_of(seldom)]
    assert failed_in(records_of(often)) == failed_in(records_of(seldom))
    judged = records_of(often)[-1]
    assert judged["rmse"] is None
    assert math.isfinite(judged["inference_value"])


class TestEverythingFails:
    @pytest.mark.parametrize("first", [1, 4])
    def test_ends_with_a_clear_error(self, tmp_path, monkeypatch, capsys, first):
        observe = bad_tasks.Forbidden.observe

        def broken(self, x, seed, index):
            if index >= first:
                raise RuntimeError("the machine is on fire")
            return observe(self, x, seed, index)

        monkeypatch.setattr(bad_tasks.Forbidden, "observe", broken)
        command = ["run", "--quiet", *tiny_overrides(tmp_path, "gramacy1", "sal_hr", *AVOID)]
        assert main(command) == 2
        message = capsys.readouterr().err
        assert f"All {MOST_FAILURES} points tried in this iteration failed" in message
        assert "RuntimeError: the machine is on fire" in message
        folder = folder_of(tiny_config(tmp_path, "gramacy1", "sal_hr", *AVOID))
        assert len(read_records(folder / "records.jsonl").records) == first - 1
        entries = [entry for entry in read_ledger(folder) if entry["iteration"] == first]
        entries = [entry for entry in entries if entry["kind"] == "evaluation failed"]
        assert len({tuple(entry["x"]) for entry in entries}) == MOST_FAILURES
        assert main(["replay", str(folder), "--iteration", str(first)]) == 0
        assert f"iteration {first}: fails as it did" in capsys.readouterr().out


class TestModel:
    def fit(self, y, maximize):
        X, y = tried_points([([x], value) for x, value in zip((0.0, 1.0, 2.0, 4.0), y, strict=True)], 1)
        bounds = torch.tensor([[0.0], [4.0]], dtype=torch.float64)
        mcmc = as_dict(compose(["benchmark=gramacy1", "acquisition=random", "mcmc.sampler=map"]))["mcmc"]
        surrogate = load_model("bo_lognormal")
        model, transform = fit_tried(X, y, bounds, surrogate, mcmc, maximize=maximize, seed=1, carry=Carry())
        return model, transform, DataTransform.of(bounds, y[~y.isnan()], maximize=maximize, standardize=True)

    @pytest.mark.parametrize(("maximize", "worst"), [(True, 1.0), (False, 7.0)])
    def test_a_failed_point_has_the_worst_value_observed(self, maximize, worst):
        model, transform, of_observed = self.fit([3.0, None, 7.0, 1.0], maximize)
        assert model.train_X[:, 0].tolist() == [0.0, 0.25, 0.5, 1.0]
        expected = of_observed.to_model(torch.tensor([3.0, worst, 7.0, 1.0], dtype=torch.float64))
        assert torch.equal(model.train_Y.flatten(), expected)
        assert (transform.output_mean, transform.output_std) == (of_observed.output_mean, of_observed.output_std)

    def test_a_proposal_that_failed_is_replaced(self):
        context = Context(random_ensemble(1), torch.tensor([[0.0] * 2, [1.0] * 2], dtype=torch.float64), "task", 1, 5)
        first = Random().propose(context).x
        assert torch.equal(propose(Random(), context, torch.empty(0, 2, dtype=torch.float64)).x, first)
        assert torch.equal(propose(Random(), context, first[None] + 0.01).x, first)
        seen = [first]
        for count in range(1, 5):
            proposal = propose(Random(), context, torch.stack(seen) + 1e-9)
            assert proposal.num_fallbacks == 1
            assert bool(((proposal.x >= 0.0) & (proposal.x <= 1.0)).all())
            assert all(float((proposal.x - x).abs().max()) > 1e-3 for x in seen), count
            seen.append(proposal.x)


def test_settings_are_checked(tmp_path):
    with pytest.raises(InputError, match=r"Unknown on_failure 'ignore'\. Allowed: avoid, stop"):
        tiny_config(tmp_path, "gramacy1", "random", "on_failure=ignore")
    with pytest.raises(InputError, match="A sweep has one 'on_failure'"):
        sweep_configs(["benchmark=gramacy1", "acquisition=random", "on_failure=stop,avoid"])
