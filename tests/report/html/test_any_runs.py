"""The report on any runs: marks, ranks and paired tests, single runs, and sweeps that go on."""

import json
import re

import numpy as np
import pytest

from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.report import FIGURES
from scorebo.report.evidence import Evidence
from scorebo.report.figures.base import Line, Panel
from scorebo.report.html import watch
from scorebo.report.html.marks import marks
from scorebo.report.html.paired_tests import paired_tests
from scorebo.report.html.run_views import EMBEDDED, MOST, POINTS, choose, run_views, thinned
from scorebo.report.html.seed_curves import ALPHABET, LEVELS, MOST_POINTS, MOST_RUNS, encoded, seed_curves
from scorebo.report.html.write import Following, Section, write_report
from scorebo.report.query import Query
from scorebo.report.statistics import compare
from scorebo.store.sources import runs_by_digits

CHOSEN = {"benchmark": ("gramacy1",), "acquisition": ("bald", "sal_hr")}


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def decoded(text, low, high):
    levels = np.array([64 * ALPHABET.index(a) + ALPHABET.index(b) for a, b in zip(text[::2], text[1::2], strict=True)])
    return np.where(levels, low + (levels - 1) / (LEVELS - 1) * (high - low), np.nan)


def test_single_runs_take_two_letters_a_value():
    values = np.array([[0.0, 0.25, np.nan, 1.0, 5.0, -5.0]])
    (text,) = encoded(values, 0.0, 1.0)
    assert len(text) == 12
    np.testing.assert_allclose(decoded(text, 0.0, 1.0), [0.0, 0.25, np.nan, 1.0, 1.0, 0.0], atol=1 / LEVELS)


@pytest.mark.parametrize("log", [False, True])
def test_single_runs_of_a_panel_are_those_of_its_lines(log):
    each = 10.0 ** np.random.default_rng(1).normal(size=(30, 100))
    x = np.arange(100.0)
    panel = Panel("T", "x", "y", (Line("bald", x, each.mean(axis=0), x * 0, each=each),), log=log)
    line: dict = {}
    low, high, is_log = seed_curves(panel, [line], (0.0, 1e5))["levels"]
    assert is_log == log
    assert len(line["each"]) == MOST_RUNS
    for text, values in zip(line["each"], each, strict=False):
        assert len(text) == 2 * MOST_POINTS
        shown = np.log10(values[line["at"]]) if log else values[line["at"]]
        np.testing.assert_allclose(decoded(text, low, high), shown, atol=(high - low) / LEVELS)


def test_paired_tests_are_those_of_compare(results):
    evidence = Evidence(Query(results, "smoke"))
    chosen = evidence.of("al_mll")
    found = paired_tests(FIGURES["al-mll"], chosen)
    pairs = [pair for pair in compare(chosen.table, "negative_mll").pairs if pair.final.pairs]
    assert [row[3][1] for row in found["rows"]] == [pair.final.pairs for pair in pairs]
    assert [row[7][1] for row in found["rows"]] == pytest.approx([pair.final.p_holm for pair in pairs])
    (ranks,) = found["ranks"]
    assert [rank for _, rank in ranks["places"]] == sorted(rank for _, rank in ranks["places"])
    assert paired_tests(FIGURES["sal-example"], None) is None
    assert paired_tests(FIGURES["ishigami-hyperparameters"], chosen) is None


def test_tasks_with_other_methods_are_ranked_apart(results):
    chosen = Evidence(Query(results, everything=True, benchmark=("gramacy1", "branin"))).selection()
    found = paired_tests(FIGURES["bo-regret"], chosen)
    assert [ranks["where"] for ranks in found["ranks"]] == [" (Branin)", " (Gramacy (1D))"]
    assert all(row[3][1] for row in found["rows"])


def test_marks_say_what_is_synthetic_missing_and_reduced(results):
    evidence = Evidence(Query(results, "smoke", experiment="bo_regret"))
    rows = evidence.selection().table
    runs = [str(run) for run in rows["run_id"].unique()]
    found = marks(evidence, rows, {run: {"synthetic": True} for run in runs})
    assert [mark.kind for mark in found] == ["Synthetic", "Partial", "Reduced"]
    assert found[0].text.startswith(f"{len(runs)} of {len(runs)} runs are invented")
    assert found[1].text.startswith(f"Runs are missing: bo_regret has {len(runs)} of ")
    assert found[2].text == "Budgets below the paper's: bo_regret (smoke)."
    unfinished = rows.assign(finished=rows["run_id"] != runs[0])
    found = marks(evidence, unfinished, {runs[0]: {}, runs[1]: {"python": "3.11"}})
    assert f"1 of {len(runs)} runs have not finished." in [mark.text for mark in found]
    assert found[-1].kind == "Unknown origin"


def test_whole_computed_runs_have_no_marks(results):
    evidence = Evidence(Query(results, **CHOSEN))
    sessions = {str(run): {"python": "3.11"} for run in evidence.table["run_id"].unique()}
    assert marks(evidence, evidence.table, sessions) == []


def test_runs_that_have_a_view():
    runs = [f"{k:04d}abc" for k in range(500)]
    assert choose(runs[:EMBEDDED], []) == runs[:EMBEDDED]
    assert choose(runs[: EMBEDDED + 1], []) == []
    assert choose(runs, ["0003", "0001"]) == [runs[3], runs[1]]
    with pytest.raises(InputError, match="--run x: none of the 500 runs"):
        choose(runs, ["x"])
    with pytest.raises(InputError, match=f"asks for 500 runs; a page has views of at most {MOST}"):
        choose(runs, ["0"])
    assert thinned(np.arange(10_000))[[0, -1]].tolist() == [0, 9_999]
    assert len(thinned(np.arange(10_000))) == POINTS


