"""Outside code in a child process: used again, limited, and no danger to the run."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from scorebo.benchmarks.outside import process
from scorebo.benchmarks.outside.process import Solver, SolverError
from scorebo.benchmarks.outside.task import OutsideTask
from scorebo.cli import main
from scorebo.errors import InputError, TaskError
from scorebo.run.loop import Run
from tests import outside_tasks
from tests.outside_benchmarks import Outside, Scored
from tests.runs import tiny_config, tiny_overrides

GOOD, BAD = np.array([[0.25, 0.5]]), np.array([[0.75, 0.5]])
OPTIONS = {"name": "outside", "initial": 2, "total": 5}


def solver(fault="none", time_limit=30.0, memory_limit_mb=2048.0):
    return Solver(outside_tasks.make, {"fault": fault}, time_limit=time_limit, memory_limit_mb=memory_limit_mb)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class TestSolver:
    def test_one_child_serves_all_calls_and_ends_with_the_solver(self):
        ask = solver("process")
        assert ask._child is None  # started when it is first asked
        pids = {int(pid) for _ in range(3) for pid in ask(np.zeros((2, 2)))}
        (pid,) = pids
        assert pid != os.getpid()
        del ask
        gc.collect()
        assert not alive(pid)

    def test_a_child_does_without_torch(self):
        ask = Solver(outside_tasks.torch_is_loaded, {}, time_limit=30.0, memory_limit_mb=2048.0)
        assert ask(GOOD).tolist() == [0.0]

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("crash", r"The solver's process ended by signal SIGSEGV\."),
            ("stop", r"ended with exit code 3 \(Fortran runtime error: end of file\)\."),
            ("raise", r"The solver raised ArithmeticError: no convergence\."),
            ("memory", r"The solver raised .*Unable to allocate 8\.00 GiB.*: its memory limit is 2048 MiB\.$"),
            ("no words", r"The solver raised ArithmeticError\.$"),
        ],
    )
    def test_failures_are_told_and_the_next_call_is_served(self, fault, message):
        ask = solver(fault)
        assert ask(GOOD).tolist() == [0.3125]
        with pytest.raises(SolverError, match=message):
            ask(BAD)
        assert ask(GOOD).tolist() == [0.3125]

    def test_a_hang_is_ended(self):
        ask = solver("hang", time_limit=0.4)
        assert ask(GOOD).tolist() == [0.3125]
        pid = ask._child.process.pid
        began = time.monotonic()
        with pytest.raises(SolverError, match=r"took longer than its time limit of 0\.4 s and was ended"):
            ask(BAD)
        assert time.monotonic() - began < 20.0
        assert not alive(pid)
        assert ask(GOOD).tolist() == [0.3125]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR2])
    def test_a_signal_to_a_whole_job_is_the_parent_s_to_answer(self, number):
        """A job that is cancelled, or queued again, must not record what a killed solver scores."""
        ask = solver("nap")
        assert ask(GOOD).tolist() == [0.3125]
        threading.Timer(0.2, ask._child.process.send_signal, [number]).start()
        assert ask(BAD).tolist() == [0.8125]

    def test_time_in_which_nobody_waited_does_not_count(self, monkeypatch):
        """The machine sleeps during the first wait: to the clock it is over, to the limit it is one slice."""
        ask = solver("process", time_limit=3 * process.SLICE)
        ask(GOOD)
        line, waits = ask._child.line, []

        class Sleeping:
            def poll(self, seconds):
                waits.append(seconds)
                if len(waits) == 1:
                    time.sleep(1.0)  # ever so long, and nothing has come
                    return False
                return line.poll(seconds)

            def __getattr__(self, name):
                return getattr(line, name)

        ask._child.line = Sleeping()
        assert len(ask(GOOD)) == 1

    def test_a_point_that_is_refused_and_data_that_are(self):
        with pytest.raises(InputError, match=r"^Not this point\.$"):
            solver("refuse")(BAD)
        with pytest.raises(TaskError, match=r"^The data are of another planet\.$"):
            solver("data")(GOOD)
        ask = solver("load")
        for _ in range(2):
            with pytest.raises(TaskError, match=r"cannot be started\. The solver raised RuntimeError: no library\.$"):
                ask(GOOD)

    def test_a_child_ends_with_its_parent_though_it_is_at_work(self, tmp_path):
        code = (
            "import threading, time, os, numpy as np\n"
            "from scorebo.benchmarks.outside.process import Solver\n"
            "from tests import outside_tasks\n"
            "s = Solver(outside_tasks.make, {'fault': 'hang'}, time_limit=30.0, memory_limit_mb=2048.0)\n"
            "s(np.zeros((1, 2)))\n"
            "threading.Thread(target=lambda: s(np.ones((1, 2))), daemon=True).start()\n"
            "time.sleep(0.3)\n"
            "print(s._child.process.pid, flush=True)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}
        )
        pid = int(done.stdout)
        deadline = time.monotonic() + 20.0
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(pid)


class TestTask:
    def test_values_and_their_checks(self):
        task = Outside(**OPTIONS)
        X = torch.tensor([[0.25, 0.5], [1.0, 1.0]], dtype=torch.float64)
        assert task.evaluate_true(X).tolist() == [0.3125, 2.0]
        assert task.evaluate_true(X[:0]).shape == (0,)
        with pytest.raises(InputError, match="outside the box of task 'outside'"):
            task.evaluate_true(X + 1.0)

    @pytest.mark.parametrize("fault", ["crash", "raise"])
    def test_a_failure_scores_what_the_task_says(self, fault, caplog):
        task = Scored(fault=fault, **OPTIONS)
        X = torch.tensor([[0.25, 0.5], [0.75, 0.5], [0.25, 0.5]], dtype=torch.float64)
        assert task.evaluate_true(X).tolist() == [0.3125, 300.0, 0.3125]
        assert "scores 300 at [[0.75, 0.5]]: The solver" in caplog.text
        # But neither data that cannot be used nor a library that cannot be loaded, which would score so everywhere.
        with pytest.raises(InputError, match="another planet"):
            Scored(fault="data", **OPTIONS).evaluate_true(X)
        with pytest.raises(InputError, match="cannot be started"):
            Scored(fault="load", **OPTIONS).evaluate_true(X)

    def test_mistakes_are_explained(self):
        for name in ("time_limit", "memory_limit_mb"):
            with pytest.raises(InputError, match=f"{name} of task 'outside' must be a finite number above 0"):
                Outside(**{name: 0.0}, **OPTIONS)

        class Needy(Outside):
            package = ("no_such_package", "needs")

        with pytest.raises(InputError, match=r"needs the package no_such_package: pip install 'scorebo\[needs\]'\."):
            Needy(**OPTIONS)
        with pytest.raises(TypeError, match="solver"):
            OutsideTask(time_limit=1.0, memory_limit_mb=1.0, **OPTIONS)


@pytest.mark.parametrize(
    ("task", "module", "extra"),
    [
        ("cosmology", "camb", "cosmology"),
        ("lcbench_167168", "onnxruntime", "lcbench"),
        ("pd1_lm1b", "xgboost", "pd1"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_to_install(task, module, extra, tmp_path, monkeypatch, capsys):
    """In one sentence, before the data are looked for; and the extra is one of the package's, with that package."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    assert main(["run", f"benchmark={task}", "acquisition=random", f"results={tmp_path / 'results'}"]) == 2
    expected = f"scorebo: Task '{task}' needs the package {module}: pip install 'scorebo[{extra}]'.\n"
    assert capsys.readouterr().err == expected
    assert not (tmp_path / "results").exists()
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert all(requirement.startswith(module) for requirement in extras[extra])


