import importlib.util
import json

import numpy as np
import pytest
import torch
from benchmark_contract import uniform
from real_contract import RealTask, check_best_known, two_iterations

from scorebo.benchmarks.spaces import Parameter, decode, parameters
from scorebo.config import load_benchmark
from scorebo.errors import InputError

WARPED = (64, 6, 32, 8, 2048)
# EXPERIMENTS.md, section 4: linear, logarithmic, linear, logarithmic.
PD1 = {
    "pd1_wmt": (
        "translate_wmt-xformer_translate-64",
        19,
        (
            (0.0100221257, 0.988565263),
            (1.00276e-5, 9.8422475735),
            (0.1004250993, 1.9985927056),
            (5.86114e-5, 0.9989999746),
        ),
    ),
    "pd1_lm1b": (
        "lm1b-transformer-2048",
        74,
        ((0.010543, 0.9885653), (1e-5, 9.986256), (0.100811, 1.999659), (5.91e-5, 0.99899859)),
    ),
    "pd1_cifar100": (
        "cifar100-wide_resnet-2048",
        199,
        ((0.010093, 0.989012), (1e-5, 9.779176), (0.100708, 1.999376), (5.9e-5, 0.998993)),
    ),
}
NAMES = ("lr_decay_factor", "lr_initial", "lr_power", "opt_momentum")


class TestSpaces:
    def test_ends_and_middles(self):
        unit = np.array([0.0, 0.5, 1.0])
        assert Parameter("a", -1.0, 3.0).decode(unit).tolist() == [-1.0, 1.0, 3.0]
        assert Parameter("a", 1e-4, 1.0, log=True).decode(unit) == pytest.approx([1e-4, 1e-2, 1.0], rel=1e-12)

    def test_whole_numbers_have_equal_shares(self):
        values = Parameter("a", 1, 5, integer=True).decode(np.linspace(0.0, 1.0, 100_001))
        assert np.bincount(values.astype(int), minlength=6)[1:] == pytest.approx([20_000] * 5, abs=2)
        logarithmic = Parameter("a", 16, 512, log=True, integer=True).decode(np.linspace(0.0, 1.0, 1001))
        assert (logarithmic == np.rint(logarithmic)).all()
        assert (logarithmic[0], logarithmic[-1]) == (16, 512)
        assert logarithmic[500] == pytest.approx(np.sqrt(15.5 * 512.5), abs=0.5)

    def test_columns_keep_their_places(self):
        space = parameters({"a": {"lower": 0, "upper": 2}, "b": {"lower": 1, "upper": 4, "integer": True}})
        assert decode(space, np.array([[0.25, 0.5], [1.0, 0.0]])).tolist() == [[0.5, 2.0], [2.0, 1.0]]

    def test_mistakes_are_explained(self):
        for given, message in (
            ({"lower": 2, "upper": 1}, "'a' must have a finite lower below its upper, got 2 and 1"),
            ({"lower": 0, "upper": 1, "log": True}, "both above 0"),
            ({"lower": 0, "upper": float("inf")}, "finite"),
            ({"lower": "0", "upper": 1}, "finite"),
            ({"lower": 0, "uper": 1}, "Unknown setting of parameter 'a' 'uper'. Did you mean upper"),
        ):
            with pytest.raises(InputError, match=message):
                parameters({"a": given})


def train(path, *, columns=(*NAMES, "epoch"), epoch=199):
    """A small regressor of a made-up error, stored as mf-prior-bench stores its own."""
    import pandas as pd
    import xgboost

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "lr_decay_factor": rng.uniform(0.01, 0.99, 400),
            "lr_initial": 10 ** rng.uniform(-5, 1, 400),
            "lr_power": rng.uniform(0.1, 2.0, 400),
            "opt_momentum": 10 ** rng.uniform(-4, 0, 400),
            "epoch": rng.integers(1, epoch + 1, 400).astype(float),
        }
    )
    error = (
        0.3 + 0.1 * (np.log10(table["lr_initial"]) + 2) ** 2 + 0.2 * table["lr_power"] - 0.1 * table["epoch"] / epoch
    )
    model = xgboost.XGBRegressor(n_estimators=20, max_depth=3, n_jobs=1)
    model.fit(table[list(columns)], error)
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save_model(path)
    return model


@pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="XGBoost is not installed: the extra pd1.")
class PD1Task(RealTask):
    noise_std, initial, total, maximize = 0.0, 12, 125, True
    bounds = [[0.0] * 4, [1.0] * 4]  # noqa: RUF012
    model, draws, expensive = "warped", WARPED, False

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls, tmp_path_factory):
        """The real surrogates are not distributed with the data of the tests."""
        folder = tmp_path_factory.mktemp("data")
        for file, epoch, _ in PD1.values():
            train(folder / "pd1" / "surrogates" / f"{file}-valid_error_rate.json", epoch=epoch)
        return folder

    def test_values_match_an_independent_computation(self, task, data):
        import pandas as pd
        import xgboost

        file, epoch, ranges = PD1[self.name]
        model = xgboost.XGBRegressor()
        model.load_model(data / "pd1" / "surrogates" / f"{file}-valid_error_rate.json")
        X = torch.cat([task.bounds, uniform(task, 30)])
        expected = []
        for x in X.tolist():
            (d0, d1), (i0, i1), (p0, p1), (m0, m1) = ranges
            row = {
                "lr_decay_factor": d0 + x[0] * (d1 - d0),
                "lr_initial": 10 ** (np.log10(i0) + x[1] * np.log10(i1 / i0)),
                "lr_power": p0 + x[2] * (p1 - p0),
                "opt_momentum": 10 ** (np.log10(m0) + x[3] * np.log10(m1 / m0)),
                "epoch": float(epoch),
            }
            expected.append(1 - min(max(float(model.predict(pd.DataFrame([row]))[0]), 0.0), 1.0))
            assert task.configuration(torch.tensor(x, dtype=torch.float64)) == pytest.approx(
                {name: row[name] for name in NAMES}, rel=1e-9
            )
        assert task.evaluate_true(X).tolist() == pytest.approx(expected, abs=1e-6)
        assert min(expected) == 0.0  # an error above 1 is clipped


class TestPD1WMT(PD1Task):
    name = "pd1_wmt"


class TestPD1LM1B(PD1Task):
    name = "pd1_lm1b"


class TestPD1CIFAR100(PD1Task):
    name = "pd1_cifar100"

    def test_bad_files_are_explained(self, tmp_path, monkeypatch):
        from scorebo.benchmarks.solvers import surrogates

        space = parameters({name: {"lower": 0.0, "upper": 1.0} for name in NAMES})
        file = tmp_path / "model.json"
        for content in (b"", b"{}", b"\x00\x01", b'{"learner": 1}'):
            file.write_bytes(content)
            with pytest.raises(
                InputError, match=r"model\.json is no XGBoost model \((Check failed|Invalid cast)[^\n]+\)\.$"
            ):
                surrogates.pd1(str(file), space, 1)
        train(file, columns=(*NAMES[:3], "epoch"))
        with pytest.raises(
            InputError, match=r"must be a model of .*; its columns are lr_decay_factor, lr_initial, lr_power, epoch"
        ):
            surrogates.pd1(str(file), space, 1)
        monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
        with pytest.raises(InputError, match=r"The data 'pd1' are missing: .*`scorebo data fetch pd1` gets it"):
            load_benchmark("pd1_wmt")
        with pytest.raises(
            InputError, match=r"Unknown surrogate of PD1 'cifar'\. .*Allowed: cifar100-wide_resnet-2048"
        ):
            load_benchmark("pd1_wmt", model="cifar")
        model, _, _ = PD1["pd1_wmt"]
        train(tmp_path / "pd1" / "surrogates" / f"{model}-valid_error_rate.json")
        assert load_benchmark("pd1_wmt").dim == 4  # which needs its own surrogate only

    def test_columns_are_found_by_name(self, tmp_path):
        """A model that has its columns in another order is the same function."""
        from scorebo.benchmarks.solvers import surrogates

        space = parameters({name: {"lower": 0.0, "upper": 1.0} for name in NAMES})
        model = train(tmp_path / "model.json", columns=("epoch", *reversed(NAMES)))
        x = np.random.default_rng(1).random((4, 4))
        table = np.column_stack([np.full(4, 7.0), x[:, ::-1]])
        expected = 1 - np.clip(model.predict(table), 0, 1)
        assert surrogates.pd1(str(tmp_path / "model.json"), space, 7)(x) == pytest.approx(expected, abs=1e-6)


