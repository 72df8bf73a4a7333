import numpy as np
import pytest
from matplotlib.colors import to_rgb

from scorebo.errors import InputError
from scorebo.report import FIGURES, OPTIMIZATION_METRICS, draw, final_values, format_summary
from scorebo.report.figures.metric_curves import SMOOTHING
from scorebo.report.figures.render import compose
from scorebo.report.statistics.regrets import LEAST, measured_rows
from scorebo.report.style import method_styles
from tests.report.report_tables import BO_METHODS, BO_TASKS, bo_run, bo_suite, join, run


def data(table):
    return FIGURES["bo-regret"].data(table)


def test_logarithm_per_run_then_mean_and_standard_error():
    table = join(*(bo_run("branin", "nei", seed, [10.0**seed, 0.1]) for seed in (-3, -1, 1)))
    (panel,) = data(table).panels
    (line,) = panel.lines
    # log10: −3, −1, 1 with mean −1 and standard deviation 2; the mean regret of 3.37 would give 0.53
    assert line.mean.tolist() == pytest.approx([-1.0, -1.0], abs=1e-14)
    assert line.band.tolist() == pytest.approx([2 / np.sqrt(3), 0.0], abs=1e-14)
    assert line.x.tolist() == [2.0, 3.0]
    assert panel.ylabel == "Log10 inference regret"
    assert not panel.log


def test_regret_is_not_made_monotone():
    table = join(*(bo_run("branin", "nei", seed, [0.1, 10.0, 0.01]) for seed in (1, 2, 3)))
    assert data(table).panels[0].lines[0].mean.tolist() == pytest.approx([-1.0, 1.0, -2.0], abs=1e-14)


def test_panels_ranking_and_legend():
    table = bo_suite()
    drawn = data(table)
    titles = ["Branin", "Rosenbrock-2", "Hartmann-3", "Rosenbrock-4", "Hartmann-4", "Hartmann-6", "Ranking"]
    assert [panel.title for panel in drawn.panels] == titles
    assert [line.method for line in drawn.panels[0].lines] == BO_METHODS
    assert drawn.notes == (SMOOTHING,)
    figure = compose(drawn)
    (legend,) = (axes.get_legend() for axes in figure.axes if axes.get_legend())
    assert [text.get_text() for text in legend.get_texts()] == ["JES", "MES", "PES", "NEI", "NEI-MAP", "SCoreBO-HR"]
    np.testing.assert_allclose(sum(line.mean for line in drawn.panels[-1].lines), 21.0, rtol=1e-12)


def test_ranking_of_regrets_by_hand():
    table = join(bo_run("branin", "nei", 1, [1.0, 1.0]), bo_run("branin", "scorebo_hr", 1, [0.5, 0.5]))
    ranks = {line.method: line.mean[0] for line in data(table).panels[-1].lines}
    assert ranks == {"nei": 2.0, "scorebo_hr": 1.0}


def test_the_map_reference_stands_beside_the_others_under_its_own_model():
    table = join(
        bo_run("branin", "nei", 1, [1.0]),
        bo_run("branin", "nei_map", 1, [2.0], model="map"),
        bo_run("branin", "nei", 1, [3.0], model="botorch"),
        bo_run("branin", "nei", 1, [4.0], model="map"),
        bo_run("hartmann3", "nei", 1, [1.0], model="botorch"),
    )
    drawn = data(table)
    means = {line.method: 10 ** line.mean[0] for line in drawn.panels[0].lines}
    assert means == pytest.approx({"nei": 1.0, "nei_map": 2.0})
    assert "Branin: runs under botorch, map left out." in drawn.notes
    assert [panel.title for panel in drawn.panels][:2] == ["Branin", "Hartmann-3"]


def test_a_map_reference_under_two_models_is_shown_once():
    table = join(bo_run("branin", "nei_map", 1, [1.0]), bo_run("branin", "nei_map", 1, [2.0], model="map"))
    assert 10 ** data(table).panels[0].lines[0].mean[0] == pytest.approx(2.0)


def test_a_regret_of_zero_counts_as_the_least():
    rows = measured_rows(bo_run("branin", "nei", 1, [0.0, 1e-15, -1e-16, 0.1, np.nan]), ["log10_inference_regret"])
    expected = [np.log10(LEAST)] * 3 + [-1.0, np.nan]
    np.testing.assert_allclose(rows["log10_inference_regret"], expected, rtol=1e-14)


def test_tasks_without_a_known_optimum_are_left_out_and_named():
    table = join(bo_suite(["branin"]), bo_run("my_task", "nei", 1, [np.nan, np.nan]))
    drawn = data(table)
    assert [panel.title for panel in drawn.panels] == ["Branin", "Ranking"]
    assert drawn.notes == ("My task: left out, its optimum is not known.", SMOOTHING)
    with pytest.raises(InputError, match="no finite value of inference_regret"):
        data(bo_run("my_task", "nei", 1, [np.nan]))


def test_a_table_without_regrets_is_refused(tmp_path):
    table = run("branin", "nei", 1, [1.0]).drop(columns="inference_regret")
    with pytest.raises(InputError, match=r"lacks the column\(s\) inference_regret"):
        draw("bo-regret", table, tmp_path / "a.png")


def test_summary_by_hand():
    table = join(
        *(bo_run("branin", "nei", s, [9.0, 10.0**s], simple=[9.0, 10.0**-s], best=[9.0, s]) for s in (-3, -1, 1))
    )
    row = final_values(table, OPTIMIZATION_METRICS).iloc[0]
    assert (row["seeds"], row["observations_min"], row["observations_max"]) == (3, 3, 3)
    assert row["log10_inference_regret_mean"] == pytest.approx(-1.0)
    assert row["log10_simple_regret_mean"] == pytest.approx(1.0)
    assert row["log10_simple_regret_se"] == pytest.approx(2 / np.sqrt(3))
    assert row["best_observed_mean"] == -1.0
    assert format_summary(table, OPTIMIZATION_METRICS).splitlines() == [
        "Task    Method  Seeds  Observations  Log10 inference regret  Log10 simple regret  Best observation",
        "──────  ──────  ─────  ────────────  ──────────────────────  ───────────────────  ────────────────",
        "Branin  NEI         3             3              -1.0 ± 1.2            1.0 ± 1.2        -1.0 ± 1.2",
    ]


def test_summary_of_the_suite_in_the_papers_order():
    values = final_values(bo_suite().sample(frac=1, random_state=0), OPTIMIZATION_METRICS)
    assert list(values["benchmark"].unique()) == BO_TASKS
    assert set(values["acquisition"]) == set(BO_METHODS)


def test_no_two_methods_of_the_figure_share_a_color():
    assert len({to_rgb(style.color) for style in method_styles(BO_METHODS).values()}) == len(BO_METHODS)
