"""What is submitted: frozen, once, with a launcher that exists; mistakes are one sentence and leave nothing behind."""

import errno
import json
import os

import pytest
from sweeps import sweep_of

from scorebo.cli import main
from scorebo.errors import InputError
from scorebo.launch import Local, Slurm
from scorebo.launch.base import load_launcher
from scorebo.launch.submit import submit, unfinished
from scorebo.launch.sweep import CANCELLED, FAILED, Sweep, sweeps_in
from scorebo.store import RunStore
from tests.runs import TINY
from tests.store.store_samples import make_run

RUN = ["benchmark=gramacy1", "acquisition=random", "seed=1,2", *TINY]


def test_configurations_are_frozen(tmp_path):
    """A YAML file that changes after the submission changes no run that waits."""
    own = tmp_path / "configs" / "acquisition"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("name: mine\n_target_: scorebo.acquisition.Random\n")
    from scorebo.config.sweep import sweep_configs

    overrides = ["benchmark=gramacy1", "acquisition=mine", "seed=1,2", f"results={tmp_path / 'results'}"]
    configs = sweep_configs(overrides, tmp_path / "configs")
    sweep = Sweep.create(configs, [])
    (own / "mine.yaml").write_text("name: mine\n_target_: something.Else\n")
    again = Sweep(sweep.folder)
    assert [again.config(index) for index in range(2)] == configs
    assert [run.folder for run in again.runs] == [
        str(RunStore(tmp_path / "results", config).folder.relative_to(tmp_path / "results")) for config in configs
    ]


def test_results_that_are_moved_take_their_sweeps_along(tmp_path):
    sweep = Sweep.create(sweep_of(tmp_path / "here", range(1, 2)), [])
    (tmp_path / "here").rename(tmp_path / "there")
    moved = Sweep(tmp_path / "there" / ".sweeps" / sweep.name)
    assert moved.config(0)["results"] == str(tmp_path / "there")


def test_two_submissions_get_two_names(tmp_path):
    names = {Sweep.create(sweep_of(tmp_path, range(1, 2)), []).name for _ in range(3)}
    assert names == {"sweep-1", "sweep-2", "sweep-3"}


def test_a_sweep_is_named_after_all_its_experiments(tmp_path, monkeypatch, capsys):
    """`al_rmse` has the runs of `al_mll`, so that no configuration names it; a retry goes by the same names."""
    monkeypatch.setattr(Local, "submit", lambda *_: None)
    overrides = ["experiment=al_mll,al_rmse", "scale=smoke", "benchmark=gramacy1", "seed=1", f"results={tmp_path}"]
    assert main(["sweep", *overrides]) == 0
    for which in ("al_mll", "al_rmse", "al_mll+al_rmse-1"):
        assert [sweep.name for sweep in sweeps_in(tmp_path, which)] == ["al_mll+al_rmse-1"]
    assert main(["retry", "--failed", "al_rmse", "--results", str(tmp_path)]) == 0
    assert [sweep.name for sweep in sweeps_in(tmp_path, "al_rmse")] == ["al_mll+al_rmse-1", "al_mll+al_rmse-2"]
    with pytest.raises(InputError, match=r"There are al_mll, al_mll\+al_rmse-1, al_mll\+al_rmse-2, al_rmse\."):
        sweeps_in(tmp_path, "bo_regret")


def test_a_sweep_of_many_experiments_has_a_folder(tmp_path):
    names = [f"experiment_{number}" for number in range(50)]
    sweep = Sweep.create(sweep_of(tmp_path, range(1, 2)), [], ",".join(names))
    assert sweeps_in(tmp_path, names[-1])[0].folder == sweep.folder


