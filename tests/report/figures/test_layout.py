"""Figures of one's own: width, font, labels, notes, captions, drawn data, and the same from Python."""

import csv
import re

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Picture

from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.report import FIGURES, Layout, Query, draw, plot
from scorebo.report.figures.base import FigureData, Line, Panel
from scorebo.report.figures.layout import read_labels
from scorebo.report.figures.metric_curves import BAND, SMOOTHING
from scorebo.report.figures.written import caption
from scorebo.report.style import RC, label
from scripts.validation.synthetic_results import make_results, wanted
from tests.report.report_tables import suite


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("invented")
    make_results(folder, [c for c in wanted(["al_mll"], "smoke") if c["benchmark"]["name"] in ("gramacy1", "higdon")])
    return folder


@pytest.fixture(scope="module")
def table():
    return suite(["higdon", "ishigami"], ["bald", "sal_hr"])


def texts(picture):
    found = [text.get_text() for axes in picture.axes for text in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    legends = [*picture.legends, *(axes.get_legend() for axes in picture.axes if axes.get_legend())]
    return found + [text.get_text() for legend in legends for text in legend.get_texts()]


def test_python_returns_a_matplotlib_figure_of_the_runs_chosen(results, tmp_path):
    before = dict(matplotlib.rcParams)
    picture = plot("al-mll", Query(results, scale="smoke", acquisition=("bald", "sal_hr"), benchmark=("higdon",)))
    assert isinstance(picture, Picture)
    assert [axes.get_title() for axes in picture.axes] == ["Higdon", "Ranking"]
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["BALD", "SAL-HR"]
    picture.savefig(tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == before
    assert [axes.get_title() for axes in plot("al-mll", results).axes][:2] == ["Gramacy (1D)", "Higdon"]
    assert isinstance(plot("sal-example"), Picture)


@pytest.mark.parametrize(("width", "inches"), [("one", 3.5), ("two", 7.2), ("12", 12 / 2.54), (9.5, 9.5 / 2.54)])
def test_width(table, width, inches):
    for name, shown in (("al-mll", table), ("sal-example", None)):
        assert plot(name, shown, width=width).get_figwidth() == pytest.approx(inches)


@pytest.mark.parametrize("width", ["three", "3", "61", "-8", "nan", ""])
def test_widths_that_are_refused(width):
    with pytest.raises(InputError, match="must be one, two or a number of centimeters from 4 to 60"):
        Layout(width)


def test_font_family_and_size(table):
    plain, other = plot("al-mll", table), plot("al-mll", table, font="DejaVu Serif, 10")
    for picture, family, size in ((plain, "DejaVu Sans", 8.5), (other, "DejaVu Serif", 8.5 * 10 / 7.5)):
        written = [picture.axes[0].title, picture.axes[0].get_xticklabels()[0], picture.texts[0]]
        assert {text.get_fontfamily()[0] for text in written} == {family}
        assert picture.axes[0].title.get_fontsize() == pytest.approx(size)
    assert other.texts[0].get_fontsize() == pytest.approx(plain.texts[0].get_fontsize() * 10 / 7.5)
    other.draw_without_rendering()
    assert other.texts[0].get_window_extent().x1 < other.bbox.x1
    drawn = plot("sal-example", font="11")
    assert drawn.axes[0].title.get_fontsize() == pytest.approx(8.5 * 11 / 7.5)
    assert Layout(font="serif").rc["font.size"] == RC["font.size"]


def test_fonts_that_are_refused():
    with pytest.raises(InputError, match=r"Unknown font 'Comik'.*Allowed: .*serif"):
        Layout(font="Comik")
    with pytest.raises(InputError, match="must be from 4 to 24 points, got 99"):
        Layout(font="serif, 99")


def test_labels_of_tasks_methods_axes_and_panels(table):
    labels = {"sal_hr": "Ours, with a comma", "higdon": "Task A", "Negative MLL": "NMLL", "Ranking": "Places"}
    picture = plot("al-mll", table, labels=labels)
    shown = texts(picture)
    assert {"Ours, with a comma", "Task A", "NMLL", "Places", "BALD", "Ishigami"} <= set(shown)
    assert not {"SAL-HR", "Higdon", "Negative MLL", "Ranking"} & set(shown)
    assert label("sal_hr") == "SAL-HR"  # of this figure alone
    assert "The third" in texts(plot("sal-example", labels={"GP 3": "The third"}))
    with pytest.raises(InputError, match=r"Unknown name to label 'sal_ws'.*Allowed: .*sal_hr"):
        plot("al-mll", table, labels={"sal_ws": "x"})
    with pytest.raises(InputError, match="Unknown name to label 'GP 9'"):
        plot("sal-example", labels={"GP 9": "x"})


def test_labels_are_read():
    assert read_labels(["sal_hr=A, b,bald=C = d,Negative MLL=F", "nei@map=E"]) == {
        **{"sal_hr": "A, b", "bald": "C = d", "nei@map": "E", "Negative MLL": "F"}
    }
    for bad in ("sal_hr", "=x", "sal_hr="):
        with pytest.raises(InputError, match="A label must be NAME=TEXT"):
            read_labels([bad])


def test_without_notes_they_are_in_the_caption_alone(table, tmp_path):
    assert plot("al-mll", table).texts
    assert not plot("al-mll", table, notes=False).texts
    draw("al-mll", table, tmp_path / "a.pdf", layout=Layout(notes=False), caption=tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == (
        f"{FIGURES['al-mll'].description}. {BAND} 3 runs per task and method (seeds 1–3). {SMOOTHING}\n"
    )


def test_a_caption_says_what_is_not_shown():
    falling = np.append([1e6, 1e6], np.linspace(1, 0, 48))
    line = Line("bald", np.arange(50.0), falling, np.full(50, np.nan))
    text = caption(FIGURES["al-mll"], FigureData((Panel("Wild", "x", "y", (line,)),), ("A note.",)), None)
    assert re.search(r"A note\. Not shown: values above 1\.\d \(Wild\)\.", text)


def test_a_caption_says_which_seeds_where_they_differ(table, tmp_path):
    lacking = table.query("not (benchmark == 'ishigami' and acquisition == 'bald' and seed == 2)")
    draw("al-mll", lacking, tmp_path / "a.pdf", caption=tmp_path / "new" / "a.tex")
    text = (tmp_path / "new" / "a.tex").read_text()
    assert "Seeds: Higdon 1--3; Ishigami: BALD 1, 3, SAL-HR 1--3." in text
    assert r"moving average over $\pm$5 \%" in text
    assert not re.search(r"[–±]|(?<!\\)%", text)


def test_drawn_data_is_what_is_drawn(table, tmp_path):
    draw("al-mll", table, tmp_path / "a.pdf", data=tmp_path / "a.csv", layout=Layout(labels={"bald": "B"}))
    found = pd.read_csv(tmp_path / "a.csv")
    panels = FIGURES["al-mll"].compute(table).panels
    assert found["panel"].unique().tolist() == [panel.title for panel in panels]
    assert set(found["label"]) == {"B", "SAL-HR"}
    for panel in panels:
        for line in panel.lines:
            own = found[(found["panel"] == panel.title) & (found["method"] == line.method)]
            np.testing.assert_allclose(own["mean"], line.mean, rtol=1e-12)
            np.testing.assert_allclose(own["low"], line.mean - line.band, rtol=1e-12)
            np.testing.assert_allclose(own["high"], line.mean + line.band, rtol=1e-12)
            np.testing.assert_array_equal(own["x"], line.x)
    with pytest.raises(InputError, match=r"must end in \.csv"):
        draw("al-mll", table, tmp_path / "b.pdf", data=tmp_path / "a.txt")
    assert not (tmp_path / "b.pdf").exists()


def test_drawn_data_of_a_drawing(tmp_path):
    draw("hellinger-mm", None, tmp_path / "a.svg", data=tmp_path / "a.csv")
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    assert {"Moment matching", "Exact"} <= {row["label"] for row in rows}
    assert {row["kind"] for row in rows} == {"line", "band"}


def test_the_command_takes_all_of_it(results, tmp_path, capsys):
    out, caption, data = (tmp_path / name for name in ("a.svg", "a.txt", "a.csv"))
    command = ["plot", "al-mll", "--results", str(results), "--scale", "smoke", "--acquisition", "bald,sal_hr"]
    look = ["--width", "9", "--font", "serif, 8", "--labels", "sal_hr=Ours", "--no-notes"]
    assert main([*command, *look, "--caption", str(caption), "--data", str(data), "--out", str(out)]) == 0
    svg = out.read_text()
    assert f'width="{9 / 2.54 * 72:.6f}pt"'.rstrip('0pt"') in svg
    assert ">Ours<" in svg
    assert ">SAL-HR<" not in svg
    assert "moving average" not in svg.partition("</metadata>")[2]
    assert "moving average" in caption.read_text()
    assert set(pd.read_csv(data)["label"]) == {"BALD", "Ours"}
    assert main([*command, "--labels", "nobody=x", "--out", str(out)]) == 2
    assert "Unknown name to label 'nobody'" in capsys.readouterr().err


def test_explanatory_figures_have_a_column_per_gp():
    for name, last in (("sal-example", "SAL-HR, their mean"), ("scorebo-example", "SCoreBO-HR, their mean")):
        axes = FIGURES[name].compute(None).axes
        assert {each.get_subplotspec().get_gridspec().get_geometry() for each in axes} == {(2, 4)}
        assert [each.get_title().partition(",")[0] for each in axes[:4]] == [
            "GP 1",
            "GP 2",
            "GP 3",
            "Mixture of all GPs",
        ]
        assert axes[7].get_title() == last
        shares = [np.mean([line.get_ydata() for line in each.lines], axis=0) for each in axes[4:7]]
        np.testing.assert_allclose(axes[7].lines[0].get_ydata(), np.mean(shares, axis=0), rtol=1e-12)


def test_the_legend_of_moment_matching_has_no_gps_color():
    picture = FIGURES["wasserstein-mm"].compute(None)
    colors = {line.get_color() for axes in picture.axes for line in axes.lines}
    legend = {handle.get_color() for handle in picture.legends[0].legend_handles}
    assert len(legend) == 1
    assert not legend & colors
