import gzip
import importlib.util
import time

import numpy as np
import pytest
import torch
from benchmark_contract import uniform
from real_contract import RealTask
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold, train_test_split
from sklearn.svm import SVR

from scorebo.benchmarks.solvers import lasso, svm
from scorebo.cli import main
from scorebo.errors import InputError
from tests import real_data

SAAS = (128, 8, 16, 8, 8192)


def seconds_per_value(task, X):
    """The least process time of a value, the same solver being in this process."""
    make, arguments = task.solver()
    solve, taken = make(**arguments), []
    for x in X:
        began = time.process_time()
        solve(x.unsqueeze(0).numpy())
        taken.append(time.process_time() - began)
    return min(taken)


def svmlight(path, rows, features, seed=0):
    """Synthetic data in LIBSVM's format: binary features, classes 1, 2 and 3."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, features)) < 0.3
    y = 1 + np.digitize(X[:, :4].sum(-1) + 0.3 * rng.standard_normal(rows), [0.7, 1.7])
    lines = [f"{c} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row)) for c, row in zip(y, X, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return X.astype(float), y.astype(float)


class TestLassoDNA(RealTask):
    name, noise_std, initial, total = "lasso_dna", 0.0031, 3, 150
    bounds = [[-1.0] * 180, [1.0] * 180]  # noqa: RUF012
    model, draws = "saas", SAAS

    def test_values_match_an_independent_computation(self, task):
        """The specification's values, solved to convergence elsewhere; 15 random points lie in 0.35–0.53."""
        X = torch.tensor([[0.6], [0.0], [1.0], [-1.0]], dtype=torch.float64).expand(4, 180)
        assert task.evaluate_true(X).tolist() == pytest.approx([0.70542, 0.30467, 5.9807, 0.31031], abs=1e-3)
        same_for_all = torch.linspace(-0.1, 0.2, 7, dtype=torch.float64)[:, None].expand(-1, 180)
        assert task.evaluate_true(same_for_all).min().item() == pytest.approx(0.30402, abs=1e-4)
        values = task.evaluate_true(uniform(task, 10))
        assert (values > 0.34).all()
        assert (values < 0.54).all()

    def test_a_value_takes_little_time(self, task):
        assert seconds_per_value(task, uniform(task, 3)) < 0.15


class TestWeightedLasso:
    """On synthetic data in the format, so that it runs anywhere."""

    def test_agrees_with_a_lasso_on_scaled_columns(self, tmp_path):
        X, y = svmlight(tmp_path / "dna", 200, 12)
        solve = lasso.dna(str(tmp_path / "dna"), rows=200, features=12)
        X, _, y, _ = train_test_split(X, y, test_size=0.15, random_state=42)
        largest = np.abs(X.T @ y).max() / len(y)
        points = np.concatenate([np.random.default_rng(1).uniform(-1, 1, (5, 12)), np.full((1, 12), -1.0)])
        for point in points:
            penalties = np.sqrt(largest * largest / 1e5) * 10 ** (2.5 * point)
            errors = []
            for train, test in KFold(5, shuffle=True, random_state=42).split(X):
                fit = Lasso(alpha=1.0, fit_intercept=False, tol=1e-10, max_iter=100_000)
                weights = fit.fit(X[train] / penalties, y[train]).coef_ / penalties
                # It is the minimum: the gradient balances the penalty where a weight is not 0, and is within it else.
                gradient = X[train].T @ (y[train] - X[train] @ weights) / len(train)
                assert np.allclose(gradient[weights != 0], (np.sign(weights) * penalties)[weights != 0], atol=1e-5)
                assert (np.abs(gradient) <= penalties * (1 + 1e-6) + 1e-6).all()
                errors.append(np.square(y[test] - X[test] @ weights).mean())
            assert solve(point[None])[0] == pytest.approx(np.mean(errors), abs=1e-5)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1 1:1 2:1\n2 1:1\n", r"must hold 3 x 2 numbers, it holds 2 x 2"),
            ("1 1:1 2:1\n2 1:1\n3 1:1 3:1\n", r"must hold 3 x 2 numbers, it holds 3 x 3"),
            ("1 1:1 2:1\n2 1:nan\n3 1:1\n", r"holds a value that is no finite number \(at 2, 1,"),
            ("nan 1:1 2:1\n2 1:1\n3 1:1\n", r"no finite number \(at 1,"),
            ("1 1:1 2:1\n2 1:1\n4 1:1\n", "must hold classes 1, 2 and 3 only"),
            ("\x00\x01 what", "cannot be read"),
        ],
    )
    def test_bad_files_are_explained(self, tmp_path, text, message):
        (tmp_path / "dna").write_text(text)
        with pytest.raises(InputError, match=message):
            lasso.dna(str(tmp_path / "dna"), rows=3, features=2)


