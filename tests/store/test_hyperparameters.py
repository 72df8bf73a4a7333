from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import yeojohnson
from store_samples import make_config, make_record, make_run

import scorebo
from scorebo.errors import InputError
from scorebo.run.loop import execute
from scorebo.store import RunStore, collect_hyperparameters, in_task_units, read_records, write_table
from scorebo.transforms.standardize import DataTransform
from tests.runs import tiny_config

WHEN = ["benchmark", "model", "acquisition", "seed", "iteration", "num_observations", "sample"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run in two dimensions, one in one, and one that has no model yet."""
    folder = tmp_path_factory.mktemp("results")
    for task, seed in (("branin", 1), ("gramacy1", 1)):
        execute(tiny_config(folder, task, "random", f"seed={seed}", "benchmark.total=4"))
    make_run(folder, make_config(seed=9), 2)
    return folder


def records_of(results, task):
    config = tiny_config(results, task, "random", "seed=1", "benchmark.total=4")
    return read_records(RunStore(results, config).folder / "records.jsonl").records


def test_one_row_for_each_set_with_these_columns(results):
    table = collect_hyperparameters(results)
    parameters = ["lengthscale_1", "lengthscale_2", "mean", "noise", "outputscale"]
    assert list(table.columns) == [*WHEN, *parameters, "finished", "run_id", "run"]
    groups = table.groupby(["benchmark", "iteration"]).size().to_dict()
    # 4 observations, 3 or 2 of them initial: models at iterations 4, 5 and 3, 4, 5, each with 3 sets.
    assert groups == {("branin", 4): 3, ("branin", 5): 3, **{("gramacy1", k): 3 for k in (3, 4, 5)}}
    assert table["sample"].tolist() == 5 * [1, 2, 3]
    assert (table["num_observations"] == table["iteration"] - 1).all()
    assert table["finished"].all()
    one_dimensional = table["benchmark"] == "gramacy1"
    assert table.loc[one_dimensional, "lengthscale_2"].isna().all()
    assert not table.loc[~one_dimensional].isna().any(axis=None)


@pytest.mark.parametrize("task", ["branin", "gramacy1"])
def test_values_are_those_of_the_records_in_the_tasks_units(results, task):
    table = collect_hyperparameters(results).query("benchmark == @task")
    for record in records_of(results, task):
        if record["hyperparameters"] is None:
            continue
        rows = table[table["iteration"] == record["iteration"]]
        sampled, std = record["hyperparameters"], record["output_std"]
        assert rows["lengthscale_1"].tolist() == [values[0] for values in sampled["lengthscale"]]
        assert rows["outputscale"].tolist() == pytest.approx([std**2 * value for value in sampled["outputscale"]])
        assert rows["noise"].tolist() == pytest.approx([std**2 * value for value in sampled["noise"]])
        # Both tasks are minimized: the model's mean is that of the outputs with their sign turned.
        assert rows["mean"].tolist() == pytest.approx(
            [record["output_mean"] - std * value for value in sampled["mean"]]
        )


def test_a_scaled_task_has_the_same_hyperparameters_in_its_own_units():
    """Of 5 − 7y the variances are 49 times those of y and the mean is 5 − 7 times it, however standardized between."""
    X = torch.rand(20, 2, dtype=torch.float64)
    y = torch.sin(5 * X.sum(-1))
    box = torch.tensor([[0.0] * 2, [1.0] * 2])
    found = []
    for outputs, maximize in ((y, True), (5.0 - 7.0 * y, False)):
        transform = DataTransform.of(box, outputs, maximize=maximize, standardize=True)
        model = scorebo.fit_gp(X, transform.to_model(outputs), model="map")
        sampled = {name: getattr(model, name) for name in ("lengthscale", "outputscale", "noise", "mean")}
        found.append(in_task_units(sampled, transform.output_mean, transform.output_std, transform.sign))
    for name in ("outputscale", "noise"):
        assert found[1][name] == pytest.approx(49.0 * found[0][name], rel=1e-6)
    assert found[1]["mean"] == pytest.approx(5.0 - 7.0 * found[0]["mean"], rel=1e-6)
    assert found[1]["lengthscale"] == pytest.approx(found[0]["lengthscale"], rel=1e-6)


def test_the_mean_under_transformed_outputs_is_one_of_the_tasks_outputs(tmp_path):
    """Also where the power is most unlike 1; variances are those of the transformed outputs."""
    execute(tiny_config(tmp_path, "rosenbrock2", "random", "model=warped", "benchmark.total=4"))
    table = collect_hyperparameters(tmp_path)
    config = tiny_config(tmp_path, "rosenbrock2", "random", "model=warped", "benchmark.total=4")
    for record in read_records(RunStore(tmp_path, config).folder / "records.jsonl").records[3:]:
        rows = table[table["iteration"] == record["iteration"]]
        assert abs(record["yeo_johnson_lambda"] - 1.0) > 0.1
        transformed = yeojohnson(rows["mean"].to_numpy(), record["yeo_johnson_lambda"])
        seen = -(transformed - record["output_mean"]) / record["output_std"]
        np.testing.assert_allclose(seen, record["hyperparameters"]["mean"], rtol=1e-8, atol=1e-8)
        variance = record["output_std"] ** 2 * np.array(record["hyperparameters"]["noise"])
        np.testing.assert_allclose(rows["noise"], variance)


def test_tables_read_back_the_same(results, tmp_path):
    table = collect_hyperparameters(results)
    write_table(table, tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), table, check_exact=True)
    write_table(table, tmp_path / "table.csv")
    back = pd.read_csv(tmp_path / "table.csv")
    np.testing.assert_allclose(back["outputscale"], table["outputscale"], rtol=1e-15)


def test_other_hyperparameters_are_kept_in_the_order_of_their_numbers(tmp_path):
    own = {"warp": [[0.1 * k for k in range(12)]], "noise": [2.0]}
    scale = {"output_mean": 0.0, "output_std": 3.0}
    with RunStore(tmp_path, make_config()) as store:
        store.resume()
        for k in (1, 2):
            store.append(make_record(k))
        record = {**make_record(3), "hyperparameters": own, **scale}
        del record["output_sign"]  # as in records written before it was kept
        store.append(record)
    table = collect_hyperparameters(tmp_path)
    assert list(table.columns) == [*WHEN, "noise", *(f"warp_{k}" for k in range(1, 13)), "finished", "run_id", "run"]
    assert table["noise"].item() == 18.0
    assert table["warp_12"].item() == own["warp"][0][11]


def test_damage_is_named_and_nothing_to_show_is_said(tmp_path):
    folder = make_run(tmp_path, make_config(), 2)
    with pytest.raises(InputError, match=r"1 runs in .* have no models yet"):
        collect_hyperparameters(tmp_path)
    make_run(tmp_path, make_config(seed=2), 4)
    data = (folder / "records.jsonl").read_bytes()
    (folder / "records.jsonl").write_bytes(data[:-9])
    table = collect_hyperparameters(tmp_path)
    assert table["iteration"].tolist() == [3] * 4 + [4] * 4
    (problem,) = table.attrs["problems"]
    assert "line 2" in problem
