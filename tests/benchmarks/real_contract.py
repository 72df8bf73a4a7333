"""What a task on real data, evaluated in a child process, must hold to besides what every task must."""

from pathlib import Path
from typing import ClassVar

import pytest
import torch
from benchmark_contract import BenchmarkContract, uniform

from scorebo.benchmarks.outside.task import OutsideTask, best_known
from scorebo.config import as_dict, compose, load_benchmark
from scorebo.errors import InputError
from scorebo.run.loop import execute
from scorebo.store import RunStore, read_records
from tests import real_data
from tests.runs import TINY

# Of tasks whose data are not distributed with the rest.
NO_VALUE_KNOWN = ("svm_ct", "pd1_wmt", "pd1_lm1b", "pd1_cifar100")
TWO_ITERATIONS = (*TINY, "mcmc.num_optima=2", "mcmc.num_features=32")


def check_best_known(task: OutsideTask, num_points: int, same: float = 1e-6) -> None:
    """The best value that a task tells of is reached at the point kept with it, and not beaten by random ones."""
    best = best_known(task.name)
    assert (task.best_known is None) is (best is None) is (task.name in NO_VALUE_KNOWN)
    if best is None:
        assert task.best_known_how == "none is known"
        return
    assert (task.best_known, task.best_known_how) == (best.value, best.how)
    reached = task.evaluate_true(torch.tensor([best.x], dtype=torch.float64)).item()
    assert reached == pytest.approx(best.value, rel=same)
    others = task.evaluate_true(uniform(task, num_points))
    assert (others < best.value if task.maximize else others > best.value).all()


def two_iterations(task: OutsideTask, folder: Path) -> None:
    """A run of two SCoreBO iterations after three points, and what its records must say."""
    overrides = [f"benchmark={task.name}", "acquisition=scorebo_hr", f"results={folder}"]
    config = as_dict(compose([*overrides, "benchmark.initial=3", "benchmark.total=5", *TWO_ITERATIONS]))
    execute(config)
    records = read_records(RunStore(folder, config).folder / "records.jsonl").records
    assert [record["kind"] for record in records] == ["initial"] * 3 + ["query"] * 2 + ["final"]
    for record in records[:-1]:
        x = torch.tensor([record["x"]], dtype=torch.float64)
        assert ((x >= task.bounds[0]) & (x <= task.bounds[1])).all()
    best = max if task.maximize else min
    assert records[-1]["best_observed"] == best(record["y"] for record in records[:-1])
    assert (records[-1]["negative_mll"] is None) is task.expensive


class RealTask(BenchmarkContract):
    """Inherit, and say where the data are by a class-scoped fixture `data` if not in the folder of the real ones."""

    num_points, num_designs = 3, 100
    model: ClassVar[str]
    draws: ClassVar[tuple[int, ...]]  # warm-up, thinning, sets, optima, features
    expensive: ClassVar[bool] = True
    same: ClassVar[float] = 1e-6  # how far a stored value may be from the one computed here

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        """The folder with the data."""
        folder = real_data.folder()
        if folder is None:
            pytest.skip("The data of the real tasks are not here: set SCOREBO_DATA to their folder.")
        return folder

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _environment(cls, data):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCOREBO_DATA", str(data))
            yield

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls, _environment):
        """One for all tests, so that its child starts once."""
        return cls().build()

    def test_values_match_an_independent_computation(self, task):
        X = torch.cat([task.bounds, uniform(task, 3)])
        expected = torch.tensor([float(self.reference(*x)) for x in X.tolist()], dtype=torch.float64)
        torch.testing.assert_close(task.evaluate_true(X), expected, rtol=1e-6, atol=1e-6)

    def test_optimal_value_is_reached_and_never_beaten(self, task):
        """No optimum is known; what the task is about stands in its place, and the best value if any is known."""
        assert task.optimal_value is None
        check_best_known(task, 10 if self.num_points > 1 else 2, self.same)
        assert task.quantity
        assert task.expensive is self.expensive

    def test_config_selects_model_and_mcmc(self):
        config = compose([f"benchmark={self.name}", "acquisition=random"])
        assert config.model.name == self.model
        mcmc = config.mcmc
        assert (mcmc.warmup, mcmc.thinning, mcmc.num_mcmc_samples, mcmc.num_optima, mcmc.num_features) == self.draws

    def test_limits_are_part_of_the_config(self):
        with pytest.raises(InputError, match=f"time_limit of task '{self.name}' must be"):
            load_benchmark(self.name, time_limit=-1.0)

    @pytest.mark.slow
    def test_two_iterations_of_scorebo(self, tmp_path):
        two_iterations(self.build(), tmp_path)
