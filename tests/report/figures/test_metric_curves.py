import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scorebo.errors import InputError
from scorebo.report import FIGURES, draw
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.figures.layout import COLUMNS, Layout
from scorebo.report.figures.render import compose, fit_drawing
from scorebo.report.statistics.ranking import ranking
from scorebo.report.statistics.regrets import measured_rows
from scorebo.report.statistics.table import model_rows
from scorebo.store import collect
from scripts.validation.synthetic_results import make_results, wanted
from tests.report.report_tables import bo_run, bo_suite, join, suite

SCRIPT = Path(__file__).parents[3] / "scripts" / "plot_figures.py"


def gp8(models, methods=("nei",)):
    return join(*(bo_run("gp8", a, s, [1.0, 0.1 * s], model=m) for m in models for a in methods for s in (1, 2, 3)))


def test_priors_has_a_line_for_each_model():
    data = FIGURES["priors"].data(gp8(["true", "bo_lognormal", "botorch"]))
    assert [line.method for line in data.panels[0].lines] == ["nei@true", "nei@bo_lognormal", "nei@botorch"]
    legend = compose(data).legends[0]
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["NEI, true hyperparameters", "NEI, lognormal prior", "NEI, BoTorch prior"]


def test_a_long_legend_stays_inside_the_figure():
    figure = compose(FIGURES["gp8-regret"].data(gp8(["bo_lognormal", "botorch"], ("nei", "scorebo_hr"))))
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_gp8_regret_shows_standard_deviations():
    data = FIGURES["gp8-regret"].data(gp8(["bo_lognormal", "botorch"]))
    logs = np.log10([0.1, 0.2, 0.3])
    assert data.panels[0].lines[0].band[-1] == pytest.approx(logs.std(ddof=1))
    assert data.notes == ("Bands: one standard deviation.",)


def test_best_values_and_the_optimum():
    table = join(
        *(bo_run(t, "nei", s, [1.0, 1.0], best=[5.0, 4.0]) for t in ("ackley4_25", "svm_ct") for s in (1, 2, 3))
    )
    known = table["benchmark"].map({"ackley4_25": 0.0})
    data = FIGURES["saas-final"].data(table.assign(optimal_value=known))
    assert [(panel.title, panel.reference) for panel in data.panels] == [("Ackley-4 (25D)", 0.0), ("SVM (388D)", None)]
    assert [panel.ylabel for panel in data.panels] == ["Best observation", "Best RMSE"]
    another = known.where(table["seed"] != 2, 1.0)  # a function of the seed has no one optimum
    assert FIGURES["saas-final"].data(table.assign(optimal_value=another)).panels[0].reference is None
    assert data.reference == "Optimum"


def test_the_best_noiseless_value_is_shown_beside_where_there_is_noise():
    table = join(
        *(bo_run(t, "nei", s, [1.0, 1.0], best=[5.0, 4.0]) for t in ("ackley4_25", "svm_ct") for s in (1, 2, 3))
    )
    table["best_noiseless"] = table["best_observed"] + 0.5 * (table["benchmark"] == "ackley4_25")
    data = FIGURES["saas-final"].data(table.assign(optimal_value=0.0))
    assert [panel.title for panel in data.panels] == ["Ackley-4 (25D)", "SVM (388D)", "Ackley-4 (25D), noiseless"]
    assert [panel.ylabel for panel in data.panels] == ["Best observation", "Best RMSE", "Best value, noiseless"]
    assert [panel.lines[0].mean.tolist() for panel in data.panels[::2]] == [[5.0, 4.0], [5.5, 4.5]]
    assert data.panels[2].reference == 0.0
    assert len(FIGURES["saas-final"].data(table.drop(columns="best_noiseless")).panels) == 2


