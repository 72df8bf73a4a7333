import numpy as np
import pytest

from scorebo.errors import InputError
from scorebo.report import FIGURES, draw
from scorebo.report.figures.render import compose
from scorebo.report.overlay import beside, draw_over, format_beside, read_overlay
from tests.report.report_tables import suite

HEADING = "task,metric,method,n,value,source\n"
TASKS = ("branin_al", "ishigami")


def published(tmp_path, text):
    path = tmp_path / "published.csv"
    path.write_text(HEADING + text)
    return read_overlay(path)


def straight(tmp_path):
    """RMSE 10 − n/10 of one of our methods and of another on Branin, also before and beyond what our runs show."""
    lines = [f"branin_al,rmse,{m},{n},{10 - n / 10},Riis et al. (2022)\n" for m in ("bald", "alm") for n in (0, 40, 8)]
    return published(tmp_path, "".join(lines) + "branin_al,negative_mll,bald,8,1.0,Riis et al. (2022)\n")


def test_published_curves_are_drawn_dashed_behind_ours_on_their_task(tmp_path):
    table = suite(TASKS)
    data = draw_over(FIGURES["al-rmse"].compute(table), "rmse", straight(tmp_path))
    lines = {panel.title: [line.method for line in panel.published] for panel in data.panels}
    assert lines == {"Branin": ["alm", "bald"], "Ishigami": [], "Ranking": []}
    own = data.panels[0].lines[0].x
    for line in data.panels[0].published:
        assert own[0] <= line.x.min()
        assert line.x.max() <= own[-1]
    figure = compose(data)
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    solid = {line.get_color(): line for line in figure.axes[0].lines if line.get_linestyle() == "-"}
    assert len(dashed) == 2
    assert sum(line.get_color() in solid for line in dashed) == 1  # BALD has the color of ours
    assert max(line.get_zorder() for line in dashed) < min(line.get_zorder() for line in solid.values())
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    words += [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert {"ALM", "BALD", "Riis et al. (2022)"} <= set(words)


def test_a_figure_that_shows_no_such_metric_names_those_that_do(tmp_path):
    table = suite(TASKS)
    with pytest.raises(InputError, match="over priors; they can over al-mll, al-mll-task-units, al-rmse"):
        draw("priors", table.assign(simple_regret=1.0), tmp_path / "a.png", published=straight(tmp_path))
    with pytest.raises(InputError, match="no published curves of rmse on the tasks of this figure: Ishigami"):
        draw("al-rmse", suite(("ishigami",)), tmp_path / "a.png", published=straight(tmp_path))


def test_ours_and_theirs_are_tabulated_at_equal_n(tmp_path):
    table = suite(TASKS)
    found = beside(table, "rmse", straight(tmp_path))
    assert set(found["task"]) == {"branin_al"}
    assert set(found["method"]) == {"bald"}
    assert len(found) == 5
    np.testing.assert_allclose(found["published"], 10 - found["n"] / 10)
    rows = table[(table["benchmark"] == "branin_al") & (table["acquisition"] == "bald")]
    for row in found.itertuples():
        values = rows.loc[rows["num_observations"] == row.n, "rmse"]
        assert (row.mean, row.runs) == (pytest.approx(values.mean()), len(values))
        assert row.standard_error == pytest.approx(values.std(ddof=1) / len(values) ** 0.5)
    text = format_beside(found, "RMSE")
    assert "Branin" in text
    assert f"{found['mean'].iloc[-1] / found['published'].iloc[-1]:.2f}  Riis et al. (2022)" in text
    with pytest.raises(InputError, match="No published curve of nlpd"):
        beside(table, "nlpd", straight(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,metric,method,n,value\nbranin_al,rmse,bald,1,2\n", "no column source"),
        (HEADING, "there is none"),
        (HEADING + "branin_al,rmse,bald,1,2,x\nbranin_al,rmse,bald,two,3,x\n", "line 3 is not"),
        (HEADING + "branin_al,rmse,bald,1,inf,x\n", "line 2 is not"),
        (HEADING + "branin_al,rmse,,1,2,x\n", "line 2 is not"),
        ("", "cannot be read"),
    ],
)
def test_a_file_that_is_not_of_curves_is_refused(tmp_path, text, message):
    path = tmp_path / "published.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_overlay(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_overlay(tmp_path / "missing.csv")


def test_points_come_in_the_order_of_n(tmp_path):
    table = straight(tmp_path)
    curve = table[(table["method"] == "bald") & (table["metric"] == "rmse")]
    assert curve["n"].tolist() == [0.0, 8.0, 40.0]