def onnx_identity(takes, gives):
    """A model in the ONNX format all of whose outputs are its input x_cont; tensors by name, type and columns.

    In Protocol Buffers' own encoding: the number of a field and how it is stored, then a number or what follows.
    """

    def field(number, content):
        if isinstance(content, int):
            return bytes([number << 3, content])
        content = content.encode() if isinstance(content, str) else content
        assert len(content) < 2**14
        size = [len(content)] if len(content) < 128 else [len(content) & 127 | 128, len(content) >> 7]
        return bytes([number << 3 | 2, *size]) + content

    def tensor(name, kind, columns):
        shape = field(1, field(2, "n")) + field(1, field(1, columns))
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))

    nodes = [field(1, field(1, "x_cont") + field(2, name) + field(4, "Identity")) for name, _, _ in gives]
    graph = [*nodes, field(2, "g"), *(field(11, tensor(*t)) for t in takes), *(field(12, tensor(*t)) for t in gives)]
    return field(1, 8) + field(7, b"".join(graph)) + field(8, field(1, "") + field(2, 13))


@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed: the extra lcbench."
)
class TestLCBench(RealTask):
    name, noise_std, initial, total, maximize = "lcbench_167168", 0.0, 12, 125, True
    bounds = [[0.0] * 7, [1.0] * 7]  # noqa: RUF012
    model, draws, expensive, same = "warped", WARPED, False, 1e-5

    def test_values_match_an_independent_computation(self, task, data):
        """YAHPO Gym's encoding and order of columns, one point at a time."""
        import onnxruntime

        session = onnxruntime.InferenceSession(str(data / "lcbench" / "model.onnx"))
        code = json.loads((data / "lcbench" / "encoding.json").read_text())["OpenML_task_id"]["167168"]
        X = torch.cat([task.bounds, uniform(task, 20)])
        expected = []
        for x in X:
            c = task.configuration(x)
            order = (
                "batch_size",
                "learning_rate",
                "momentum",
                "weight_decay",
                "num_layers",
                "max_units",
                "max_dropout",
            )
            row = np.array([[52.0, *(c[name] for name in order)]], dtype=np.float32)
            output = session.run(None, {"x_cat": np.array([[code]], dtype=np.int32), "x_cont": row})[0]
            expected.append(float(output[0, 1]))
        assert task.evaluate_true(X).tolist() == pytest.approx(expected, abs=1e-3)

    def test_each_value_depends_on_its_own_row_only(self, task):
        """In single precision, in which a network's sums depend on how many rows there are."""
        X = uniform(task, 9)
        together = task.evaluate_true(X)
        alone = torch.cat([task.evaluate_true(x.unsqueeze(0)) for x in X])
        torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(task.evaluate_true(X.flip(0)), together.flip(0), rtol=1e-5, atol=1e-5)
        assert task.evaluate_true(X[:0]).shape == (0,)

    def test_accuracy_in_per_cent_rises_with_the_learning_rate(self, task):
        """Published without the other parameters: from 31.8 at 1e-4 to 79.6 at 0.1; at their centers by as much."""
        X = torch.full((2, 7), 0.5, dtype=torch.float64)
        X[:, 1] = torch.tensor([0.0, 1.0])
        low, high = task.evaluate_true(X)
        assert 40.0 < high - low < 60.0
        values = task.evaluate_true(uniform(task, 500))
        assert (values > 0.0).all()
        assert (values < 100.0).all()

    def test_scales_are_those_of_the_config_space(self, task, data):
        stored = {
            p["name"]: p for p in json.loads((data / "lcbench" / "config_space.json").read_text())["hyperparameters"]
        }
        for p in task.space:
            own = stored[p.name]
            assert (p.lower, p.upper) == pytest.approx((own["lower"], own["upper"]), rel=1e-12)
            assert p.log == own["log"]
            assert p.integer == (own["type"] == "uniform_int")
        whole = task.configuration(torch.full((7,), 0.3))
        assert all(isinstance(whole[name], int) for name in ("batch_size", "num_layers", "max_units"))

    def test_bad_files_and_tasks_are_explained(self, task, data, tmp_path):
        from scorebo.benchmarks.solvers import surrogates

        good = {"model": str(data / "lcbench" / "model.onnx"), "encoding": str(data / "lcbench" / "encoding.json")}
        good |= {"task_id": "3945", "space": task.space, "epoch": 52}
        spoilt = tmp_path / "spoilt"
        spoilt.write_bytes(b"no such format")
        for change, message in (
            ({"task_id": "7"}, "LCBench has no task '7'. It has: 3945, 7593"),
            ({"encoding": str(spoilt)}, "holds no codes of 'OpenML_task_id'"),
            ({"model": str(spoilt)}, "is no model in the ONNX format"),
            ({"space": task.space[:-1]}, "LCBench has the parameters batch_size, .*, got batch_size, .*, max_units.$"),
        ):
            with pytest.raises(InputError, match=message):
                surrogates.lcbench(**good | change)
        x_cat, x_cont = ("x_cat", 6, 1), ("x_cont", 1, 8)
        right = r"x_cat \(tensor\(int32\), 1\) and x_cont \(tensor\(float\), 8\)"
        for takes, gives, message in (
            ([x_cat, x_cont], [("y", 1, 8)], r"gives y \(tensor\(float\), 8\), not output \(tensor\(float\), 6\)\.$"),
            (
                [x_cat, x_cont],
                [("y", 1, 8), ("z", 1, 8)],
                r"gives y \(tensor\(float\), 8\) and z \(tensor\(float\), 8\), not",
            ),
            ([x_cat, ("x_cont", 1, 6)], [("y", 1, 6)], rf"takes .* x_cont \(tensor\(float\), 6\), not {right}\.$"),
            ([("x_cat", 7, 1), x_cont], [("y", 1, 8)], rf"takes x_cat \(tensor\(int64\), 1\) and .*, not {right}\.$"),
            ([x_cont], [("y", 1, 8)], rf"takes x_cont \(tensor\(float\), 8\), not {right}\.$"),
        ):
            spoilt.write_bytes(onnx_identity(takes, gives))
            with pytest.raises(InputError, match=f"spoilt is another version: it {message}"):
                surrogates.lcbench(**good | {"model": str(spoilt)})
        with pytest.raises(InputError, match="task_id must be a whole number"):
            load_benchmark(self.name, task_id="many")


@pytest.mark.parametrize("task_id", [126026, 168868, 189873])
def test_other_tasks_of_lcbench_are_other_functions(real_data, task_id, tmp_path):
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed: the extra lcbench.")
    first, other = load_benchmark("lcbench_167168"), load_benchmark(f"lcbench_{task_id}")
    assert (other.task_id, other.space) == (task_id, first.space)
    X = uniform(first, 3)
    assert (first.evaluate_true(X) != other.evaluate_true(X)).all()
    check_best_known(other, 1000, TestLCBench.same)
    two_iterations(other, tmp_path)
