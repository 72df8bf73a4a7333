import json
import os
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from scorebo import __version__
from scorebo.cli import main
from scorebo.store import RunStore
from tests.runs import tiny_config, tiny_overrides

RUN = ["run", "benchmark=gramacy1", "acquisition=sal_hr"]


def scorebo(*arguments, cwd=None, env=None):
    command = [sys.executable, "-m", "scorebo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | (env or {}), check=False)


class TestRun:
    def test_runs_then_skips(self, tmp_path, capsys):
        overrides = tiny_overrides(tmp_path)
        assert main(["run", *overrides]) == 0
        captured = capsys.readouterr()
        folder = RunStore(tmp_path, tiny_config(tmp_path)).folder
        assert "gramacy1 al_lognormal sal_hr seed 1: finished, negative MLL" in captured.out
        assert str(folder) in captured.out
        lines = captured.err.splitlines()
        assert len(lines) == 7
        assert lines[0].startswith("1/7  initial design")
        assert lines[-1].startswith("7/7  negative MLL")
        assert lines[-1].endswith("s/iteration")
        assert main(["run", *overrides]) == 0
        captured = capsys.readouterr()
        assert "already finished, nothing to do" in captured.out
        assert captured.err == ""

    def test_quiet_says_nothing(self, tmp_path, capsys):
        assert main(["run", "--quiet", *tiny_overrides(tmp_path)]) == 0
        captured = capsys.readouterr()
        assert captured.out == captured.err == ""

    def test_a_process_of_its_own_says_nothing_either(self, tmp_path):
        """Hydra warns of defaults that its parser takes outside of a composition."""
        done = scorebo("run", "--quiet", *tiny_overrides(tmp_path, "gramacy1", "random", "benchmark.total=2"))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_options_may_stand_between_settings(self, tmp_path):
        first, *rest = tiny_overrides(tmp_path, "gramacy1", "random", "benchmark.total=2")
        assert main(["run", first, "--quiet", *rest]) == 0
        assert len(list(tmp_path.rglob("finished.json"))) == 1
        with pytest.raises(SystemExit) as stop:
            main(["run", first, "--loud", *rest])
        assert stop.value.code == 2

    def test_interrupt_is_one_message_and_exit_code_130(self, tmp_path, capsys, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("scorebo.run.loop.execute", interrupted)
        assert main(["run", *tiny_overrides(tmp_path)]) == 130
        assert "the same command goes on from there" in capsys.readouterr().err

    def test_second_process_is_refused(self, tmp_path, capsys):
        with RunStore(tmp_path, tiny_config(tmp_path)):
            assert main(["run", *tiny_overrides(tmp_path)]) == 2
        message = capsys.readouterr().err
        assert str(os.getpid()) in message
        assert "Traceback" not in message

    def test_threads_are_set_before_the_libraries_load(self, tmp_path):
        (tmp_path / "threads_task.py").write_text(
            textwrap.dedent(
                """
                import os
                import torch
                from scorebo.benchmarks.active_learning import Gramacy1
                from threadpoolctl import threadpool_info

                class Reporting(Gramacy1):
                    def __init__(self, **settings):
                        super().__init__(**settings)
                        counts = {pool["num_threads"] for pool in threadpool_info()}
                        print("threads:", torch.get_num_threads(), *sorted(counts), os.environ["OMP_NUM_THREADS"])
                """
            )
        )
        overrides = tiny_overrides(tmp_path / "results", "gramacy1", "random", "benchmark.total=2", "threads=1")
        overrides.append("benchmark._target_=threads_task.Reporting")
        done = scorebo("run", *overrides, cwd=tmp_path, env={"OMP_NUM_THREADS": "2"})
        assert done.returncode == 0, done.stderr
        assert "threads: 1 1 1" in done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    for acquisition in ("sal_hr", "random"):
        for seed in (1, 2):
            overrides = tiny_overrides(results, "gramacy1", acquisition, f"seed={seed}", "benchmark.total=4")
            assert main(["run", "--quiet", *overrides]) == 0
    return results


class TestCollectAndPlot:
    def test_collect(self, results, tmp_path, capsys):
        for suffix, read in ((".parquet", pd.read_parquet), (".csv", pd.read_csv)):
            out = tmp_path / f"table{suffix}"
            assert main(["collect", str(results), "--out", str(out)]) == 0
            assert f"4 runs, 20 records: {out}" in capsys.readouterr().out
            table = read(out)
            expected = ["benchmark", "model", "acquisition", "seed", "iteration", "negative_mll", "nlpd", "rmse"]
            assert set(expected) <= set(table.columns)
            assert len(table) == 20
            assert table["negative_mll"].isna().sum() == 8
            assert table["finished"].all()

    def test_collect_hyperparameters(self, results, tmp_path, capsys):
        out = tmp_path / "sets.parquet"
        assert main(["collect", str(results), "--hyperparameters", "--out", str(out)]) == 0
        # Two initial points and four in all: models at iterations 3, 4 and 5 with three sets each.
        assert f"4 runs, 36 hyperparameter sets: {out}" in capsys.readouterr().out
        assert {"lengthscale_1", "outputscale", "noise", "mean"} <= set(pd.read_parquet(out).columns)

    @pytest.mark.parametrize(("figure", "suffix", "magic"), [
        ("al-mll", ".pdf", b"%PDF"), ("al-rmse", ".png", b"\x89PNG"), ("al-mll", ".svg", b"<?xml"),
    ])  # fmt: skip
    def test_plot(self, results, tmp_path, capsys, figure, suffix, magic):
        out = tmp_path / f"figure{suffix}"
        assert main(["plot", figure, "--results", str(results), "--all", "--out", str(out)]) == 0
        assert out.read_bytes().startswith(magic)
        assert str(out) in capsys.readouterr().out

    def test_unknown_figure(self, results, tmp_path, capsys):
        assert main(["plot", "al-mlll", "--results", str(results), "--out", str(tmp_path / "x.png")]) == 2
        assert "Unknown figure 'al-mlll'. Did you mean al-mll" in capsys.readouterr().err

    def test_a_copied_run_counts_once_and_another_version_of_it_is_refused(self, results, tmp_path, capsys):
        copy, out = tmp_path / "both", tmp_path / "table.csv"
        shutil.copytree(results, copy / "a")
        assert main(["collect", str(copy), "--out", str(out)]) == 0
        alone = capsys.readouterr().out
        shutil.copytree(results, copy / "b")
        assert main(["collect", str(copy), "--out", str(out)]) == 0
        assert capsys.readouterr().out == alone
        out.unlink()
        next((copy / "b").rglob("records.jsonl")).write_bytes(b"")
        assert main(["collect", str(copy), "--out", str(out)]) == 2
        assert "same run" in capsys.readouterr().err
        assert not out.exists()


@pytest.mark.parametrize(
    ("what", "some"),
    [
        ("benchmarks", {"gramacy1", "higdon", "gramacy2", "branin_al", "ishigami", "hartmann6_al"}),
        (
            "acquisitions",
            {"sal_hr", "sal_ws", "sal_kl", "bald", "bqbc", "qbmgp", "balm", "sobol", "random", "sal_hr_mc"},
        ),
        ("models", {"al_lognormal", "al_lognormal_no_outputscale", "bo_lognormal", "botorch", "map", "true"}),
        ("experiments", {"al_mll", "demo"}),
        ("figures", {"al-mll", "al-rmse"}),
    ],
)
def test_list(what, some, capsys):
    assert main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert some <= {line.split()[0] for line in lines}
    assert all(len(line.split()) > 1 for line in lines), "each name comes with what it is"


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"scorebo {__version__}\n"


def test_the_version_stands_in_one_place():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "scorebo/__init__.py"


@pytest.mark.parametrize("command", ["run", "collect", "plot", "report", "list", "completion"])
def test_help_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"examples:\n  scorebo {command} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "benchmark=gramacy1", "acquisition=sal"], "Did you mean sal_"),
        (["run", "benchmark=gramcy1", "acquisition=sal_hr"], "Did you mean gramacy1"),
        ([*RUN, "seed=-1"], "seed must be"),
        (
            [*RUN, "acquisition.distance=euclid"],
            "Unknown distance 'euclid'",
        ),
        ([*RUN, "model.kernel=cubic"], "Unknown kernel 'cubic'"),
        ([*RUN, "~acquisition_optimizer"], "acquisition_optimizer must be a node of settings"),
        ([*RUN, "~mcmc"], "Unknown sampler 'None'. Allowed: map, nuts, pyro, sequential"),
        ([*RUN, "~mcmc.warmup"], "mcmc.warmup must be a whole number"),
        ([*RUN, "acquisition_optimizer=3"], "acquisition_optimizer"),
        ([*RUN, "mcmc.warmup=0"], "mcmc.warmup must be a whole number of at least 1"),
        ([*RUN, "mcmc.target_acceptance=1"], "target_acceptance must be a finite number above 0 and below 1"),
        ([*RUN, "+foo=3"], "Unknown setting in 'the configuration' 'foo'"),
        ([*RUN, "model.mean=abc"], "mean of model 'al_lognormal'"),
        ([*RUN, "model.mean=.nan"], "mean"),
        ([*RUN, "model=true", "model.lengthscale=[0.1]", "model.outputscale=[1,2]"], "outputscale"),
        ([*RUN, "+model.standardize=maybe"], "standardize of model 'al_lognormal' must be true or false"),
        ([*RUN, "model._target_=builtins.dict"], "is not a scorebo.gp.surrogate.Surrogate"),
        ([*RUN, "benchmark._target_=builtins.dict"], "is not a scorebo.benchmarks.base.Benchmark"),
        ([*RUN, "acquisition._target_=builtins.dict"], "acquisition 'sal_hr'"),
        ([*RUN, "benchmark.initial=1"], "initial of task 'gramacy1'"),
        ([*RUN, "benchmark.total=1"], "total of task 'gramacy1'"),
        ([*RUN, "benchmark.noise_std=-1"], "noise_std of task 'gramacy1'"),
        ([*RUN, "acquisition._target_=no.such.Class"], "cannot be loaded"),
        ([*RUN, "+acquisition.color=red"], "color"),
        (["list", "tasks"], "Allowed: acquisitions, benchmarks, experiments, figures, models"),
        (["collect", "nowhere", "--out", "x.csv"], "nowhere"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("scorebo: ")
    assert message in error
    assert "Traceback" not in error
    assert list(tmp_path.rglob("records.jsonl")) == []


def test_unusable_results_folder(tmp_path, capsys):
    (tmp_path / "file").write_text("not a folder")
    assert main(["run", *tiny_overrides(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert main(["run", *tiny_overrides(tmp_path / "file" / "below")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "not a folder"


def test_foreign_config_in_the_folder_is_refused(tmp_path, capsys):
    folder = RunStore(tmp_path, tiny_config(tmp_path)).folder
    other = RunStore(tmp_path, tiny_config(tmp_path, "gramacy1", "sal_hr", "seed=2"))
    with other:
        pass
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_bytes((other.folder / "config.yaml").read_bytes())
    assert main(["run", *tiny_overrides(tmp_path)]) == 2
    assert "not the configuration this run started with" in capsys.readouterr().err


def test_numerical_libraries_are_not_loaded_for_help_or_a_finished_run(tmp_path):
    code = "import sys; from scorebo.cli import main; main(sys.argv[1:]); print(json.dumps(sorted(sys.modules)))"
    assert main(["run", "--quiet", *tiny_overrides(tmp_path, "gramacy1", "random", "benchmark.total=3")]) == 0
    for arguments in (
        ["list", "benchmarks"],
        ["run", *tiny_overrides(tmp_path, "gramacy1", "random", "benchmark.total=3")],
    ):
        command = [sys.executable, "-c", f"import json; {code}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        loaded = json.loads(done.stdout.splitlines()[-1])
        assert not {"torch", "numpy", "numba", "nutpie", "matplotlib", "pandas"} & set(loaded)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--results", "."],
        ["collect", ".", "--out", "table.csv"],
        ["list", "figures"],
        ["list", "experiments"],
    ],
)
def test_commands_that_only_look_never_load_torch(arguments, tmp_path):
    assert main(["run", "--quiet", *tiny_overrides(tmp_path, "gramacy1", "random", "benchmark.total=3")]) == 0
    code = "import sys, json; from scorebo.cli import main; main(sys.argv[1:]); print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "torch" not in json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("benchmark", "acquisition"), [("gramacy1", "sal_hr"), ("branin", "nei")])
def test_a_run_loads_what_it_needs_and_nothing_to_draw_or_tabulate_with(benchmark, acquisition, tmp_path):
    """Start-up is part of every run of a sweep: arviz, pandas and matplotlib would double it, and so would JAX."""
    code = "import sys, json; from scorebo.cli import main; main(sys.argv[1:]); print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code, "run", "--quiet", *tiny_overrides(tmp_path, benchmark, acquisition)]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert "nutpie._lib" in loaded
    unwanted = {"nutpie", "arviz", "arviz_stats", "pandas", "matplotlib", "scipy.stats", "submitit", "jax", "sympy"}
    assert not unwanted & set(loaded)


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m scorebo list acquisitions | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