def slices(rows, seed=0):
    """Synthetic rows in the format: patientId, 384 values of which some never change, reference."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 385))
    X[:, 0] = rng.integers(0, 97, rows)
    X[:, 5] = -0.25
    return np.column_stack([X, 50 * X[:, 1] + 10 * X[:, 2] + rng.random(rows)])


def write_csv(path, table):
    header = ",".join(["patientId", *(f"value{j}" for j in range(table.shape[1] - 2)), "reference"])
    np.savetxt(path, table, delimiter=",", header=header, comments="")


def reference_error(table):
    """The definition, written again with NumPy's global generator as it is stated."""
    low, high = table.min(0), table.max(0)
    scaled = (table - low) / np.where(high > low, high - low, 1)
    state = np.random.get_state()
    np.random.seed(388)
    rows = np.random.choice(len(table), 500, replace=False)
    np.random.set_state(state)
    train, test = scaled[rows[:250]], scaled[rows[250:]]

    def error(*x):
        x = np.array(x)
        factor = np.exp(4 * x[:385] - 2)
        fit = SVR(C=0.01 * 500 ** x[387], epsilon=0.01 * 100 ** x[385], gamma=0.1 * 30 ** x[386])
        fit.fit(train[:, :385] / factor, train[:, 385])
        return np.sqrt(np.mean((fit.predict(test[:, :385] / factor) - test[:, 385]) ** 2))

    return error


class SupportVectors(RealTask):
    noise_std, initial, total = 0.0, 3, 100
    bounds = [[0.0] * 388, [1.0] * 388]  # noqa: RUF012
    model, draws = "saas", SAAS

    def test_a_value_takes_little_time(self, task):
        assert seconds_per_value(task, uniform(task, 3)) < 0.1


class TestSVMCT757(SupportVectors):
    name = "svm_ct757"

    @pytest.fixture(scope="class")
    @classmethod
    def reference(cls, data):
        table = np.genfromtxt(data / "ct_slice" / "ct_slice_757rows.csv.gz", delimiter=",", skip_header=1)
        return reference_error(table)

    def test_values_match_an_independent_computation(self, task, reference):
        X = torch.cat([task.bounds, uniform(task, 3)])
        assert task.evaluate_true(X).tolist() == pytest.approx([reference(*x) for x in X.tolist()], abs=1e-6)

    def test_values_are_the_specifications(self, task):
        assert task.evaluate_true(torch.full((1, 388), 0.5)).item() == pytest.approx(0.155, abs=5e-4)
        values = task.evaluate_true(uniform(task, 20))
        assert (values > 0.144).all()
        assert (values < 0.298).all()