def test_density_in_task_units_has_a_figure_and_reversals_are_told():
    table = suite(["gramacy1", "gramacy2"], ["qbmgp", "sal_hr"])
    favored = (table["benchmark"] == "gramacy2") & (table["acquisition"] == "sal_hr")
    table["negative_mll"] -= 0.5 * favored + 0.5 * (
        (table["benchmark"] == "gramacy1") & (table["acquisition"] == "qbmgp")
    )
    table["negative_mll_task_units"] = table["negative_mll"] + 2.0 * favored
    notes = FIGURES["al-mll"].data(table).notes
    told = "Lowest mean at the end if the density is in the task's units: Gramacy (2D) QBMGP instead of SAL-HR."
    assert told in notes
    data = FIGURES["al-mll-task-units"].data(table)
    assert told not in data.notes
    ends = {line.method: line.mean[-1] for line in data.panels[1].lines}
    assert ends["sal_hr"] - ends["qbmgp"] > 1.0
    assert FIGURES["al-mll-task-units"].experiment == "al_mll"
    assert told not in FIGURES["al-mll"].data(table.drop(columns="negative_mll_task_units")).notes


def test_split_pairs():
    table = join(*(bo_run("addgp6", "nei", s, [1.0, 1.0], best=[0.0, 1.0]) for s in (1, 2, 3)))
    assert "Split pairs: not recorded." in FIGURES["addgp"].data(table).notes
    data = FIGURES["addgp"].data(table.assign(decomposition_error=2.0))
    assert data.panels[-1].title == "Split pairs (6D)"
    assert data.panels[-1].lines[0].mean.tolist() == [2.0, 2.0]


def ranked(table):
    return ranking(measured_rows(table, ["inference_regret"]), "inference_regret")


def test_the_band_of_the_ranking_is_the_spread_of_resampled_seeds():
    # Two methods that win half of the seeds each: the rank of either is 1 or 2, its error 0.5/√n.
    seeds = range(1, 17)
    runs = [
        bo_run("branin", m, s, [1.0 if (s % 2 == 0) == (m == "nei") else 0.1] * 6)
        for m in ("nei", "jes")
        for s in seeds
    ]
    found = ranked(join(*runs))
    assert found.errors["nei"] == pytest.approx(0.5 / np.sqrt(16), rel=0.2)
    sure = ranked(join(*(bo_run("branin", m, s, [v] * 6) for m, v in (("nei", 1.0), ("jes", 0.1)) for s in seeds)))
    assert (sure.errors["nei"] == 0).all()
    few = ranked(bo_suite(tasks=["branin"], methods=["nei", "jes"], seeds=[1, 2]))
    assert np.isnan(few.errors["nei"]).all()


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.source == "fits"])
def test_explanatory_figures_are_drawn_from_their_own_fits(name, tmp_path):
    first = draw(name, None, tmp_path / "a.svg", command=["scorebo"]).read_bytes()
    assert draw(name, None, tmp_path / "b.svg", command=["scorebo"]).read_bytes() == first
    assert b"ellinger" in first or b"asserstein" in first


