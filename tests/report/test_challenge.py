"""A method against reference runs: what is paired, what is refused, and what the commands make of it."""

import json
import os
import shlex
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scorebo.cli import build_parser, main
from scorebo.config.sweep import sweep_configs
from scorebo.errors import InputError
from scorebo.launch import Local
from scorebo.launch.submit import in_hand
from scorebo.report import provenance
from scorebo.report.challenge import SUITES, Suite, comparisons, prepare, suite_named
from scorebo.report.evidence import Evidence, collect_asked
from scorebo.report.figures import FIGURES
from scorebo.report.html.page_figures import page_figure
from scorebo.report.query import Query
from scorebo.report.statistics import compare
from scorebo.report.style import CHALLENGER, method_styles, use_displays
from scorebo.run.loop import execute
from scorebo.store import collect, run_id
from scorebo.store.reference import VARIABLE, reference_archives
from scorebo.store.schema import METRICS
from scripts.validation.synthetic_results import make_results
from tests.report.report_tables import join, run

SMOKE = ["experiment=al_mll", "scale=smoke"]
METHODS = ["qbmgp", "bqbc", "bald", "sal_ws", "sal_hr"]
OWN_MODEL = """# @package _global_
defaults:
  - override /model: map
acquisition:
  name: own_model
  _target_: scorebo.acquisition.BALD
"""
OTHER_TASK = """# @package _global_
acquisition:
  name: other_task
  _target_: scorebo.acquisition.BALD
benchmark:
  noise_std: 0.2
"""
TINY = """# @package _global_
# Tiny runs.
experiment:
  name: tiny
  benchmarks: [gramacy1, higdon]
  acquisitions: [random, sobol]
  seeds: 2
  total: 5
  settings: {mcmc.warmup: 10, mcmc.thinning: 1, mcmc.num_mcmc_samples: 3, acquisition_optimizer.raw_samples: 32}
  figures: []
"""
CONFIGS = {
    "acquisition/mine": "name: mine\n_target_: scorebo.acquisition.BALD\n",
    "acquisition/own_model": OWN_MODEL,
    "acquisition/other_task": OTHER_TASK,
    "experiment/tiny": TINY,
}


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    for name, text in CONFIGS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """Invented runs of two of the suite's tasks, of one of them for two of three seeds."""
    folder = tmp_path_factory.mktemp("invented")
    found = sweep_configs([*SMOKE, "benchmark=gramacy1,higdon"])
    make_results(folder, [c for c in found if (c["benchmark"]["name"], c["seed"]) != ("higdon", 3)])
    return folder


def archive(results, out):
    assert main(["archive", "create", "--results", str(results), "--out", str(out), "--kind", "summary"]) == 0
    return out


@pytest.fixture(scope="module")
def reference(invented, tmp_path_factory):
    return archive(invented, tmp_path_factory.mktemp("reference") / "al.parquet")