@pytest.mark.parametrize("fault", ["burn", "nap"])
def test_records_have_the_processor_seconds_of_the_child(tmp_path, fault):
    """Which lives on after the evaluation."""
    settings = ("benchmark._target_=tests.outside_benchmarks.Outside", f"+benchmark.fault={fault}")
    run = Run(tiny_config(tmp_path, "gramacy1", "random", *settings, "benchmark.name=outside", "benchmark.initial=4"))
    records = [run.record(k, []) for k in range(1, 5)]
    slow = next(k for k, record in enumerate(records) if k and record["x"][0] > 0.5)  # the first also starts the child
    wall, cpu = records[slow]["wall_seconds"]["evaluate"], records[slow]["cpu_seconds"]["evaluate"]
    assert wall > 0.49
    assert cpu > 0.45 if fault == "burn" else cpu < 0.2


@pytest.mark.parametrize(("fault", "reason"), [("crash", "SIGSEGV"), ("hang", "time limit")])
def test_a_run_survives_its_solver(tmp_path, capsys, fault, reason):
    """The failure is noted, the exit code is 2, and the same command goes on from there."""
    marker = tmp_path / "marker"
    marker.touch()
    settings = ["benchmark._target_=tests.outside_benchmarks.Outside", f"+benchmark.fault={fault}", "benchmark.total=4"]
    settings += [
        f"+benchmark.file={marker}",
        "+benchmark.time_limit=1.0",
        "benchmark.initial=4",
        "benchmark.name=outside",
    ]
    command = ["run", "--quiet", *tiny_overrides(tmp_path / "runs", "gramacy1", "random", *settings)]
    assert main(command) == 2
    assert reason in capsys.readouterr().err
    (ledger,) = (tmp_path / "runs").rglob("ledger.jsonl")
    noted = json.loads(ledger.read_text().splitlines()[0])
    assert reason in noted["reason"]
    assert noted["x"][0] > 0.5
    marker.unlink()
    assert main(command) == 0
    records = [json.loads(line) for line in (ledger.parent / "records.jsonl").read_text().splitlines()]
    assert len(records) == 5
    assert records[-1]["negative_mll"] is None  # the task is expensive
    assert records[-1]["inference_value"] is not None


def test_data_that_cannot_be_used_are_no_failed_evaluation(tmp_path, capsys):
    """They are told in one sentence, without a point, and nothing is noted of an evaluation."""
    settings = ["benchmark._target_=tests.outside_benchmarks.Outside", "benchmark.name=outside"]
    settings += ["+benchmark.fault=data", "benchmark.initial=2", "benchmark.total=2"]
    assert main(["run", "--quiet", *tiny_overrides(tmp_path / "runs", "gramacy1", "random", *settings)]) == 2
    assert capsys.readouterr().err == "scorebo: The data are of another planet.\n"
    assert not list((tmp_path / "runs").rglob("ledger.jsonl"))
