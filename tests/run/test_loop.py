import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
import torch
from scipy.stats import yeojohnson_normmax

import scorebo
from scorebo.cli import main
from scorebo.config import load_benchmark
from scorebo.errors import InputError
from scorebo.gp import FullyBayesianGP
from scorebo.run import metrics
from scorebo.run.loop import Run, execute
from scorebo.run.replay import replay
from scorebo.store import RunStore, collect, collect_hyperparameters, read_records
from scorebo.transforms.standardize import DataTransform
from tests import bad_tasks
from tests.runs import EVERY_THIRD_FIT_COLD, tiny_config, tiny_overrides, without_timings

ACQUISITIONS = [
    "sal_hr",
    "sal_ws",
    "sal_kl",
    "sal_hr_mc",
    "sal_ws_mc",
    "sal_kl_mc",
    "sal_hr_exact",
    "sal_ws_exact",
    "bald",
    "bqbc",
    "qbmgp",
    "balm",
    "sobol",
    "random",
]


def records_of(config):
    return read_records(RunStore(config["results"], config).folder / "records.jsonl").records


def comparable(records):
    """Every number of the records bit for bit, timings apart."""
    return [json.dumps(without_timings(record), sort_keys=True) for record in records]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    config = tiny_config(tmp_path_factory.mktemp("finished"))
    execute(config)
    return config, records_of(config)