def test_only_unfinished_runs_are_left(tmp_path):
    configs = sweep_of(tmp_path, range(1, 4))
    make_run(tmp_path, configs[1], 7, finished=True)
    assert unfinished(configs) == [0, 2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([], "Nothing to sweep"),
        (["seed=range(3,3)"], "Nothing to sweep"),
        ([*RUN, "launcher=slrm"], "Did you mean slurm"),
        ([*RUN, "launcher.partition=cpu"], "Unknown setting in 'launcher' 'partition'. Allowed: minutes, name."),
        ([*RUN, "+launcher.color=red"], "Unknown option of launcher 'local' 'color'. Allowed: minutes."),
        ([*RUN, "launcher.minutes=0"], "launcher.minutes must be a finite number above 0"),
        ([*RUN, "workers=0"], "workers must be a whole number of at least 1"),
        ([*RUN, "launcher=slurm", "launcher.cpus=2", "threads=4"], "launcher.cpus=2 is fewer than threads=4"),
        ([*RUN, "launcher=slurm", "launcher.setup=source"], "launcher.setup must be a list of lines"),
        ([*RUN, "launcher=slurm"], "launcher=slurm needs sbatch"),
        ([*RUN, "results=a,b"], "A sweep has one 'results', got results=a,b: it cannot be swept over."),
        ([*RUN, "launcher=local,slurm", "--dry-run"], "A sweep has one 'launcher', got launcher=local,slurm"),
        ([*RUN, "launcher.minutes=1,2"], "A sweep has one 'launcher.minutes'"),
        ([*RUN, "metrics_every=1,2"], "A sweep has one 'metrics_every'"),
    ],
)
def test_mistakes(overrides, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert main(["sweep", *overrides]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_log_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / ".sweeps").write_text("a file")
    assert main(["sweep", *RUN, f"results={tmp_path}"]) == 2
    assert "Cannot write" in capsys.readouterr().err
    assert main(["sweep", *RUN, f"results={tmp_path / '.sweeps'}"]) == 2
    assert "is a file" in capsys.readouterr().err


def test_results_in_another_format_are_refused(tmp_path, capsys):
    from scorebo.store.checksummed import seal

    configs = sweep_of(tmp_path, range(1, 2))
    folder = make_run(tmp_path, configs[0], 7, finished=True)
    marker = json.loads((folder / "finished.json").read_text())
    del marker["checksum"]
    (folder / "finished.json").write_bytes(seal({**marker, "format": 0}))
    with pytest.raises(InputError, match="format 0; this version of scorebo reads and writes format 2"):
        submit(configs, [])
    assert not (tmp_path / ".sweeps").exists()


def test_also_of_runs_that_are_not_finished(tmp_path, capsys):
    config = sweep_of(tmp_path, range(1, 2))[0]
    path = make_run(tmp_path, config, 3) / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 0}))
    with pytest.raises(InputError, match=r"environment\.json has format 0; .* To convert, install the version that"):
        submit([config], [])
    assert not (tmp_path / ".sweeps").exists()
    assert main(["status", "--results", str(tmp_path)]) == 0
    assert "has format 0; this version of scorebo reads and writes format 2" in capsys.readouterr().out


def test_one_launcher_and_one_results_folder_a_sweep(tmp_path):
    first, second = sweep_of(tmp_path, range(1, 3))
    with pytest.raises(InputError, match="A sweep has one 'launcher'"):
        Sweep.create([first, {**second, "launcher": {"name": "local", "minutes": 3}}], [])
    with pytest.raises(InputError, match="There is nothing in this sweep"):
        submit([], [])


def test_settings_have_the_defaults_of_their_configs(tmp_path):
    for name, kind in (("local", Local), ("slurm", Slurm)):
        config = sweep_of(tmp_path, range(1, 2), f"launcher={name}")[0]
        assert load_launcher(config["launcher"], str(tmp_path)) == kind()
    paper = sweep_of(tmp_path, range(1, 2), "launcher=slurm_paper")[0]
    structured = sweep_of(tmp_path, range(1, 2), "launcher=slurm_paper_structured")[0]
    assert (paper["launcher"]["cpus"], paper["threads"]) == (4, 4)
    assert (structured["launcher"]["cpus"], structured["threads"]) == (8, 8)
    assert RunStore(tmp_path, paper).run_id == RunStore(tmp_path, sweep_of(tmp_path, range(1, 2))[0]).run_id


