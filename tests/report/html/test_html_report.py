"""The page as a file: what is in it, and that nothing has to be fetched for it."""

import dataclasses
import hashlib
import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from importlib import resources

import pytest

from scorebo.cli import main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.launch.sweep import FAILED, Sweep
from scorebo.report import FIGURES, provenance
from scorebo.report.claims import Finding, Statement
from scorebo.report.claims.base import UNDECIDED
from scorebo.report.claims.text import LEGEND, SIGNS
from scorebo.report.evidence import Evidence
from scorebo.report.html.marks import Mark
from scorebo.report.html.page_figures import PageFigure, page_figure
from scorebo.report.html.panels import CONTRAST, DARK_PAGE, SYMBOLS, contrast, figure_panels, numbers, on_dark
from scorebo.report.html.templates import part, templates
from scorebo.report.html.write import Following, write_report
from scorebo.report.provenance_check import compare_with_now
from scorebo.report.query import Query
from scorebo.report.statistics import Estimate
from scorebo.report.statistics.text import ranges
from scorebo.report.style import METHODS, method_styles
from scorebo.store import collect, run_id
from scorebo.store.identity import read_config
from scripts.validation.synthetic_results import make_results, write_records

NODES = ("benchmark", "model", "acquisition")
FIGURE_METHODS = ("qbmgp bqbc bald sal_ws sal_hr", "jes mes pes nei nei_map scorebo_hr")
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """The tags of a page with their attributes, and whether they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.scripts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)

    def of(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture(scope="module")
def page(report):
    return Page(report.read_text())


@pytest.fixture(scope="module")
def data(page):
    return json.loads(page.scripts[0])


def test_nothing_is_fetched(page, report):
    assert not [a for a in page.of("script", "img", "iframe", "source", "object") if "src" in a]
    assert [a["href"] for a in page.of("link")] == ["data:,"]
    assert {a["href"][0] for a in page.of("a")} == {"#"}
    assert "url(" not in report.read_text().partition("</style>")[0]
    (policy,) = (a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_landmarks_names_and_links(page):
    for tag in ("header", "nav", "main", "footer"):
        assert len(page.of(tag)) == 1
    assert page.of("html")[0]["lang"] == "en-GB"
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.of("a")} <= set(ids)
    assert len(page.of("table")) == len(page.of("caption"))
    assert all("scope" in a for a in page.of("th"))
    assert all(a["aria-labelledby"] in ids for a in page.of("section"))
    assert all(a.get("aria-label") for a in page.of("nav", "figure"))


def test_every_figure_is_there_or_says_what_is_missing(page, data, results):
    assert set(FIGURES) <= {a.get("id") for a in page.of("article")}
    assert {"al-mll", "al-rmse", "bo-regret", "priors", "ishigami-hyperparameters", "sal-example"} <= set(
        data["figures"]
    )
    missing = [a["id"] for a in page.of("article") if "missing" in a["class"]]
    assert {"addgp", "pd1", "saas-final"} <= set(missing)
    assert not set(missing) & set(data["figures"])
    assert len(data["runs"]) == Evidence(results).table["run_id"].nunique()


def test_numbers_are_those_of_the_figure(data, results):
    evidence = Evidence(Query(results, "smoke"))
    figure = FIGURES["al-mll"].data(evidence.runs("al_mll"))
    found = data["figures"]["al-mll"]
    assert [panel["title"] for panel in found["panels"]] == ["Gramacy (1D)", "Higdon", "Ishigami", "Ranking"]
    for panel, shown in zip(figure.panels, found["panels"], strict=True):
        for line, plain in zip(panel.lines, shown["lines"], strict=True):
            assert plain["s"] == line.method
            assert plain["y"] == pytest.approx(line.mean, rel=5e-5)  # five digits
            assert len(line.x) == (plain["x"]["count"] if isinstance(plain["x"], dict) else len(plain["x"]))


def test_the_command_of_a_curve_names_exactly_its_runs(results):
    evidence = Evidence(Query(results, "smoke"))
    for name in ("bo-regret", "priors", "ishigami-hyperparameters"):
        figure = page_figure(name, evidence)
        runs = evidence.runs(name.replace("-", "_")).drop_duplicates("run_id")
        groups = dict(list(runs.groupby(list(NODES))["run_id"]))
        assert len(figure.data["curves"]) == len(groups)
        for *_, model, command in figure.data["curves"]:
            program, sweep, *rest = shlex.split(command)
            assert (program, sweep, rest[-2]) == ("scorebo", "sweep", "--scale")
            configs = sweep_configs([*rest[:-2], f"scale={rest[-1]}"])
            names = {
                tuple(config[node]["name"] for node in ("benchmark", "model", "acquisition")) for config in configs
            }
            (who,) = names
            assert who[1] == model
            assert {run_id(config) for config in configs} == set(groups[who])
            assert all(config["results"] == str(results) for config in configs)


def test_hyperparameters_and_examples_become_panels(data):
    sets = data["figures"]["ishigami-hyperparameters"]
    assert [panel["title"] for panel in sets["panels"]][:2] == ["Lengthscale 1", "Lengthscale 2"]
    assert all(panel["power"] == "Value" for panel in sets["panels"])
    assert sets["reference"] == "Reference"
    drawn = data["figures"]["hellinger-mm"]
    assert drawn["drawn"]
    assert {looks["label"] for looks in drawn["series"].values()} >= {"Moment matching", "Exact"}
    assert drawn["panels"][5]["title"] == "Hellinger, GP 1: a poor case"
    assert (drawn["columns"], drawn["rows"]) == (2, 4)
    shares = data["figures"]["sal-example"]["panels"][3]
    assert shares["title"] == "Hellinger distance: GP 2"
    assert shares["lines"][0]["base"] == 0
    bands = data["figures"]["scorebo-example"]["panels"][2]["lines"]
    assert sum("b" in line for line in bands) == 2
    assert all(b >= 0 for line in bands for b in line.get("b", ()))


def test_methods_of_a_figure_have_symbols_of_their_own():
    for methods in (
        ["qbmgp", "bqbc", "bald", "sal_ws", "sal_hr"],
        ["jes", "mes", "pes", "nei", "nei_map", "scorebo_hr"],
    ):
        assert len({SYMBOLS[method_styles(METHODS)[method].marker] for method in methods}) == len(methods)
    assert all(style.marker in SYMBOLS for style in method_styles(METHODS).values())


def test_colors_stand_out_from_a_dark_page():
    for style in method_styles(METHODS).values():
        assert contrast(on_dark(style.color), DARK_PAGE) >= CONTRAST
    assert on_dark("#56b4e9") == "#56b4e9"


def test_what_is_written_into_the_page_cannot_break_it():
    nasty = '</script><script>alert("x")</script>'
    written = templates().from_string("{{ data|tojson }}").render(data={"notes": [nasty]})
    assert "</" not in written
    assert json.loads(written) == {"notes": [nasty]}
    who = {"benchmark": nasty, "model": nasty, "acquisition": nasty}
    figure = PageFigure(nasty, nasty, nasty, nasty, data={"notes": [nasty]})
    places = {"places": [(nasty, 1.0)], "blocks": 1, "what": nasty, "p": None, "where": nasty, "words": nasty}
    ranked = dataclasses.replace(figure, tests={"metric": nasty, "ranks": [places]})
    statement = Statement(nasty, Estimate(1.0), 1, UNDECIDED)
    finding = Finding(nasty, nasty, UNDECIDED, 1, None, (statement,), note=nasty)
    stopped = who | {
        "state": nasty,
        "reason": nasty,
        "runs": 1,
        "seeds": nasty,
        "iterations": (nasty, 1),
        "sweeps": nasty,
    }
    fallback = stopped | {"kind": nasty, "times": 1, "command": nasty}
    origin = {"git": {"commit": nasty}, "packages": {nasty: nasty}, "runs": {}}
    for shown in (
        part("overview", [(nasty, nasty)], nasty, [ranked], [(nasty, nasty, 1)]),
        part("scorecard", [finding], [finding], SIGNS, LEGEND, nasty),
        part("marked", [Mark(nasty, nasty)], Following(nasty, 30.0)),
        part("runs", 30, 0, 20, nasty),
        part("figure", ranked),
        part("figure_list", [figure]),
        part("failures", [fallback], [stopped], [stopped]),
        part("provenance", origin, nasty, nasty, [nasty], nasty, {(nasty, nasty): 1}),
    ):
        assert "&lt;script" in shown
        assert "<script" not in shown
    assert numbers([1.0, float("nan"), 123456.789, 1e-20]) == [1, None, 123460, 1e-20]


def test_a_number_that_is_not_there_is_not_sorted_by():
    rows = [
        {"benchmark": "branin", "model": "map", "acquisition": "nei", "seed": 2.0, "num_failed_points": float("nan")}
    ]
    shown = part("failed_points", rows)
    assert '<td class="number" data-value="2">2</td><td class="number">–</td>' in shown


def test_the_library_is_what_it_says_it_is():
    folder = resources.files("scorebo.report.html").joinpath("vendor")
    listed = re.findall(r"\| `(\S+)` \| `(\S+)` \| (\S+) \| (\w{64}) \|", folder.joinpath("README.md").read_text())
    assert len(listed) == 2
    for name, _, version, digest in listed:
        content = folder.joinpath(name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert f"v{version}".encode() in content[:100]
        assert b"</script" not in content
        assert folder.joinpath(name.partition(".")[0] + ".LICENSE").is_file()


def test_failed_points_are_counted_by_run(tmp_path):
    (config,) = sweep_configs(["experiment=al_mll", "benchmark=gramacy1", "acquisition=bald", "seed=1", "scale=smoke"])
    make_results(tmp_path, [config])
    folder = next(path.parent for path in tmp_path.rglob("records.jsonl"))
    records = [json.loads(line) for line in (folder / "records.jsonl").read_bytes().splitlines()]
    for record in records:
        del record["checksum"]
    for k in (2, 4):
        records[k]["failed_points"] = [{"x": [0.5], "reason": "no power"}] * k
    write_records(folder, run_id(config), records)
    write_report(Evidence(Query(tmp_path, "smoke")), tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text().partition('id="h-failures"')[2].partition("</section>")[0]
    assert "Failed evaluations, replaced by other points" in shown
    assert [re.sub("<[^>]*>", " ", row).split()[-1] for row in re.findall(r"<tr>.*?</tr>", shown)][-1] == "6"


def test_healthy_runs_alone(results, tmp_path, monkeypatch):
    evidence = Evidence(Query(results, "smoke"))
    ill = set(evidence.table["run_id"].unique()[:3])
    monkeypatch.setattr("scorebo.report.statistics.health.unhealthy_runs", lambda table: ill)
    left = Evidence(Query(results, "smoke", healthy_only=True))
    assert set(evidence.table["run_id"]) - set(left.table["run_id"]) == ill
    monkeypatch.setattr("scorebo.report.statistics.health.unhealthy_runs", lambda table: set(table["run_id"]))
    with pytest.raises(InputError, match="No run has a healthy sampler"):
        Evidence(Query(results, healthy_only=True))


def test_provenance_reads_the_report(report, results, tmp_path, monkeypatch, capsys):
    assert main(["provenance", str(report)]) == 0
    text = capsys.readouterr().out
    assert f"command    scorebo report --results {results} --scale smoke --out {report}" in text
    count = Evidence(Query(results, "smoke")).table["run_id"].nunique()
    assert f"data       unchanged: all {count} runs are as they were\n" in text
    assert "al_mll (smoke)" in text
    moved = tmp_path / "moved"
    shutil.copytree(results, moved)
    shutil.rmtree(next((moved / "branin").glob("*/nei/seed-1-*")))
    make_results(moved, sweep_configs(["experiment=bo_regret", "scale=smoke", "benchmark=branin", "acquisition=mes"]))
    found = provenance.read(report)
    state = compare_with_now(found, moved)
    assert (state.unchanged, len(state.gone), state.further) == (count - 1, 1, 3)
    ill = set(collect(moved).query("acquisition == 'mes' and seed < 3")["run_id"])
    monkeypatch.setattr("scorebo.report.statistics.health.unhealthy_runs", lambda table: ill)
    healthy = {"experiment": "bo_regret", "scale": "smoke", "healthy_only": True}
    assert compare_with_now({**found, "selection": healthy}, moved).further == 1


def failures_of(results, tmp_path):
    """The rows of the tables on failures, in plain text, by caption; the section's text if there is no table."""
    out = tmp_path / "report.html"
    assert main(["report", "--results", str(results), "--scale", "smoke", "--out", str(out)]) == 0
    section = re.search('<section id="failures".*?</section>', out.read_text(), re.DOTALL).group()
    tables = re.findall("<caption>(.*?)</caption>.*?<tbody>(.*?)</tbody>", section, re.DOTALL)
    plain = {
        caption: [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")[:-1]]
        for caption, body in tables
    }
    return plain or re.sub("<.*?>", "", section)


def test_nothing_failed_is_said_where_nothing_did(report):
    assert "Nothing failed or fell back." in report.read_text()


def test_runs_that_failed_or_were_lost_are_grouped(results, tmp_path):
    shutil.copytree(results, tmp_path / "results")
    results = tmp_path / "results"
    base = ["experiment=al_mll", f"results={results}"]
    sweep = Sweep.create(sweep_configs([*base, "scale=smoke", "benchmark=gramacy1,higdon,branin_al"]), [])
    Sweep.create(sweep_configs([*base, "scale=small", "benchmark=gramacy2", "seed=1"]), [])  # not of this page
    for run in sweep.runs:
        if (run.benchmark, run.acquisition) == ("higdon", "bqbc"):
            reason = f"the evaluation at [0.{run.seed}] returned nan" if run.seed < 3 else "out of memory"
            sweep.note(run, FAILED, reason=reason)
    found = failures_of(results, tmp_path)
    assert list(found) == ["Runs that failed, were lost or were cancelled"], "and nowhere that nothing failed"
    (lost,) = {row[4] for row in found["Runs that failed, were lost or were cancelled"] if row[3] == "lost"}
    assert sorted(found["Runs that failed, were lost or were cancelled"]) == sorted(
        [task, "al_lognormal", method, state, reason, str(runs), seeds, "0", sweep.name]
        for task, method, state, reason, runs, seeds in (
            ("Gramacy (1D)", "QBMGP", "lost", lost, 3, "1–3"),
            ("Gramacy (1D)", "BQBC", "lost", lost, 3, "1–3"),
            ("Higdon", "QBMGP", "lost", lost, 3, "1–3"),
            ("Higdon", "BQBC", "failed", "e.g. the evaluation at [0.1] returned nan", 2, "1–2"),
            ("Higdon", "BQBC", "failed", "out of memory", 1, "3"),
            *(("Branin", m, "lost", lost, 3, "1–3") for m in ("QBMGP", "BQBC", "BALD", "SAL-WS", "SAL-HR")),
        )
    )


def test_runs_that_have_not_ended_are_grouped(results, tmp_path):
    shutil.copytree(results, tmp_path / "results")
    results = tmp_path / "results"
    for seed in (1, 3):
        (folder,) = (results / "gramacy1").glob(f"*/bald/seed-{seed}-*")
        (folder / "finished.json").unlink()
    found = failures_of(results, tmp_path)
    records = str(int(collect(results).query("benchmark == 'gramacy1'")["iteration"].max()))
    assert found == {"Runs that have not ended": [["Gramacy (1D)", "al_lognormal", "BALD", "2", "1, 3", records]]}


@pytest.mark.parametrize(("numbers", "words"), [([3, 1, 2, 7], "1–3, 7"), ([4], "4"), ([], ""), ([1, 2, 2], "1–2")])
def test_ranges_of_seeds(numbers, words):
    assert ranges(numbers) == words


def test_drawings_without_names_have_no_legend():
    drawn = figure_panels(FIGURES["sal-example"].compute(None))
    assert {looks["label"] for looks in drawn["series"].values()} == {""}


def test_refused(tmp_path, results, capsys):
    assert main(["report", "--results", str(results), "--out", str(tmp_path / "report.pdf")]) == 2
    assert "must end in .html" in capsys.readouterr().err
    assert main(["report", "--results", str(results), "--scale", "large", "--out", str(tmp_path / "r.html")]) == 2
    assert "Allowed: paper, small, smoke" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["report", "--results", str(tmp_path / "empty"), "--out", str(tmp_path / "r.html")]) == 2
    assert "There are no runs in" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["report", "--results", str(results), "--out", str(tmp_path / "file" / "r.html")]) == 2
    assert "A file is where a folder is needed" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))