class TestRecords:
    def test_one_per_observation_and_a_closing_one(self, finished):
        _, records = finished
        assert [record["iteration"] for record in records] == [1, 2, 3, 4, 5, 6, 7]
        assert [record["kind"] for record in records] == ["initial"] * 2 + ["query"] * 4 + ["final"]
        assert [record["num_observations"] for record in records] == [None, None, 2, 3, 4, 5, 6]

    def test_initial_points_are_the_task_s_design_without_metrics(self, finished):
        config, records = finished
        task = scorebo.load_benchmark("gramacy1", total=6)
        for i, record in enumerate(records[:2]):
            assert record["x"] == task.initial_design(config["seed"])[i].tolist()
            assert all(record[name] is None for name in ("negative_mll", "nlpd", "rmse", "mcmc", "hyperparameters"))

    def test_the_first_record_describes_the_task(self, finished):
        _, records = finished
        assert records[0]["task"] == {"dim": 1, "maximize": False, "optimal_value": -0.8690111349894998}
        assert all("task" not in record for record in records[1:])

    def test_values_are_the_task_s_in_its_units(self, finished):
        config, records = finished
        task = scorebo.load_benchmark("gramacy1", total=6)
        for record in records[:-1]:
            true = float(task.evaluate_true(torch.tensor([record["x"]], dtype=torch.float64)))
            assert record["f"] == true
            assert record["y"] == true + task.noise(config["seed"], record["iteration"])

    def test_closing_record_has_a_model_but_no_query(self, finished):
        closing = finished[1][-1]
        assert closing["x"] is closing["y"] is closing["f"] is closing["acquisition_value"] is None
        assert math.isfinite(closing["negative_mll"])
        assert "acquisition" not in closing["wall_seconds"]

    def test_the_model_can_be_rebuilt_and_gives_the_stored_metrics_and_acquisition(self, finished):
        """Record k holds the model of observations 1 … k−1, its metrics, and its acquisition at query k."""
        config, records = finished
        task = scorebo.load_benchmark("gramacy1", total=6)
        for record in records[2:]:
            before = records[: record["num_observations"]]
            X = torch.tensor([r["x"] for r in before], dtype=torch.float64)
            y = torch.tensor([r["y"] for r in before], dtype=torch.float64)
            transform = DataTransform.of(task.bounds, y, maximize=False, standardize=True)
            assert (record["output_mean"], record["output_std"]) == (transform.output_mean, transform.output_std)
            assert record["output_mean"] == pytest.approx(float(y.mean()))
            sets = {
                name: torch.tensor(values, dtype=torch.float64) for name, values in record["hyperparameters"].items()
            }
            assert sets["lengthscale"].shape == (3, 1)
            model = FullyBayesianGP(
                transform.to_unit(X), transform.to_model(y), noise_floor=record["noise_floor"], **sets
            )
            quality = metrics.evaluate(model, task, transform, config["seed"], record["iteration"])
            assert quality["negative_mll"] == pytest.approx(record["negative_mll"], rel=1e-8)
            assert quality["nlpd"] == pytest.approx(record["nlpd"], rel=1e-8)
            assert quality["rmse"] == pytest.approx(record["rmse"], rel=1e-8)
            if record["x"] is not None:
                query = transform.to_unit(torch.tensor([[record["x"]]], dtype=torch.float64))
                value = scorebo.acquisition.SAL(model, distance="hellinger")(query)
                assert float(value) == pytest.approx(record["acquisition_value"], rel=1e-6)

    def test_phases_and_diagnostics_are_kept(self, finished):
        record = finished[1][3]
        assert (
            set(record["wall_seconds"]) == {"fit", "metrics", "acquisition", "evaluate"} == set(record["cpu_seconds"])
        )
        assert 0.0 < record["cpu_seconds"]["fit"] < 10 * record["wall_seconds"]["fit"]
        expected = {
            "divergences",
            "step_size",
            "tree_depth_mean",
            "ess_bulk",
            "rhat",
            "energy_bfmi",
            "gradient_evaluations",
        }
        assert expected <= set(record["mcmc"])


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    config = tiny_config(tmp_path_factory.mktemp("sparse"), "gramacy1", "sal_hr", "metrics_every=3")

    def interrupt(record, _):
        if record["iteration"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(config, interrupt)
    execute(config)
    return config, records_of(config)


class TestMetricsEvery:
    """With `metrics_every=3` the models of iterations 3, 6 and 7, the closing one, are judged."""

    MODEL_METRICS = (
        *(
            "has_metrics",
            "negative_mll",
            "negative_mll_task_units",
            "nlpd",
            "nlpd_task_units",
            "rmse",
            "jittered_blocks",
        ),
        *("inference_regret", "in_sample_inference_regret", "inference_value", "recommended_x"),
    )

    def test_records_are_those_of_a_run_with_all_metrics_but_for_them(self, finished, sparse):
        for full, found in zip(finished[1], sparse[1], strict=True):
            judged = found["iteration"] in (3, 6, 7)
            expected = full if judged or found["kind"] == "initial" else full | dict.fromkeys(self.MODEL_METRICS)
            if found["kind"] != "initial":
                expected = expected | {"has_metrics": judged}
            assert comparable([found]) == comparable([expected])
            assert found["kind"] == "initial" or "metrics" in found["wall_seconds"]

    def test_every_record_is_replayed(self, sparse):
        folder = RunStore(sparse[0]["results"], sparse[0]).folder
        assert [replay(folder, k).differences for k in range(1, 8)] == [[]] * 7

    def test_collected_and_drawn(self, sparse, tmp_path, capsys):
        table = collect(sparse[0]["results"])
        assert table["has_metrics"].astype(object).where(table["has_metrics"].notna(), None).tolist() == [
            *(None, None, True),
            *(False, False, True, True),
        ]
        results = sparse[0]["results"]
        assert main(["plot", "al-mll", "--results", results, "--all", "--out", str(tmp_path / "a.svg")]) == 0
        assert "left out" not in capsys.readouterr().out


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_every_acquisition_runs(acquisition, tmp_path):
    config = tiny_config(tmp_path, "gramacy2", acquisition, "benchmark.total=5")
    execute(config)
    records = records_of(config)
    assert len(records) == 6
    assert all(
        (record["acquisition_value"] is None) == (acquisition in ("sobol", "random")) for record in records[3:-1]
    )


@pytest.mark.parametrize("benchmark", ["gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al"])
def test_every_task_runs(benchmark, tmp_path):
    config = tiny_config(tmp_path, benchmark, "bald", "benchmark.total=9")
    execute(config)
    records = records_of(config)
    assert len(records) == 10
    assert math.isfinite(records[-1]["rmse"])


@pytest.mark.parametrize("model", ["al_lognormal_no_outputscale", "bo_lognormal", "botorch", "saas", "map"])
def test_every_model_runs(model, tmp_path):
    config = tiny_config(tmp_path, "gramacy1", "sal_ws", "benchmark.total=4", f"model={model}")
    execute(config)
    assert len(records_of(config)) == 5


def test_known_model_is_not_standardized(tmp_path):
    config = tiny_config(tmp_path, "gramacy1", "balm", "benchmark.total=4", "model=true", "model.lengthscale=[0.1]")
    execute(config)
    assert {(r["output_mean"], r["output_std"]) for r in records_of(config)[2:]} == {(0.0, 1.0)}


def test_acquisitions_share_design_and_noise(tmp_path):
    runs = []
    for acquisition in ("sobol", "random"):
        config = tiny_config(tmp_path, "gramacy1", acquisition)
        execute(config)
        runs.append(records_of(config))
    first, second = runs
    assert [r["x"] for r in first[:2]] == [r["x"] for r in second[:2]]
    assert first[3]["x"] != second[3]["x"]
    noise = [[r["y"] - r["f"] for r in run[:-1]] for run in runs]
    assert noise[0] == pytest.approx(noise[1], abs=1e-12)


class TestResuming:
    def test_finished_run_is_left_alone(self, finished):
        config, _ = finished
        path = RunStore(config["results"], config).folder / "records.jsonl"
        before = (path.read_bytes(), path.stat().st_mtime_ns)
        assert execute(config) is None
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before

    @pytest.mark.parametrize("stop", [1, 2, 3, 5, 6])
    def test_interrupted_run_ends_bit_equal(self, finished, tmp_path, stop):
        _, expected = finished
        config = tiny_config(tmp_path)

        def interrupt(record, _):
            if record["iteration"] == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            execute(config, interrupt)
        assert len(records_of(config)) == stop
        torch.rand(13)  # whatever happens in between
        execute(config)
        assert comparable(records_of(config)) == comparable(expected)

    def interrupted_everywhere(self, tmp_path, *settings):
        """The configuration of a run; stopped after every single record it has given the same records."""
        whole, pieces = (tiny_config(tmp_path / name, *settings) for name in ("whole", "pieces"))
        execute(whole)

        def interrupt(*_):
            raise KeyboardInterrupt

        for _ in range(len(records_of(whole))):
            with pytest.raises(KeyboardInterrupt):
                execute(pieces, interrupt)
        execute(pieces)
        assert comparable(records_of(pieces)) == comparable(records_of(whole))
        return whole

    def test_sequential_run_interrupted_everywhere_ends_bit_equal(self, tmp_path):
        """The sampler's state is in the checkpoint: stopped after every single record, the run is the same."""
        settings = ("gramacy1", "sal_hr", *EVERY_THIRD_FIT_COLD, "mcmc.thinning=4", "benchmark.total=9")
        whole = self.interrupted_everywhere(tmp_path, *settings)
        refresh_reason = [record["mcmc"]["refresh_reason"] for record in records_of(whole)[2:]]
        assert refresh_reason[0] == "first"
        assert None in refresh_reason
        assert "scheduled" in refresh_reason

    def test_additive_run_interrupted_everywhere_ends_bit_equal(self, tmp_path):
        """The chain's last partition is in the checkpoint; every record tells how many true pairs are split."""
        whole = self.interrupted_everywhere(tmp_path, "addgp6", "nei", "benchmark.total=8", "mcmc.warmup=2")
        records = records_of(whole)
        for record in records[5:]:
            split = [sum(g[i] != g[i + 1] for i in (0, 2, 4)) for g in record["hyperparameters"]["group"]]
            assert record["decomposition_error"] == pytest.approx(sum(split) / len(split))
            assert record["best_noiseless"] == max(r["f"] for r in records[: record["num_observations"]])
        assert records[0]["decomposition_error"] is None
        folder = RunStore(Path(whole["results"]), whole).folder
        assert replay(folder, 8).differences == []
        table = collect(whole["results"])
        assert table["decomposition_error"].notna().sum() == 4
        sets = collect_hyperparameters(whole["results"])
        assert sets["group_6"].between(1, 3).all()

    def test_warped_run_reports_in_the_tasks_own_units(self, tmp_path):
        """Outputs are transformed for the model alone: observations and regrets are as without."""
        config = tiny_config(tmp_path, "branin", "scorebo_hr", "model=warped", "mcmc.num_features=64")
        execute(config)
        records, task = records_of(config), load_benchmark("branin")
        for record in records[3:]:
            y = torch.tensor([r["y"] for r in records[: record["num_observations"]]], dtype=torch.float64)
            assert record["yeo_johnson_lambda"] == pytest.approx(float(yeojohnson_normmax(y.numpy())))
            assert record["best_observed"] == float(y.min())
            there = torch.tensor([record["recommended_x"]], dtype=torch.float64)
            assert record["inference_value"] == pytest.approx(float(task.evaluate_true(there)))
            assert record["rmse"] < 400.0  # Branin's values reach 308
            assert len(record["hyperparameters"]["concentration0"][0]) == 2

    def test_sequential_run_without_its_state_is_not_continued(self, tmp_path):
        config = tiny_config(tmp_path, "gramacy1", "sal_hr", "mcmc=sequential")

        def interrupt(record, _):
            if record["iteration"] == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            execute(config, interrupt)
        (RunStore(config["results"], config).folder / "checkpoint.json").unlink()
        with pytest.raises(InputError, match="sampler's state after iteration 4"):
            execute(config)

    def test_damaged_line_is_repaired_and_the_run_ends_bit_equal(self, finished, tmp_path, caplog):
        config, expected = finished
        config = {**config, "results": str(tmp_path / "copy")}
        shutil.copytree(finished[0]["results"], config["results"])
        path = RunStore(config["results"], config).folder / "records.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        lines[3] = lines[3].replace(b'"rmse":', b'"rmse":1', 1)
        path.write_bytes(b"".join(lines))
        execute(config)
        assert "Repaired" in caplog.text
        assert comparable(records_of(config)) == comparable(expected)

    def test_killed_process_resumes_bit_equal(self, finished, tmp_path):
        _, expected = finished
        command = [sys.executable, "-m", "scorebo", "run", *tiny_overrides(tmp_path)]
        config = tiny_config(tmp_path)
        path = RunStore(config["results"], config).folder / "records.jsonl"
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if path.exists() and path.read_bytes().count(b"\n") >= 3:
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert 3 <= len(records_of(config)) <= 7
        execute(config)
        assert comparable(records_of(config)) == comparable(expected)


class TestBadTasks:
    """A task of the user's own that misbehaves stops the run with a sentence; what was recorded stays."""

    def config(self, tmp_path, target):
        config = tiny_config(tmp_path)
        config["benchmark"]["_target_"] = f"tests.bad_tasks.{target}"
        return config

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("ReturnsNaN", "gramacy1.*(NaN|nan|finite)"),
            ("ReturnsWrongShape", "gramacy1.*shape"),
            ("Constant", "constant outputs cannot be standardized"),
            ("Missing", "cannot be made"),
            ("NotANumberObserved", "Observation 1 .* observed y = nan"),
            ("RaisesLate", "Task 'gramacy1' raised MemoryError: too many points"),
        ],
    )
    def test_is_explained(self, tmp_path, target, message):
        with pytest.raises(InputError, match=message):
            execute(self.config(tmp_path, target))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (("model=additive", "model.partitions.max_groups=2"), "must be at most the number of inputs, 1; got 2"),
            (("model=true", "model.lengthscale=[1.0,2.0]"), "has 2 lengthscales for 1 input dimensions"),
        ],
    )
    def test_a_model_of_other_inputs_is_refused_before_anything_is_observed(self, tmp_path, settings, message):
        with pytest.raises(InputError, match=message):
            execute(tiny_config(tmp_path, "gramacy1", "random", *settings))
        assert not any(tmp_path.rglob("*"))

    def test_fails_late_and_keeps_what_was_recorded(self, tmp_path):
        config = self.config(tmp_path, "FailsLate")
        with pytest.raises(InputError, match="gramacy1"):
            execute(config)
        assert len(records_of(config)) == 2

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            ("raise", "Task 'gramacy1' raised RuntimeError: the machine is on fire."),
            (math.nan, "Task 'gramacy1' returned nan at x"),
            (-math.inf, "Task 'gramacy1' returned -inf at x"),
        ],
    )
    def test_failed_evaluation_is_noted_and_the_run_goes_on_from_there(
        self, tmp_path, monkeypatch, capsys, fault, reason
    ):
        settings = ["gramacy1", "random", "benchmark.total=5", "benchmark._target_=tests.bad_tasks.Fragile"]
        undisturbed = tiny_config(tmp_path / "undisturbed", *settings)
        execute(undisturbed)
        command = ["run", "--quiet", *tiny_overrides(tmp_path, *settings)]
        config = tiny_config(tmp_path, *settings)
        folder = RunStore(tmp_path, config).folder

        monkeypatch.setattr(bad_tasks.Fragile, "fault", fault)
        for attempt in (1, 2):  # it fails as long as the function does
            assert main(command) == 2
            message = capsys.readouterr().err
            assert "Observation 4 at x = [" in message
            assert reason in message
            assert str(folder / "ledger.jsonl") in message
            assert "Traceback" not in message
            assert len(records_of(config)) == 3
            failures = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
            assert [failure["iteration"] for failure in failures] == attempt * [4]
            assert failures[-1]["reason"].startswith(reason)
            assert any("evaluate_true" in line for line in failures[-1]["traceback"])
        assert not RunStore(tmp_path, config).is_finished()

        monkeypatch.setattr(bad_tasks.Fragile, "fault", None)
        assert main(command) == 0
        assert comparable(records_of(config)) == comparable(records_of(undisturbed))
        assert failures[0]["x"] == records_of(config)[3]["x"]