def test_batch_script_has_what_was_asked_for(tmp_path):
    settings = Slurm(partition="cpu", account="me", minutes=90, memory_gb=1.5, cpus=4, setup=["module load x"])
    script = settings.batch_script(tmp_path / "sweep-1", 4, 30)
    for line in (
        *("--partition=cpu", "--account=me", "--time=90", "--mem=1536M", "--cpus-per-task=4", "--array=0-29%30"),
        *("--requeue", "--signal=USR2@120", "--job-name=sweep-1"),
    ):
        assert f"#SBATCH {line}\n" in script
    assert script.index("export OMP_NUM_THREADS=4") < script.index("module load x") < script.index("srun")


def test_a_submitit_that_writes_scripts_another_way_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("submitit.slurm.slurm._make_sbatch_string", lambda command, folder: "")
    with pytest.raises(InputError, match=r"lacks .*_make_sbatch_string.*Install submitit>=1\.5\.2"):
        Slurm().batch_script(tmp_path / "sweep-1", 4, 30)


def test_help_of_the_commands(capsys):
    for command in ("sweep", "status", "cancel", "retry"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"examples:\n  scorebo {command}" in capsys.readouterr().out


def test_retry_takes_the_runs_it_is_told_to(tmp_path, monkeypatch, capsys):
    """A run that was cancelled is not submitted with those that failed."""
    started = []
    monkeypatch.setattr(Local, "submit", lambda self, sweep, _: started.append([run.seed for run in sweep.runs]))
    sweep = Sweep.create(sweep_of(tmp_path, range(1, 4)), [])
    sweep.note(sweep.runs[0], FAILED, reason="the machine is on fire")
    sweep.note(sweep.runs[1], CANCELLED, reason="sweep-1 was cancelled")
    sweep.cancel()
    assert main(["retry", "--results", str(tmp_path)]) == 2
    assert "--failed (failed and lost ones), --cancelled, or both" in capsys.readouterr().err
    assert main(["retry", "--failed", "--results", str(tmp_path)]) == 0
    assert started == [[1]]
    assert main(["retry", "--cancelled", "--results", str(tmp_path)]) == 0
    assert started == [[1], [2, 3]]


def test_retry_of_what_failed_says_what_was_cancelled(tmp_path, capsys):
    sweep = Sweep.create(sweep_of(tmp_path, range(1, 3)), [])
    sweep.cancel()
    assert main(["retry", "--failed", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing failed\n2 cancelled runs are left: `scorebo retry --cancelled`\n"


def test_retry_changes_only_the_launcher(tmp_path, capsys):
    Sweep.create(sweep_of(tmp_path, range(1, 2)), [])
    assert main(["retry", "--failed", "--results", str(tmp_path), "seed=3"]) == 2
    assert "Only launcher.NAME=VALUE and workers=N" in capsys.readouterr().err
    assert main(["retry", "--failed", "--results", str(tmp_path), "launcher.minuts=3"]) == 2
    assert "Unknown option of launcher 'local' 'minuts'" in capsys.readouterr().err
    for workers in ("0", "-1", "many"):
        assert main(["retry", "--failed", "--results", str(tmp_path), f"workers={workers}"]) == 2
        assert "workers must be a whole number of at least 1" in capsys.readouterr().err
    assert main(["cancel", "--results", str(tmp_path)]) == 0
    assert "nothing is queued or running" in capsys.readouterr().out


def test_retry_submits_nothing_if_a_part_of_it_cannot_be(tmp_path, monkeypatch, capsys):
    """The first of two sweeps takes the option that the second refuses."""
    monkeypatch.setattr(Slurm, "check_machine", lambda self: None)
    monkeypatch.setattr(Slurm, "submit", lambda *_: pytest.fail("submitted"))
    Sweep.create(sweep_of(tmp_path, range(1, 2), "launcher=slurm"), [])
    Sweep.create(sweep_of(tmp_path, range(2, 3)), [])
    assert main(["retry", "--failed", "--results", str(tmp_path), "launcher.memory_gb=8"]) == 2
    assert "Unknown option of launcher 'local' 'memory_gb'. Allowed: minutes." in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / ".sweeps").glob("sweep-*")) == ["sweep-1", "sweep-2"]


def test_retry_refuses_workers_for_a_cluster(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Slurm, "check_machine", lambda self: None)
    monkeypatch.setattr(Slurm, "submit", lambda *_: pytest.fail("submitted"))
    Sweep.create(sweep_of(tmp_path, range(1, 2), "launcher=slurm"), [])
    assert main(["retry", "--failed", "--results", str(tmp_path), "workers=2"]) == 2
    assert "workers=2 has no effect with launcher=slurm: launcher.array_parallelism=2" in capsys.readouterr().err


def test_a_disk_that_is_full_at_submission_is_said_and_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(Slurm, "check_machine", lambda self: None)
    monkeypatch.setattr("scorebo.launch.slurm.cluster.largest_array", lambda: 8)

    def full(self, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("submitit.core.utils.DelayedSubmission.dump", full)
    assert main(["sweep", *RUN, "launcher=slurm", f"results={tmp_path / 'results'}"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "results" / ".sweeps").glob("sweep-*")) == []


def test_waiting_ends_with_1_if_runs_were_cancelled(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Local, "submit", lambda self, sweep, _: sweep.cancel())
    assert main(["sweep", *RUN, f"results={tmp_path}", "--wait"]) == 1
    captured = capsys.readouterr()
    assert "failed 0  lost 0  cancelled 2  of 2 runs" in captured.out
    assert "[2/2] gramacy1 al_lognormal random seed 2 cancelled: sweep-1 was cancelled" in captured.err


@pytest.mark.parametrize("fails", [False, True])
def test_waiting_ends_with_1_if_a_run_failed(tmp_path, monkeypatch, capsys, fails):
    def stub(self, sweep, indices):
        configs = [sweep.config(index) for index in range(2)]
        make_run(tmp_path, configs[0], configs[0]["benchmark"]["total"] + 1, finished=True)
        if fails:
            sweep.note(sweep.runs[1], FAILED, reason="the machine is on fire")
        else:
            make_run(tmp_path, configs[1], configs[0]["benchmark"]["total"] + 1, finished=True)

    monkeypatch.setattr(Local, "submit", stub)
    assert main(["sweep", *RUN, f"results={tmp_path}", "--wait"]) == int(fails)
    captured = capsys.readouterr()
    assert "2 runs, 0 of them finished already" in captured.out
    assert f"finished {2 - fails}  running 0  queued 0  failed {int(fails)}" in captured.out
    assert "[2/2] gramacy1 al_lognormal random seed 2" in captured.err
    if not fails:
        assert main(["sweep", *RUN, f"results={tmp_path}"]) == 0
        assert "2 runs, 2 of them finished already" in capsys.readouterr().out


def test_an_interrupt_ends_the_waiting_and_not_the_runs(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Local, "submit", lambda *_: None)
    monkeypatch.setattr("scorebo.launch.display.wait", interrupted)
    assert main(["sweep", *RUN, f"results={tmp_path}", "--wait"]) == 130
    told = capsys.readouterr().err
    assert f"the runs go on. `scorebo status sweep-1 --results {tmp_path}` says how" in told
    assert "`scorebo cancel sweep-1 --results" in told
    assert not Sweep(tmp_path / ".sweeps" / "sweep-1").cancelled