def test_the_script_draws_what_it_can_and_says_what_it_cannot(tmp_path):
    command = [sys.executable, str(SCRIPT), "--results", str(tmp_path / "none"), "--out", str(tmp_path / "figures")]
    done = subprocess.run(
        [*command, "--format", "svg", "--workers", "2", "sal-example", "al-mll"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures" / "sal-example.svg").exists()
    assert "1 of 2 figures" in done.stdout


def test_the_script_ends_when_its_processes_cannot_begin(tmp_path):
    driver = tmp_path / "driver.py"
    driver.write_text(
        f"""import os, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import plot_figures

class Fatal:  # ends the process that it is sent to
    def __reduce__(self):
        return os._exit, (3,)

plot_figures.collect = lambda *_, **__: Fatal()
if __name__ == "__main__":
    sys.exit(plot_figures.main())
"""
    )
    command = [sys.executable, str(driver), "--out", str(tmp_path / "figures"), "--workers", "1", "al-mll"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert "a process that draws ended, after 0 figures" in done.stderr


def test_numbers_of_runs_are_written_only_where_they_differ():
    whole = suite(["higdon"], ["bald", "sal_hr"])
    assert not compose(FIGURES["al-mll"].data(whole)).axes[0].texts
    lacking = whole[~((whole["acquisition"] == "bald") & (whole["seed"] == 3))]
    texts = [text.get_text() for text in compose(FIGURES["al-mll"].data(lacking)).axes[0].texts]
    assert texts == ["2", "3"]


def test_one_column_has_two_panels_a_row_and_letters_as_large():
    data = FIGURES["al-rmse"].data(suite())
    wide, narrow = compose(data), compose(data, COLUMNS["one"])
    assert narrow.get_figwidth() < wide.get_figwidth() / 2 < narrow.get_figheight()
    places = {axes.get_subplotspec().colspan.start for axes in narrow.axes}
    assert places == {0, 1}
    sizes = [figure.axes[0].title.get_fontsize() for figure in (wide, narrow)]
    assert sizes[0] == sizes[1]


def test_a_drawing_fits_one_column(tmp_path):
    wide = draw("wasserstein-mm", None, tmp_path / "wide.svg").read_text()
    narrow = draw("wasserstein-mm", None, tmp_path / "narrow.svg", layout=Layout("one")).read_text()
    assert 'width="518.4pt"' in wide
    assert 'width="252pt"' in narrow


@pytest.mark.parametrize("width", [None, COLUMNS["one"], 5.0])
def test_notes_stay_inside_the_figure(width):
    words = [
        "Drawn from 81 of 300 runs of the experiment, 27 of them not finished. Runs with an unhealthy sampler, among "
        "those shown: QBMGP 1, BALD 1. Gramacy (1D): of 3 runs BQBC has 2; runs that end before 30 observations: BALD "
        "1, SAL-WS 1, SAL-HR 1. Hartmann-6: of 3 runs QBMGP has none, BQBC has 2, SCoreBO-WS (MC) has 1. Small "
        "numbers: how many runs a point is the mean of."
    ]
    points = np.arange(3.0)
    panel = Panel("A", "Number of observations", "Value", (Line("bald", points, points, points),))
    figure = compose(FigureData((panel,) * 4, tuple(words)), width)
    figure.draw_without_rendering()
    (note,) = figure.texts
    assert note.get_window_extent().x1 < figure.bbox.x1


def test_the_legend_of_moment_matching_covers_no_curve():
    figure = FIGURES["hellinger-mm"].data(None)
    fit_drawing(figure, COLUMNS["one"])
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_invented_runs_need_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path / "none"))
    make_results(tmp_path, [config for config in wanted(["addgp"], "smoke") if config["seed"] == 1])
    data = FIGURES["addgp"].data(collect(tmp_path))
    titles = [panel.title for panel in data.panels]
    assert titles == ["Additive GP (6D)", "Additive GP (10D)", "Cosmology", "Split pairs (6D)"]


def test_released_style_halves_standard_errors_and_plots_sort_indices(tmp_path):
    table = suite(["gramacy1", "gramacy2"], ["qbmgp", "bald", "sal_hr"])
    figure = FIGURES["al-mll"]
    plain, released = figure.compute(table), figure.compute(table, released_style=True)
    for panel, other in zip(plain.panels[:2], released.panels[:2], strict=True):
        for line, half in zip(panel.lines, other.lines, strict=True):
            np.testing.assert_array_equal(line.mean, half.mean)
            np.testing.assert_allclose(half.band, line.band / 2)
    rows = model_rows(table, ["negative_mll"])
    indices = ranking(rows, "negative_mll", sort_indices=True)
    assert released.panels[2].ylabel == "Average sort index"
    for line in released.panels[2].lines:
        np.testing.assert_array_equal(line.mean, indices.ranks[line.method])
        np.testing.assert_allclose(line.band, indices.errors[line.method] / 2)
    told = "As in the authors' released plots: bands of half a standard error, sort indices in place of ranks."
    assert told in released.notes
    assert told not in plain.notes
    assert draw("al-mll", table, tmp_path / "a.svg", released_style=True).exists()
    with pytest.raises(InputError, match="The figure wasserstein-mm shows neither standard errors nor ranks"):
        FIGURES["wasserstein-mm"].compute(None, released_style=True)
    with pytest.raises(InputError, match="are standard deviations"):
        FIGURES["gp8-regret"].compute(gp8(["bo_lognormal"]), released_style=True)


def test_released_style_of_figures_without_ranks():
    table = join(*(bo_run("svm_ct", "nei", s, [1.0, 1.0], best=[5.0 + s, 4.0]) for s in (1, 2, 3)))
    for name, shown in (("saas-final", table), ("addgp", table), ("priors", gp8(["true", "botorch"]))):
        plain, released = (FIGURES[name].compute(shown, released_style=style) for style in (False, True))
        np.testing.assert_allclose(released.panels[0].lines[0].band, plain.panels[0].lines[0].band / 2)
        assert "As in the authors' released plots: bands of half a standard error." in released.notes