def test_threads_and_versions_are_stored(finished):
    config, _ = finished
    environment = json.loads((RunStore(config["results"], config).folder / "environment.json").read_text())
    session = environment["sessions"][0]
    assert session["threads"] == 1
    for package in ("torch", "botorch", "nutpie"):
        assert session["packages"][package].split("+")[0] == metadata.version(package).split("+")[0]
    assert "git" in session
    assert session["machine"]["cpu_count"] >= 1


def test_identity_ignores_paths_threads_and_experiment(tmp_path):
    base = RunStore(tmp_path, tiny_config(tmp_path)).run_id
    same = tiny_config(
        tmp_path / "elsewhere", "gramacy1", "sal_hr", "threads=2", "metrics_every=2", "experiment=al_mll"
    )
    assert RunStore(tmp_path, same).run_id == base
    for change in (
        "seed=2",
        "mcmc.warmup=11",
        "model=botorch",
        "acquisition_optimizer.maxiter=11",
        "benchmark.noise_std=0.2",
    ):
        assert RunStore(tmp_path, tiny_config(tmp_path, "gramacy1", "sal_hr", change)).run_id != base


def test_run_needs_only_the_records_before(finished):
    config, records = finished
    again = Run(config).record(5, records[:4])
    assert comparable([again]) == comparable([records[4]])
