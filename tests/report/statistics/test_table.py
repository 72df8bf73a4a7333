import numpy as np
import pandas as pd
import pytest

from scorebo.errors import InputError
from scorebo.report.statistics.table import KEYS, choose_model, model_rows, require_values
from tests.report.report_tables import join, run, suite


def test_keeps_the_rows_with_a_model_in_order():
    shuffled = join(run("higdon", "bald", 2, [1, 2]), run("gramacy1", "bald", 1, [3, 4])).sample(frac=1, random_state=0)
    rows = model_rows(shuffled, ["negative_mll"])
    assert list(rows.columns) == [*KEYS, "negative_mll"]
    assert rows["benchmark"].tolist() == ["gramacy1"] * 2 + ["higdon"] * 2
    assert rows["num_observations"].tolist() == [2, 3, 2, 3]
    assert rows["negative_mll"].tolist() == [3.0, 4.0, 1.0, 2.0]


def test_reads_what_files_make_of_a_table(tmp_path):
    table = suite(["gramacy1"], ["bald"], [1], 3)
    expected = model_rows(table, ["rmse"])
    table.to_csv(tmp_path / "table.csv", index=False)
    table.to_parquet(tmp_path / "table.parquet", index=False)
    pd.testing.assert_frame_equal(model_rows(pd.read_csv(tmp_path / "table.csv"), ["rmse"]), expected)
    pd.testing.assert_frame_equal(model_rows(pd.read_parquet(tmp_path / "table.parquet"), ["rmse"]), expected)
    pd.testing.assert_frame_equal(model_rows(table.astype(object).where(table.notna(), None), ["rmse"]), expected)


def test_does_not_change_the_table():
    table = suite(["gramacy1"], ["bald"], [1], 3)
    before = table.copy()
    model_rows(table, ["rmse"])
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.iloc[:0], "is empty"),
        (lambda t: t[t["num_observations"].isna()], "no row with metrics"),
        (lambda t: t.drop(columns=["seed", "rmse"]), r"lacks the column\(s\) seed, rmse"),
        (lambda t: t.assign(rmse="low"), "column rmse .* must hold numbers"),
        (lambda t: t.assign(seed=np.nan), "rows without benchmark"),
        (lambda t: t.assign(acquisition=None), "rows without benchmark"),
    ],
)
def test_refuses_unusable_tables(change, message):
    with pytest.raises(InputError, match=message):
        model_rows(change(suite(["gramacy1"], ["bald"], [1], 3)), ["rmse"])


def test_refuses_two_runs_of_one_name():
    two = join(run("gramacy1", "bald", 1, [1, 2]), run("gramacy1", "bald", 1, [3, 4]))
    with pytest.raises(InputError, match="more than one run of gramacy1, al_lognormal, bald, seed 1"):
        model_rows(two, ["rmse"])


def test_names_the_folders_of_two_runs_of_one_name_even_if_they_do_not_overlap():
    late = run("gramacy1", "bald", 1, [3, 4], first=9)
    two = join(
        run("gramacy1", "bald", 1, [1, 2]).assign(run_id="a", run="seed-1-a"),
        late.assign(run_id="b", run="seed-1-b"),
        run("gramacy1", "bald", 2, [1, 2]).assign(run_id="c", run="seed-2-c"),
    )
    with pytest.raises(InputError, match=r"seed 1, with different settings \(seed-1-a, seed-1-b\)"):
        model_rows(two, ["rmse"])


CURVE = [float(value) for value in range(8)]  # n = 2 … 9


def sparse(table, every):
    """The table with every how many models judged, and the last."""
    since = table["num_observations"] - table["num_observations"].min()
    judged = (since % every == 0) | (table["num_observations"] == table["num_observations"].max())
    hidden = table.assign(negative_mll=table["negative_mll"].where(judged.fillna(False)))
    return hidden.assign(has_metrics=judged.astype("boolean"))


class TestMetricsEvery:
    def kept(self, table, metric="negative_mll"):
        return model_rows(table, [metric]).groupby(["benchmark", "seed"])["num_observations"].agg(list).to_dict()

    def test_models_without_metrics_are_left_out(self):
        table = join(sparse(run("gramacy1", "bald", 1, CURVE), 3), run("higdon", "bald", 1, CURVE))
        assert self.kept(table) == {("gramacy1", 1): [2, 5, 8, 9], ("higdon", 1): [2, 3, 4, 5, 6, 7, 8, 9]}
        assert self.kept(table, "simple_regret")["gramacy1", 1] == [2, 3, 4, 5, 6, 7, 8, 9]
        assert model_rows(table, ["negative_mll"])["negative_mll"].notna().all()

    def test_runs_of_a_task_are_compared_where_all_have_metrics(self):
        runs = [sparse(run("gramacy1", "bald", seed, CURVE), every) for seed, every in ((1, 1), (2, 2), (3, 3))]
        assert self.kept(join(*runs)) == {("gramacy1", seed): [2, 8, 9] for seed in (1, 2, 3)}

    def test_a_value_that_is_not_finite_stays_to_be_told(self):
        table = sparse(run("gramacy1", "bald", 1, [1.0, 2.0, np.nan, 4.0, 5.0]), 2)
        assert self.kept(table)["gramacy1", 1] == [2, 4, 6]
        assert model_rows(table, ["negative_mll"])["negative_mll"].isna().tolist() == [False, True, False]

    def test_as_files_give_it_back(self, tmp_path):
        table = sparse(run("gramacy1", "bald", 1, CURVE), 3)
        table.to_csv(tmp_path / "table.csv", index=False)
        table.to_parquet(tmp_path / "table.parquet", index=False)
        expected = model_rows(table, ["negative_mll"])
        for read in (pd.read_csv(tmp_path / "table.csv"), pd.read_parquet(tmp_path / "table.parquet")):
            pd.testing.assert_frame_equal(model_rows(read, ["negative_mll"]), expected)


def test_needs_one_finite_value():
    rows = model_rows(run("gramacy1", "bald", 1, [np.nan, np.inf, np.nan]), ["negative_mll", "rmse"])
    require_values(rows, "rmse")
    with pytest.raises(InputError, match="no finite value of negative_mll"):
        require_values(rows, "negative_mll")


def test_prefers_the_figures_model_where_a_task_has_several():
    table = join(
        run("ishigami", "bald", 1, [1]),
        run("ishigami", "bald", 1, [2], model="al_lognormal_no_outputscale"),
        run("higdon", "bald", 1, [3], model="botorch"),
    )
    rows, notes = choose_model(model_rows(table, ["rmse"]), "al_lognormal")
    kept = rows[["benchmark", "model"]].to_numpy().tolist()
    assert kept == [["higdon", "botorch"], ["ishigami", "al_lognormal"]]
    assert notes == ["Ishigami: runs under al_lognormal_no_outputscale left out."]
    with pytest.raises(
        InputError, match="ishigami has runs under the models al_lognormal, al_lognormal_no_outputscale"
    ):
        choose_model(model_rows(table, ["rmse"]), "true")