@pytest.fixture
def place(tmp_path, reference, monkeypatch):
    """An empty working folder in which the reference is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(reference))
    return tmp_path


def challenge(configs, *more, method="mine", suite="al", **options):
    return prepare([f"acquisition={method}", *more], suite_named(suite, configs), config_dir=configs, **options)


def test_the_runs_are_on_the_tasks_and_seeds_of_the_reference(place, configs):
    found = challenge(configs)
    pairs = {(config["benchmark"]["name"], config["seed"]) for config in found.configs}
    assert pairs == {("gramacy1", 1), ("gramacy1", 2), ("gramacy1", 3), ("higdon", 1), ("higdon", 2)}
    assert len(found.configs) == 5
    assert {config["acquisition"]["name"] for config in found.configs} == {"mine"}
    assert found.query.scale == "smoke"
    assert sorted(found.opponents) == sorted(METHODS)
    twins = {(c["benchmark"]["name"], c["seed"]): c for c in sweep_configs([*SMOKE, "acquisition=bald"])}
    for config in found.configs:
        twin = twins[config["benchmark"]["name"], config["seed"]]
        assert run_id({**config, "acquisition": twin["acquisition"]}) == run_id(twin)
    left_out = "Left out, since the reference has no run of it at scale smoke: "
    assert [note for note in found.notes if note.startswith(left_out)] == [
        f"{left_out}{task}." for task in ("gramacy2", "branin_al", "ishigami", "hartmann6_al")
    ]


def test_fewer_tasks_and_seeds(place, configs):
    found = challenge(configs, "benchmark=higdon", "results=elsewhere", "metrics_every=2", seeds=1)
    assert [(c["benchmark"]["name"], c["seed"], c["metrics_every"]) for c in found.configs] == [("higdon", 1, 2)]
    assert found.results.name == "elsewhere"
    assert found.notes == []


@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        ((), {"method": "bald"}, "bald is one of the methods of experiment=al_mll"),
        ((), {"method": "mine,random"}, "Name the one method that is the challenger: acquisition=NAME, got 2"),
        (("mcmc=sequential",), {}, "mcmc=sequential would change the runs, and the reference has none with it"),
        (("mcmc.warmup=8",), {}, "mcmc.warmup=8 would change the runs"),
        (("model=map",), {}, "model=map would change the runs"),
        (("acquisition.power=2",), {}, "set in the file of its acquisition"),
        (("benchmark.total=9",), {}, "benchmark.total=9 would change the runs"),
        (("seed=1,2",), {}, "Give --seeds N"),
        (("scale=smoke",), {}, "Give --scale in place of scale"),
        (("benchmark=gramacy2",), {}, "Unknown benchmark of the runs in the reference"),
        ((), {"seeds": 4}, r"--seeds 4: experiment=al_mll has 3 seeds at scale smoke"),
        ((), {"scale": "small"}, "None of the runs of experiment=al_mll is in the reference"),
        ((), {"suite": "bo"}, "has no run on a task of experiment=bo_regret. Tasks there: gramacy1, higdon."),
        (("+launcher.color=red", "++mcmc.warmup=8"), {}, "mcmc.warmup=8 would change the runs"),
        ((), {"suite": "all"}, "Unknown suite 'all'. Did you mean al"),
        ((), {"method": "other_task"}, r"changes the task gramacy1, .*benchmark.noise_std=0.2 instead of 0.1"),
    ],
)
def test_what_cannot_be_paired_is_refused(place, configs, more, options, message):
    with pytest.raises(InputError, match=message):
        challenge(configs, *more, **options)


def test_a_method_with_a_model_of_its_own_is_paired_and_named(place, configs):
    found = challenge(configs, "benchmark=gramacy1", method="own_model")
    assert {config["model"]["name"] for config in found.configs} == {"map"}
    (note,) = found.notes
    assert note.startswith("The method has other settings than the reference on gramacy1: model.")
    assert "model.name=map instead of al_lognormal" in note


def test_a_method_of_the_reference_with_its_own_model_is_no_difference(place, configs, monkeypatch):
    sweep = ["experiment=bo_regret", "scale=smoke", "benchmark=branin", "acquisition=nei,nei_map,mes", "seed=1"]
    make_results(place / "bo", sweep_configs(sweep))
    monkeypatch.setenv(VARIABLE, str(archive(place / "bo", place / "bo.parquet")))
    found = challenge(configs, "benchmark=branin", suite="bo")
    assert sorted(found.opponents) == ["mes", "nei", "nei_map"]
    assert [note for note in found.notes if "settings" in note] == []
    found = challenge(configs, "benchmark=branin", suite="bo", method="own_model")
    assert "model.name=map instead of bo_lognormal" in " ".join(found.notes)


def outdated(reference, folder, monkeypatch, node, **only):
    """The reference as it would be if a node had been raised to version 7 since, for some runs."""
    found = sweep_configs([*SMOKE, "benchmark=gramacy1,higdon"])
    for config in found:
        if all(config[name]["name"] in names for name, names in only.items()):
            config[node] = {**config[node], "version": 7}
    make_results(folder / "old", found)
    monkeypatch.setenv(VARIABLE, str(archive(folder / "old", folder / "old.parquet")))


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("benchmark", "benchmark gramacy1 has version 7 there and 1 now"),
        ("model", "model al_lognormal has version 7 there and 1 now"),
        ("mcmc", "mcmc nuts has version 7 there and 1 now"),
        ("acquisition_optimizer", "acquisition_optimizer has version 7 there and 3 now"),
        ("acquisition", "acquisition bald has version 7 there and 1 now"),
    ],
)
def test_runs_of_other_versions_are_refused_with_the_reason(place, configs, monkeypatch, node, words):
    only = {"benchmark": ["gramacy1"]} | ({"acquisition": ["bald"]} if node == "acquisition" else {})
    outdated(None, place, monkeypatch, node, **only)
    found = challenge(configs)
    count = 3 if node == "acquisition" else 15
    refused = f"{count} reference runs are left out, which this version would compute differently: {words}."
    assert refused in found.notes
    tasks = {config["benchmark"]["name"] for config in found.configs}
    assert tasks == ({"gramacy1", "higdon"} if node == "acquisition" else {"higdon"})
    if node == "acquisition":
        assert "The reference has no run of bald on gramacy1." in found.notes
    table = collect_asked(Query((), everything=True, reference=reference_archives()))
    assert refused in table.attrs["problems"]
    assert table["run_id"].nunique() == 30 - count
    assert "reference" not in table.attrs


def test_a_reference_of_another_version_alone_is_refused(place, configs, monkeypatch):
    outdated(None, place, monkeypatch, "mcmc")
    with pytest.raises(
        InputError, match=r"No run of the reference can be paired\. 30 reference runs .*mcmc nuts has version 7"
    ):
        challenge(configs)
    with pytest.raises(InputError, match="30 reference runs are left out"):
        Evidence(Query((), everything=True, reference=reference_archives()))


def test_own_runs_of_another_version_are_the_user_s_business(place, invented):
    """Runs that are in the results as well are taken from there, whatever the reference has."""
    table = collect_asked(Query(str(invented), everything=True, reference=reference_archives()))
    pd.testing.assert_frame_equal(table, collect(invented, points=False))


def test_the_suites_are_experiments_and_metrics_that_exist():
    from scorebo.config import available

    for suite in SUITES.values():
        assert suite.experiment in available("experiment")
        assert set(suite.metrics) <= set(METRICS)
        assert set(suite.figures) <= set(FIGURES)
    assert suite_named("al_mll") == suite_named("al")
    assert suite_named("demo") == Suite("demo")


# What is compared, and how it is shown.


def test_the_challenger_is_compared_with_each_other_method():
    rng = np.random.default_rng(1)
    runs = [run("higdon", m, s, rng.normal(size=6)) for m in ("bald", "mine", "sal_hr") for s in (1, 2, 3, 4)]
    table = join(*runs)
    found = compare(table, "negative_mll", challenger="mine")
    assert [(pair.method, pair.baseline) for pair in found.pairs] == [("mine", "bald"), ("mine", "sal_hr")]
    finals = table[table["num_observations"] == 7].pivot(index="seed", columns="acquisition", values="negative_mll")
    np.testing.assert_allclose(found.pairs[0].final.mean.value, (finals["mine"] - finals["bald"]).mean(), rtol=1e-12)
    with pytest.raises(InputError, match="Unknown challenger 'yours'"):
        compare(table, "negative_mll", challenger="yours")


def test_under_several_models_those_of_one_model_are_compared():
    rng = np.random.default_rng(1)
    runs = [
        run("higdon", method, seed, rng.normal(size=6), model=model)
        for method in ("bald", "mine") for seed in (1, 2, 3) for model in ("botorch", "saas")
    ]  # fmt: skip
    found = compare(join(*runs), "negative_mll", challenger="mine")
    couples = [("mine@botorch", "bald@botorch"), ("mine@saas", "bald@saas")]
    assert [(pair.method, pair.baseline) for pair in found.pairs] == couples


def test_the_challenger_stands_out():
    use_displays(pd.DataFrame(), "mine")
    styles = method_styles([*METHODS, "mine"])
    assert styles["mine"] == CHALLENGER
    assert {style.linewidth for method, style in styles.items() if method != "mine"} == {1.1}
    assert method_styles(["bald", "sal_hr"])["bald"].linewidth == 1.1
    use_displays(pd.DataFrame(), "bald")
    assert method_styles(["bald"])["bald"] == styles["bald"]._replace(linewidth=CHALLENGER.linewidth)
    use_displays(pd.DataFrame())
    assert method_styles(["mine"])["mine"] != CHALLENGER


def test_a_query_says_itself_as_options_and_as_plain_values(place, configs, invented):
    query = Query("mine", reference=reference_archives(), challenger="mine", experiment="al_mll", config_dir=configs)
    assert query.arguments()[:3] == ["--results", "mine", "--reference"]
    assert query.arguments()[-2:] == ["--challenger", "mine"]
    again = Query.from_dict(json.loads(json.dumps(query.as_dict())))
    assert again == replace(query, results=[str(place / "mine")])
    alone = Query.from_dict({"reference": True})
    assert alone.results == ()
    assert Query.from_dict(alone.as_dict()).results == []
    (place / "results").mkdir()
    assert Query.from_dict({"reference": True}).results == "results"


def test_selection_adds_the_challenger_to_the_experiment(place, configs, invented):
    make_results(place / "results", challenge(configs).configs)
    options = {"reference": reference_archives(), "config_dir": configs}
    with_it = Evidence(Query("results", challenger="mine", **options))
    chosen = with_it.of("al_mll")
    assert (chosen.found, chosen.expected) == (25 + 5, 6 * 6 * 3)
    assert set(with_it.runs("al_mll")["acquisition"]) == set(METHODS)  # claims are about the paper's methods
    without = Evidence(Query("results", **options)).of("al_mll")
    assert (without.found, without.expected) == (25, 6 * 5 * 3)
    narrow = Evidence(Query("results", challenger="mine", acquisition=("bald",), **options)).of("al_mll")
    assert set(narrow.table["acquisition"]) == {"mine", "bald"}
    assert narrow.found == 10
    own = Evidence(Query("results", challenger="bald", **options))
    assert set(own.runs("al_mll")["acquisition"]) == set(METHODS)


@pytest.fixture
def launched(monkeypatch):
    """Runs are only noted down, not computed."""
    submitted = []
    monkeypatch.setattr(Local, "submit", lambda self, sweep, left: submitted.append((sweep, left)))
    return submitted


def test_the_same_command_goes_on(place, configs, launched, monkeypatch, capsys):
    command = ["challenge", "acquisition=mine", "--config-dir", str(configs), "benchmark=higdon"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "mine against" in out
    assert "al_mll-1 submitted (local): 2 runs" in out
    assert "The same command again compares" in out
    ((sweep, _),) = launched
    # While the first sweep has them before it they are not submitted again.
    make_results(place / "results", [sweep.config(0)])
    lock = sweep.lock()
    waiting = in_hand([sweep.config(0), sweep.config(1)], "al_mll")
    assert [(each.run_id, each.state, each.sweep) for each in waiting] == [
        (run_id(sweep.config(1)), "queued", "al_mll-1")
    ]
    assert in_hand([sweep.config(0)], "al_mll") == in_hand([sweep.config(1)], "bo_regret") == []
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "2 runs, 1 of them finished already" in out
    assert "1 of them running or queued in al_mll-1" in out
    assert len(launched) == 1
    os.close(lock)  # nobody has the run any more
    assert main(command) == 0
    assert "al_mll-2 submitted (local): 1 runs" in capsys.readouterr().out
    make_results(place / "results", [sweep.config(1)])
    assert main([*command, "--metric", "nlpd", "--out", "mine.html"]) == 0
    out = capsys.readouterr().out
    assert "2 runs, 2 of them finished already" in out
    assert "Differences in negative log predictive density, method minus the other" in out
    assert "mine.html (experiment al_mll at scale smoke (benchmark higdon): 12 of 18 runs" in out
    page = (place / "mine.html").read_text()
    assert '<section id="comparison"' in page
    assert "MINE minus each other method: negative log predictive density" in page
    assert len(launched) == 2
    origin = provenance.read(place / "mine.html")
    assert main(["provenance", "mine.html"]) == 0
    assert f"unchanged: all {len(origin['runs'])} runs are as they were" in capsys.readouterr().out
    assert len(origin["runs"]) == 12


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--out", "mine.pdf"], "The report's file must end in .html, got 'mine.pdf'."),
        (["--metric", "mine"], "Unknown metric 'mine'"),
        (["--seeds", "0"], "--seeds must be a whole number of at least 1, got 0."),
        (["launcher=slurm", "launcher.partition=cpu"], "launcher=slurm needs sbatch"),
        (["launcher.partition=cpu"], "Unknown setting in 'launcher' 'partition'"),
        (["--suite", "demo", "--scale", "smoke"], "experiment=demo has no scales: leave out scale=smoke."),
    ],
)
def test_mistakes_are_told_before_anything_is_run(place, configs, launched, monkeypatch, capsys, more, message):
    monkeypatch.setattr("scorebo.launch.slurm.launcher.shutil.which", lambda program: None)
    if "demo" in more:
        make_results(place / "demo", sweep_configs(["experiment=demo", "benchmark=gramacy1", "seed=1"]))
        monkeypatch.setenv(VARIABLE, str(archive(place / "demo", place / "demo.parquet")))
    assert main(["challenge", "acquisition=mine", "--config-dir", str(configs), *more]) == 2
    assert message in capsys.readouterr().err
    assert launched == []


def test_figures_and_comparisons_take_the_reference(place, configs, capsys):
    assert main(["compare", "--reference", "--metric", "rmse", "--baseline", "bald"]) == 0
    assert "experiment al_rmse at scale smoke: 25 of 90 runs" in capsys.readouterr().out
    assert main(["plot", "al-mll", "--reference", "--out", "al.svg"]) == 0
    assert main(["report", "--reference", "--experiment", "al_mll", "--out", "report.html"]) == 0
    assert '<section id="comparison"' not in (place / "report.html").read_text()
    make_results(place / "results", challenge(configs).configs)
    capsys.readouterr()
    command = ["--reference", "--challenger", "mine", "--config-dir", str(configs)]
    assert main(["compare", *command, "--metric", "rmse", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(pair["method"], pair["baseline"]) for pair in found["pairs"]} == {("mine", m) for m in METHODS}
    assert main(["plot", "al-mll", *command, "--out", "al.svg"]) == 0
    assert "MINE" in (place / "al.svg").read_text()
    assert main(["report", *command, "--experiment", "al_mll", "--out", "report.html"]) == 0
    assert "MINE minus each other method: log10 RMSE" in (place / "report.html").read_text()
    assert "stroke-width: 2.2" in (place / "al.svg").read_text()


def test_the_page_says_how_each_curve_is_computed(place, configs):
    found = challenge(configs)
    make_results(place / "results", found.configs)
    figure = page_figure("al-mll", Evidence(found.query))
    assert len(figure.data["curves"]) == 2 * (len(METHODS) + 1)
    ids = set()
    for *_, command in figure.data["curves"]:
        options, more = build_parser().parse_known_args(shlex.split(command)[1:])
        overrides = [*options.overrides, *more, f"scale={options.scale}"]
        ids |= set(map(run_id, sweep_configs(overrides, options.config_dir)))
    assert ids == figure.chosen.wanted


def test_the_list(place, invented, capsys):
    assert main(["reference", "list", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    table = collect(invented)
    seconds = table[[name for name in table if str(name).startswith("wall_seconds")]].sum().sum()
    assert found["core_hours"] == pytest.approx(seconds / 3600, rel=2e-3)  # timings of a summary are rounded
    assert (found["experiment"], found["scale"], found["runs"]) == ("al_mll", "smoke", 25)
    assert (found["methods"], found["seeds"]) == (sorted(METHODS), "1-3")
    assert found["iterations"] == len(table)
    assert main(["reference", "list"]) == 0
    assert "bald, bqbc, qbmgp, sal_hr, sal_ws" in capsys.readouterr().out


@pytest.mark.slow
def test_the_runs_share_designs_and_noise(tmp_path, configs, monkeypatch, capsys):
    """Real runs of an experiment of one's own: the same first observations, to the bit, and the same table."""
    monkeypatch.chdir(tmp_path)
    for config in sweep_configs(["experiment=tiny", "results=baselines"], configs):
        execute(config)
    create = ["archive", "create", "--results", "baselines", "--experiment", "tiny", "--config-dir", str(configs)]
    assert main([*create, "--out", "tiny.parquet"]) == 0
    monkeypatch.setenv(VARIABLE, "tiny.parquet")
    monkeypatch.setattr(Local, "submit", lambda self, sweep, left: [execute(sweep.config(index)) for index in left])
    command = ["challenge", "acquisition=mine", "--suite", "tiny", "--config-dir", str(configs), "--metric", "rmse"]
    assert main(command) == 0
    capsys.readouterr()
    assert main(command) == 0
    out = capsys.readouterr().out
    shutil.copytree("results", "both")
    shutil.copytree("baselines", "both", dirs_exist_ok=True)
    both = collect("both")
    first = both[both["iteration"] <= 2].groupby(["benchmark", "seed", "iteration"])
    assert set(first.size()) == {3}
    assert set(first["y"].nunique()) == {1}
    assert set(first["x"].agg(lambda points: len({tuple(x) for x in points}))) == {1}
    expected = compare(both, "rmse", challenger="mine")
    for pair in expected.pairs:
        assert pair.final.pairs == (2 if pair.task else 4)
    from scorebo.report.statistics.text import format_comparison

    assert format_comparison(expected) in out