class TestSVMCT(SupportVectors):
    """The full table is the user's: here made up, but for the targets, by which it is known."""

    name = "svm_ct"

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls, tmp_path_factory):
        folder = real_data.folder()
        if folder is None or not (folder / "ct_slice" / "CT_slice_y.npy.gz").exists():
            pytest.skip("The targets of the CT slices are not here: set SCOREBO_DATA to their folder.")
        made = tmp_path_factory.mktemp("data") / "ct_slice"
        made.mkdir()
        (made / "CT_slice_y.npy.gz").symlink_to(folder / "ct_slice" / "CT_slice_y.npy.gz")
        with gzip.open(made / "CT_slice_y.npy.gz") as file:
            y = np.load(file)
        X = np.random.default_rng(0).integers(0, 256, (svm.ROWS, svm.FEATURES), dtype=np.uint8)
        X[:, 7] = y
        np.save(made / "CT_slice_X.npy", X)
        return made.parent

    def test_values_match_an_independent_computation(self, task, data):
        X = np.load(data / "ct_slice" / "CT_slice_X.npy")
        with gzip.open(data / "ct_slice" / "CT_slice_y.npy.gz") as file:
            reference = reference_error(np.column_stack([X, np.load(file)]))
        points = torch.cat([task.bounds, uniform(task, 2)])
        assert task.evaluate_true(points).tolist() == pytest.approx([reference(*x) for x in points.tolist()], abs=1e-6)


class TestTables:
    """Synthetic tables in all formats, so that it runs anywhere."""

    @pytest.fixture
    def table(self, monkeypatch):
        made = slices(600)
        monkeypatch.setattr(svm, "ROWS", 600)
        monkeypatch.setattr(svm, "TARGETS_SHA256", svm.digest(made[:, -1]))
        return made

    def test_all_formats_are_the_same_function(self, tmp_path, table):
        write_csv(tmp_path / "slice_localization_data.csv", table)
        write_csv(tmp_path / "few.csv.gz", table)
        np.save(tmp_path / "CT_slice_X.npy", table[:, :-1])
        np.save(tmp_path / "CT_slice_y.npy", table[:, -1:])
        point = np.random.default_rng(2).random((1, 388))
        full = [svm.ct_slice(str(tmp_path / name)) for name in ("slice_localization_data.csv", "CT_slice_X.npy")]
        few = svm.ct_slice_757(str(tmp_path / "few.csv.gz"), rows=600)
        expected = reference_error(table)(*point[0])
        assert [solve(point)[0] for solve in (*full, few)] == pytest.approx([expected] * 3, abs=1e-9)

    def test_bad_tables_are_explained(self, tmp_path, table):
        file = tmp_path / "slice_localization_data.csv"
        for spoilt, message in (
            (table[:, 1:], "must hold 600 x 386 numbers, it holds 600 x 385"),
            (table[1:], "must hold 600 x 386 numbers, it holds 599 x 386"),
            (np.where(np.arange(386) == 3, np.nan, table), r"no finite number \(at 1, 4,"),
            (np.where(np.arange(386) == 385, table + 1, table), "does not hold the targets of the CT slices"),
        ):
            write_csv(file, spoilt)
            with pytest.raises(InputError, match=message):
                svm.ct_slice(str(file))
        file.write_text("patientId,value0\n1,tomato\n")
        with pytest.raises(InputError, match="cannot be read"):
            svm.ct_slice(str(file))
        np.save(tmp_path / "CT_slice_X.npy", table[:, :-1])
        with pytest.raises(InputError, match=r"needs its targets beside it: there is no .*CT_slice_y\.npy\[\.gz\]"):
            svm.ct_slice(str(tmp_path / "CT_slice_X.npy"))
        (tmp_path / "CT_slice_X.npy").write_bytes(b"\x93NUMPY\x01\x00")
        (tmp_path / "CT_slice_y.npy").write_bytes(b"")
        with pytest.raises(InputError, match="cannot be read"):
            svm.ct_slice(str(tmp_path / "CT_slice_X.npy"))


@pytest.mark.parametrize(
    ("name", "module"),
    [
        *((name, "sklearn") for name in ("lasso_dna", "svm_ct", "svm_ct757")),
        ("cosmology", "camb"),
        ("lcbench_167168", "onnxruntime"),
        ("pd1_wmt", "xgboost"),
    ],
)
def test_a_task_without_its_data_says_what_to_do(name, module, tmp_path, monkeypatch, capsys):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: an extra of the package.")
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path))
    assert main(["run", f"benchmark={name}", "acquisition=random", f"results={tmp_path / 'results'}"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert " are missing: there is no " in message
    assert "set SCOREBO_DATA to the folder that has" in message
    assert not (tmp_path / "results").exists()
