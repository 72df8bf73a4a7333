import os
import re

import matplotlib
import numpy as np
import pytest

from scorebo.errors import InputError
from scorebo.report import FIGURES, draw
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.figures.metric_curves import SMOOTHING
from scorebo.report.figures.render import compose, linear_limits
from scorebo.report.style import method_styles
from tests.report.report_tables import AL_METHODS, join, run, suite

MAGIC = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml"}
WORDS = ["Gramacy (1D)", "Higdon", "Gramacy (2D)", "Branin", "Ishigami", "Hartmann-6", "Ranking"]


def figure(table, name="al-mll"):
    return compose(FIGURES[name].data(table))


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def legend_texts(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    assert len(legends) == 1
    return [text.get_text() for text in legends[0].get_texts()]


@pytest.fixture(scope="module")
def whole_suite():
    return suite()


@pytest.fixture(scope="module")
def one_task():
    return suite(["higdon"], ["bald"])


@pytest.mark.parametrize("suffix", MAGIC)
@pytest.mark.parametrize("name", ["al-mll", "al-rmse", "bo-regret"])
def test_writes_files_of_the_kind_their_ending_says_always_the_same(one_task, tmp_path, name, suffix):
    out = tmp_path / "new" / "folder" / f"figure{suffix}"
    assert draw(name, one_task, str(out)) == out
    content = out.read_bytes()
    assert content.startswith(MAGIC[suffix])
    assert os.listdir(out.parent) == [out.name]
    assert draw(name, one_task, tmp_path / f"again{suffix}").read_bytes() == content


def test_the_ending_may_be_in_capitals(one_task, tmp_path):
    assert draw("al-mll", one_task, tmp_path / "A.PNG").read_bytes().startswith(MAGIC[".png"])


def test_text_of_vector_figures_stays_text(tmp_path):
    table = suite(["higdon"], ["bald", "sal_hr"])
    svg = draw("al-mll", table, tmp_path / "a.svg").read_text()
    for word in ("Higdon", "Ranking", "Number of observations", "Negative MLL", "Average rank", "SAL-HR"):
        assert f">{word}</text>" in svg
    pdf = draw("al-mll", table, tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in pdf  # embedded TrueType
    assert b"/Type3" not in pdf


def test_panels_labels_and_legend(whole_suite):
    drawn = figure(whole_suite)
    axes = panels(drawn)
    assert [a.get_title() for a in axes] == WORDS
    assert [a.get_xlabel() for a in axes] == ["Number of observations"] * 6 + ["Run completed (%)"]
    assert [a.get_ylabel() for a in axes] == ["Negative MLL", "", "", "", "Negative MLL", "", "Average rank"]
    assert legend_texts(drawn) == ["QBMGP", "BQBC", "BALD", "SAL-WS", "SAL-HR"]
    assert [a.get_yscale() for a in axes] == ["linear"] * 7
    assert [a.get_yscale() for a in panels(figure(whole_suite, "al-rmse"))] == ["log"] * 6 + ["linear"]
    assert [text.get_text().replace("\n", " ") for text in drawn.texts] == [SMOOTHING]


def test_lines_and_bands_are_the_numbers_of_the_table(whole_suite):
    axes = panels(figure(whole_suite))[1]
    assert [line.get_color() for line in axes.lines] == [style.color for style in method_styles(AL_METHODS).values()]
    own = whole_suite.query("benchmark == 'higdon' and acquisition == 'sal_hr' and num_observations == 7")
    values = own["negative_mll"].to_numpy()
    line = axes.lines[-1]
    at = list(line.get_xdata()).index(7)
    assert line.get_ydata()[at] == pytest.approx(values.mean(), rel=1e-13)
    edges = axes.collections[-1].get_paths()[0].vertices
    error = values.std(ddof=1) / np.sqrt(3)
    low, high = sorted(edges[edges[:, 0] == 7, 1])[:: sum(edges[:, 0] == 7) - 1]
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), rel=1e-12)


def test_one_panel_per_task_present_and_no_ranking_for_one_method():
    drawn = figure(suite(["ishigami", "my_task"], ["sal_hr"]))
    assert [a.get_title() for a in panels(drawn)] == ["Ishigami", "My task"]
    assert legend_texts(drawn) == ["SAL-HR"]


def test_ranking_needs_shared_seeds():
    apart = join(suite(["higdon"], ["bald"], [1, 2, 3]), suite(["higdon"], ["sal_hr"], [4, 5, 6]))
    assert [a.get_title() for a in panels(figure(apart))] == ["Higdon"]


@pytest.mark.parametrize("count", [1, 2, 4, 6, 7, 9])
def test_any_number_of_tasks_can_be_laid_out(count):
    data = FigureData(tuple(Panel(f"T{i}", "x", "y", (line([1, 2, 3]),)) for i in range(count)), ("A note.",))
    drawn = compose(data)
    assert len(panels(drawn)) == count
    assert legend_texts(drawn) == ["BALD"]
    drawn.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in panels(drawn)]
    note = drawn.texts[0].get_window_extent()
    assert note.y1 < min(box.y0 for box in boxes)
    assert note.y0 >= 0
    assert note.x1 <= drawn.bbox.x1
    if drawn.legends:
        legend = drawn.legends[0].get_window_extent()
        assert note.y1 <= legend.y0
        assert legend.y1 <= min(box.y0 for box in boxes) + 1