def test_a_view_shows_the_numbers_of_its_run(results):
    evidence = Evidence(Query(results, **CHOSEN))
    run = str(evidence.table["run_id"].iloc[0])
    there = runs_by_digits(results)
    view = run_views(evidence, evidence.table, [run], there)[run[:12]]
    own = evidence.table[evidence.table["run_id"] == run].dropna(subset="num_observations")
    panels = {panel["title"]: panel["lines"][0] for panel in view["groups"]["Metrics and regret"]["panels"]}
    assert panels["RMSE"]["y"] == pytest.approx(own["rmse"].tolist(), rel=5e-5)
    records = [json.loads(line) for line in there[run[:12]].read("records.jsonl").splitlines()]
    points = {panel["title"]: panel["lines"][0] for panel in view["groups"]["Queries"]["panels"]}
    assert points["Input 1"]["y"] == pytest.approx([r["x"][0] for r in records if r["x"]], rel=5e-5, abs=1e-9)
    traces = {panel["title"]: panel["lines"][0] for panel in view["groups"]["Hyperparameters"]["panels"]}
    last = np.log10([record["hyperparameters"]["lengthscale"] for record in records if record["hyperparameters"]][-1])
    assert traces["Lengthscale 1"]["y"][-1] == pytest.approx(last[:, 0].mean(), rel=5e-5)
    assert traces["Lengthscale 1"]["b"][-1] == pytest.approx(last[:, 0].std(ddof=1), rel=5e-5)
    assert view["groups"]["Diagnostics"]["panels"][0]["title"] == "R-hat"
    assert set(run_views(evidence, evidence.table, [run], {})[run[:12]]["groups"]) == {  # of an archive
        *("Metrics and regret", "Hyperparameters", "Diagnostics")
    }


def test_pages_of_many_runs_have_views_on_request_alone(report, few_report, results, tmp_path):
    assert embedded(report.read_text())["views"] == {}
    assert "--run ID" in report.read_text()
    few = embedded(few_report.read_text())
    assert set(few["views"]) == {row[-1] for row in few["runs"]}
    run = embedded(report.read_text())["runs"][3][-1]
    out = tmp_path / "r.html"
    command = ["report", "--results", str(results), "--scale", "smoke", "--out", str(out)]
    assert main([*command, "--run", run[:8]]) == 0
    assert list(embedded(out.read_text())["views"]) == [run]
    assert main([*command, "--run", "nothing"]) == 2


def test_a_section_of_others_stands_after_the_overview(results, tmp_path):
    out = tmp_path / "report.html"
    write_report(Evidence(Query(results, **CHOSEN)), out, more=[Section("mine", "Mine", "<p>Nothing found.</p>")])
    ids = re.findall(r'<section id="(\w+)"', out.read_text())
    assert ids[:3] == ["overview", "mine", "figures"]
    assert '<a href="#mine">Mine</a>' in out.read_text()


def test_watching_goes_on_until_nothing_runs(tmp_path, monkeypatch):
    left = ["3 running, 5 queued, 0 finished.", "1 running, 0 queued, 7 finished.", None]
    monkeypatch.setattr(watch, "_running", lambda folders: left.pop(0))
    seen, said, slept = [], [], []

    def write(state):
        seen.append(state)
        if len(seen) == 1:
            raise InputError("There are no runs yet.")
        return "all"

    watch.follow(write, [tmp_path], said.append, pause=7.0, sleep=slept.append)
    assert [state and state.words[:9] for state in seen] == ["3 running", "1 running", None]
    assert slept == [7.0, 7.0]
    assert said == ["nothing to show yet. There are no runs yet.", "all"]
    left[:] = [None]
    with pytest.raises(InputError, match="no runs"):
        watch.follow(lambda _: write(None) if seen.clear() is None else "", [tmp_path], said.append)


def test_a_page_that_follows_says_so_and_reloads(results, tmp_path, capsys):
    out = tmp_path / "report.html"
    write_report(Evidence(Query(results, **CHOSEN)), out, follow=Following("2 running, 1 queued, 3 finished.", 30.0))
    page = out.read_text()
    assert "2 running, 1 queued, 3 finished. This page reloads itself every 30 s." in page
    assert embedded(page)["reload"] == 30.0
    chosen = ["--benchmark", "gramacy1", "--acquisition", "bald"]
    assert main(["report", "--results", str(results), *chosen, "--watch", "5", "--out", str(out)]) == 0
    assert embedded(out.read_text())["reload"] is None  # nothing runs
    assert capsys.readouterr().out.count("report.html") == 1
    with pytest.raises(SystemExit):
        main(["report", "--watch", "0", "--out", str(out)])


def test_runs_before_their_first_model_are_refused_with_the_reason(results, tmp_path):
    evidence = Evidence(Query(results, **CHOSEN))
    table = evidence.table[evidence.table["num_observations"].isna()].reset_index(drop=True)
    with pytest.raises(InputError, match="no run has got past its initial design"):
        write_report(Evidence(Query(results, everything=True), table), tmp_path / "report.html")