def test_metrics_without_values_are_passed_over(place, configs):
    found = challenge(configs, "benchmark=gramacy1")
    make_results(place / "results", found.configs)
    evidence = Evidence(found.query)

    def metrics(suite, *given):
        return [each.metric for each in comparisons(evidence, suite, given)]

    assert metrics(found.suite) == ["negative_mll", "rmse"]
    assert metrics(found.suite, "nlpd") == ["nlpd"]
    assert metrics(Suite("al_mll", ("best_noiseless", "rmse"))) == ["rmse"]
    assert metrics(Suite("al_mll")) == ["negative_mll", "negative_mll_task_units"]


def test_only_archives_with_the_suite_s_tasks_are_read(place, configs, invented, monkeypatch):
    folder = place / "reference"
    archive(invented, folder / "al.parquet")
    make_results(place / "bo", sweep_configs(["experiment=bo_regret", "scale=smoke", "benchmark=branin", "seed=1"]))
    archive(place / "bo", folder / "bo.parquet")
    monkeypatch.setenv(VARIABLE, str(folder))
    assert [path.name for path in challenge(configs).query.reference] == ["al.parquet"]
    assert [path.name for path in challenge(configs, suite="bo").query.reference] == ["bo.parquet"]
    whole = (folder / "bo.parquet").read_bytes()
    (folder / "bo.parquet").write_bytes(whole[:-9] + b"?" + whole[-8:])
    assert any("bo.parquet is damaged" in note for note in challenge(configs).notes)
    with pytest.raises(
        InputError, match=r"No run on a task of experiment=bo_regret can be read\. .*bo.parquet is damaged"
    ):
        challenge(configs, suite="bo")


def test_a_suite_with_several_models(place, configs, invented, monkeypatch, capsys):
    make_results(place / "gp8", sweep_configs(["experiment=gp8_regret", "scale=smoke", "seed=1,2"]))
    monkeypatch.setenv(VARIABLE, str(archive(place / "gp8", place / "gp8.parquet")))
    assert len(challenge(configs, suite="gp8").configs) == 4
    found = challenge(configs, "model=botorch", suite="gp8")
    assert [(c["model"]["name"], c["seed"]) for c in found.configs] == [("botorch", 1), ("botorch", 2)]
    make_results(place / "results", challenge(configs, suite="gp8").configs)
    command = ["acquisition=mine", "--suite", "gp8", "--config-dir", str(configs), "--out", "mine.html"]
    assert main(["challenge", *command]) == 0
    out = capsys.readouterr().out
    rows = [line.split("  ")[0] for line in out.splitlines() if line.startswith("MINE")]
    assert rows == ["MINE (bo_lognormal)"] * 2 + ["MINE (botorch)"] * 2