def test_bands_only_where_three_runs_are_averaged():
    data = FIGURES["al-mll"].data(join(*(run("higdon", "bald", s, [1.0 * s] * (5 - s)) for s in (1, 2, 3, 4))))
    # 4, 3, 2 and 1 runs have the first to the fourth model
    assert np.isfinite(data.panels[0].lines[0].band).tolist() == [True, True, False, False]
    assert np.isfinite(data.panels[0].lines[0].mean).all()


def test_notes_on_the_figure_say_what_is_missing(whole_suite):
    lacking = whole_suite.query("not (benchmark == 'ishigami' and acquisition == 'bald' and seed == 2)")
    other = suite(["higdon"], ["bald"], [1]).assign(model="botorch")
    note = figure(join(lacking, other)).texts[0].get_text().replace("\n", " ")
    assert note == (
        "Higdon: runs under botorch left out. Ishigami: of 3 runs BALD has 2. No band where fewer than three runs are "
        "averaged. Small numbers: how many runs a point is the mean of. Ranking over the seeds that all methods share: "
        f"Ishigami 2 of 3. {SMOOTHING}"
    )


def line(mean, band=None):
    mean = np.asarray(mean, float)
    return Line("bald", np.arange(len(mean), dtype=float), mean, np.full_like(mean, np.nan) if band is None else band)


def test_limits_hold_all_bands():
    panel = Panel("T", "x", "y", (line([1.0, 2.0, 3.0], np.array([0.5, np.nan, 1.0])),))
    bottom, top, cropped = linear_limits(panel)
    assert not cropped
    assert (bottom, top) == pytest.approx((0.5 - 0.175, 4.0 + 0.175))


def test_a_few_wild_values_do_not_press_the_rest_flat():
    falling = np.linspace(1, 0, 50)
    falling[:2] = 1e6
    panel = Panel("Wild", "x", "y", (line(falling),))
    bottom, top, cropped = linear_limits(panel)
    assert cropped
    assert 1 < top < 3
    assert -0.5 < bottom < 0
    drawn = compose(FigureData((panel,)))
    assert re.fullmatch(r"Not shown: values above 1\.\d \(Wild\)\.", drawn.texts[0].get_text())


def test_flat_and_single_values_have_room():
    for values in ([2.0, 2.0, 2.0], [2.0]):
        bottom, top, cropped = linear_limits(Panel("T", "x", "y", (line(values),)))
        assert bottom < 2.0 < top
        assert not cropped


def test_a_single_model_is_visible(tmp_path):
    table = join(run("higdon", "bald", 1, [1.0]), run("higdon", "sal_hr", 1, [2.0]))
    axes = panels(figure(table))
    assert [len(a.lines) for a in axes] == [2, 2]
    assert all(drawn.get_marker() not in ("", "None") for a in axes for drawn in a.lines)
    for name in ("al-mll", "al-rmse", "bo-regret"):
        draw(name, table, tmp_path / f"{name}.png")


def test_rmse_of_zero_falls_back_to_a_linear_axis(tmp_path):
    table = run("higdon", "bald", 1, [1.0, 1.0], rmse=[1.0, 0.0])
    assert panels(figure(table, "al-rmse"))[0].get_yscale() == "linear"
    draw("al-rmse", table, tmp_path / "a.pdf")


def test_a_band_below_zero_is_cut_on_a_log_axis(tmp_path):
    table = join(*(run("higdon", "bald", s, [1.0, 1.0], rmse=[r, r]) for s, r in ((1, 0.01), (2, 0.01), (3, 5.0))))
    axes = panels(figure(table, "al-rmse"))[0]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] > 0.5  # mean 1.67, band of ±1.66
    draw("al-rmse", table, tmp_path / "a.png")


def test_the_look_of_other_figures_is_not_touched(one_task, tmp_path):
    before = dict(matplotlib.rcParams)
    draw("al-mll", one_task, tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before


def test_refuses_other_formats_and_figures(one_task, tmp_path):
    for out in ("a.jpg", "a", "folder/", "a.png.txt"):
        with pytest.raises(InputError, match=r"must end in \.pdf, \.png, \.svg"):
            draw("al-mll", one_task, tmp_path / out)
    with pytest.raises(
        InputError,
        match=r"Unknown figure 'al-ml'. Did you mean al-mll.*Allowed: addgp, al-mll, al-mll-task-units, al-rmse",
    ):
        draw("al-ml", one_task, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.iloc[:0], "empty"),
        (lambda t: t[t["num_observations"].isna()], "no row with metrics"),
        (lambda t: t.assign(negative_mll=np.nan), "no finite value of negative_mll"),
    ],
)
def test_refuses_tables_without_anything_to_draw(one_task, tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        draw("al-mll", change(one_task), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named_and_left_as_it_was(one_task, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("kept")
    (tmp_path / "taken.png").mkdir()
    for out in (blocked / "a.png", blocked / "deeper" / "a.png", tmp_path / "taken.png"):
        with pytest.raises(InputError, match="Cannot write"):
            draw("al-mll", one_task, out)
    assert blocked.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken.png"]


def test_a_failure_while_drawing_leaves_the_old_figure(one_task, tmp_path, monkeypatch):
    out = draw("al-mll", one_task, tmp_path / "a.png")
    before = out.read_bytes()

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        draw("al-rmse", one_task, out)
    assert out.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.png"]