def test_the_audit_is_part_of_the_page(report, results, tmp_path):
    def section(path):
        return re.search('<section id="audit".*?</section>', path.read_text(), re.DOTALL).group()

    plain = re.sub("<[^>]*>", " ", section(report))
    assert re.search(r"Audit\s+(\d+ warnings?, )?\d+ notes? \(16 checks of \d+ runs: experiment ", plain)
    assert "All runs of nei_map are under model map" in plain
    assert "contradicted" not in section(report)
    shutil.copytree(results, tmp_path / "results")
    one, other = ((tmp_path / "results" / "gramacy1").glob(f"*/{name}/seed-1-*") for name in ("bald", "sal_hr"))
    records = [json.loads(line) for line in (next(one) / "records.jsonl").read_bytes().splitlines()]
    folder = next(other)
    own = folder.name.rpartition("-")[2]
    identity = run_id(read_config(folder / "config.yaml"))
    write_records(folder, identity, [{k: v for k, v in r.items() if k != "checksum"} | {"run": own} for r in records])
    out = tmp_path / "report.html"
    for choice in (["--scale", "smoke"], ["--experiment", "al_mll"], ["--benchmark", "gramacy1"]):
        assert main(["report", "--results", str(tmp_path / "results"), *choice, "--out", str(out)]) == 0
        assert '<span class="badge contradicted"><span aria-hidden="true">✗</span> serious</span>' in section(out)
        assert "gramacy1 under al_lognormal: bald, sal_hr, seeds 1" in section(out)


def test_what_the_audit_says_cannot_break_the_page():
    nasty = '</script><script>alert("x")</script>'
    row = dict.fromkeys(("severity", "look", "sign", "check", "what", "do", "where", "runs"), nasty) | {"count": 1}
    shown = part("audit", [row], nasty, file="audit.html")
    assert "&lt;script" in shown
    assert "<script" not in shown
