import json
import math

import pytest
import torch

import scorebo
from scorebo.errors import InputError

BOX = [[-1.0, 0.0], [2.0, 1.0]]
FAST = ["mcmc.warmup=20", "mcmc.thinning=2", "mcmc.num_mcmc_samples=4", "mcmc.num_optima=2", "mcmc.num_features=128"]


def bowl(x):
    return -float((x[0] - 0.5) ** 2 + (x[1] - 0.25) ** 2)


def test_finds_the_top_of_a_bowl():
    seen = []
    result = scorebo.optimize(
        bowl, BOX, budget=20, seed=1, settings=FAST, callback=lambda x, y, count: seen.append((x.tolist(), y, count))
    )
    assert [count for _, _, count in seen] == list(range(1, 21))
    assert result.X.shape == (20, 2)
    assert result.best_y == max(y for _, y, _ in seen)
    assert bowl(result.recommended_x) > -0.05
    assert torch.equal(result.best_x, result.X[int(result.y.argmax())])


def test_minimizes_on_request():
    result = scorebo.optimize(lambda x: -bowl(x), BOX, "nei", 8, seed=1, maximize=False, settings=FAST)
    assert result.best_y == float(result.y.min())


@pytest.mark.parametrize("sampler", ["nuts", "sequential"])
def test_interrupted_optimization_goes_on_as_if_nothing_had_happened(tmp_path, sampler):
    options = {"budget": 8, "seed": 2, "settings": [f"mcmc={sampler}", *FAST]}
    expected = scorebo.optimize(bowl, BOX, **options)
    calls = 0

    def fragile(x):
        nonlocal calls
        calls += 1
        if calls == 6:
            raise RuntimeError("the machine is on fire")
        return bowl(x)

    file = tmp_path / "bowl.json"
    with pytest.raises(InputError, match=r"RuntimeError: the machine is on fire\. 5 observations are in"):
        scorebo.optimize(fragile, BOX, file=file, **options)
    assert len(json.loads(file.read_text())["y"]) == 5
    assert (json.loads(file.read_text())["carried"] is None) == (sampler == "nuts")
    assert "on fire" in json.loads(file.read_text())["failures"][0]["reason"]
    resumed = scorebo.optimize(fragile, BOX, file=file, **options)
    assert torch.equal(resumed.X, expected.X)
    assert torch.equal(resumed.y, expected.y)
    assert calls == 9


def test_asking_again_changes_nothing_that_comes_later():
    settings = ["mcmc=sequential", *FAST]
    patient, curious = (scorebo.Optimizer(BOX, "ucb", seed=3, settings=settings) for _ in range(2))
    for _ in range(7):
        x = patient.ask()
        assert torch.equal(curious.ask(), x)
        if len(curious.values) >= 3:
            curious.result()
            assert torch.equal(curious.ask(), x)
        for optimizer in (patient, curious):
            optimizer.tell(x, bowl(x))


def test_ask_is_stable_and_tell_takes_any_point():
    optimizer = scorebo.Optimizer(BOX, "ucb", seed=3, settings=FAST)
    for _ in range(4):
        x = optimizer.ask()
        assert torch.equal(x, optimizer.ask())
        optimizer.tell(x, bowl(x))
    optimizer.tell([0.5, 0.25], 0.0)
    assert optimizer.result().best_x.tolist() == [0.5, 0.25]


def test_an_acquisition_for_active_learning_can_be_used():
    result = scorebo.optimize(bowl, BOX, "sal_hr", budget=5, seed=1, settings=FAST)
    assert result.best_y == float(result.y.max())
    assert result.recommended_x.shape == (2,)


@pytest.mark.parametrize("kind", [lambda x: x.float(), lambda x: x.numpy(), lambda x: x.clone().requires_grad_()])
def test_points_and_values_of_any_kind(kind):
    optimizer = scorebo.Optimizer(BOX, seed=3)
    x = torch.tensor([0.5, 0.25], dtype=torch.float64)
    optimizer.tell(kind(x), kind(torch.tensor([0.125])))
    assert (optimizer.points, optimizer.values) == ([[0.5, 0.25]], [0.125])


def test_a_value_with_a_gradient():
    weights = torch.ones(2, dtype=torch.float64, requires_grad=True)
    seen = scorebo.optimize(lambda x: (weights * x).sum(), BOX, "random", budget=4, seed=1).y
    assert torch.equal(seen, scorebo.optimize(lambda x: float(x.sum()), BOX, "random", budget=4, seed=1).y)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_value_that_is_no_number_is_noted_as_failed(tmp_path, bad):
    optimizer = scorebo.Optimizer(BOX, file=tmp_path / "state.json", settings=FAST)
    with pytest.raises(InputError, match="noted as failed"):
        optimizer.tell(optimizer.ask(), bad)
    assert len(scorebo.Optimizer(BOX, file=tmp_path / "state.json", settings=FAST).failures) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scorebo.Optimizer([[1.0], [0.0]]), "every lower below its upper"),
        (lambda: scorebo.Optimizer([[0.0], [math.inf]]), "must be finite"),
        (lambda: scorebo.Optimizer([0.0, 1.0]), "2 x D"),
        (lambda: scorebo.Optimizer(BOX, "scorebo"), "Unknown acquisition 'scorebo'. Did you mean"),
        (lambda: scorebo.Optimizer(BOX, seed=-1), "seed must be"),
        (lambda: scorebo.Optimizer(BOX, initial=1), "initial must be"),
        (lambda: scorebo.Optimizer(BOX, maximize="no"), "maximize must be True or False"),
        (lambda: scorebo.Optimizer(BOX, settings="mcmc.warmup=20"), r"settings=\['mcmc.warmup=20'\]"),
        (lambda: scorebo.optimize(bowl), r"bounds must be scorebo\.Box"),
        (lambda: scorebo.Optimizer(), r"bounds must be scorebo\.Box"),
        (lambda: scorebo.optimize(BOX, bowl), r"bounds must be scorebo\.Box.*got <function"),
        (lambda: scorebo.optimize(bowl, BOX, budget=1), "budget must be"),
        (lambda: scorebo.optimize(bowl, BOX, n_iter=8), "Unknown option of optimize 'n_iter'. Allowed: file"),
        (
            lambda: scorebo.optimize(lambda x: None, BOX),
            r"failed at .*: The value must be one number, got None\. With on_failure",
        ),
        (lambda: scorebo.optimize(lambda x: x, BOX), r"failed at .*: The value must be one number, got shape \(2,\)"),
        (lambda: scorebo.Optimizer(BOX).ask(2), r"one point at a time, got q=2.*Call ask\(\), .* tell\(x, y\)"),
        (lambda: scorebo.Optimizer(BOX).tell([0.5, 0.5], None), "The value must be one number, got None"),
        (lambda: scorebo.Optimizer(BOX).tell([0.5, 0.5], [1.0, 2.0]), "The value must be one number, got shape"),
        (lambda: scorebo.Optimizer(BOX).tell("here", 1.0), "x must be a tensor"),
        (
            lambda: scorebo.Optimizer(BOX, settings=["model=additive", "model.partitions.max_groups=3"]),
            "at most the number of inputs, 2; got 3",
        ),
        (lambda: scorebo.Optimizer(BOX).tell([5.0, 0.5], 1.0), "in the box"),
        (lambda: scorebo.Optimizer(BOX).tell([0.5], 1.0), "2 coordinates"),
        (lambda: scorebo.Optimizer(BOX).result(), "At least two observations"),
        (lambda: scorebo.optimize(lambda x: 1.0, BOX, budget=4), "All 3 observations equal 1"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_foreign_or_damaged_file_is_refused(tmp_path):
    file = tmp_path / "state.json"
    first = scorebo.Optimizer(BOX, seed=1, file=file, settings=FAST)
    first.tell(first.ask(), 1.0)
    with pytest.raises(InputError, match=r"other settings \(seed\)"):
        scorebo.Optimizer(BOX, seed=2, file=file, settings=FAST)
    file.write_text(file.read_text()[:-20])
    with pytest.raises(InputError, match="cannot be read back"):
        scorebo.Optimizer(BOX, seed=1, file=file, settings=FAST)


def explosive(x):
    """A bowl whose top cannot be evaluated."""
    if abs(float(x[0]) - 0.5) < 0.4:
        raise RuntimeError("the mixture explodes")
    return bowl(x)


class TestFailures:
    @pytest.mark.parametrize("observed", [0, 1, 4])
    @pytest.mark.parametrize("acquisition", ["ucb", "random"])
    def test_ask_after_fail_is_another_point(self, tmp_path, observed, acquisition):
        file = tmp_path / "state.json"
        optimizer = scorebo.Optimizer(BOX, acquisition, seed=3, file=file, settings=FAST)
        for _ in range(observed):
            x = optimizer.ask()
            optimizer.tell(x, bowl(x))
        seen = []
        for _ in range(4):
            x = optimizer.ask()
            assert torch.equal(x, optimizer.ask())
            assert all(float((x - other).abs().max()) > 1e-4 for other in seen)
            seen.append(x)
            optimizer.fail(x, "the mixture explodes")
            again = scorebo.Optimizer(BOX, acquisition, seed=3, file=file, settings=FAST)
            assert torch.equal(again.ask(), optimizer.ask())
        assert len(optimizer.values) == observed

    def test_fail_takes_what_tell_takes(self):
        optimizer = scorebo.Optimizer(BOX, settings=FAST)
        optimizer.fail([0.5, 0.25], "no power")
        assert optimizer.failures[0]["x"] == [0.5, 0.25]
        with pytest.raises(InputError, match="in the box"):
            optimizer.fail([5.0, 0.5], "no power")

    def test_a_value_told_later_takes_the_failure_back(self):
        steady, shaken = (scorebo.Optimizer(BOX, "ucb", seed=3, settings=FAST) for _ in range(2))
        for _ in range(5):
            x = steady.ask()
            assert torch.equal(shaken.ask(), x)
            shaken.fail(x, "no power")
            assert not torch.equal(shaken.ask(), x)
            for optimizer in (steady, shaken):
                optimizer.tell(x, bowl(x))

    @pytest.mark.parametrize("sampler", ["nuts", "sequential"])
    def test_avoid_makes_all_observations_and_goes_on_bit_equal(self, tmp_path, sampler):
        options = {"budget": 9, "seed": 2, "settings": [f"mcmc={sampler}", *FAST], "on_failure": "avoid"}
        expected = scorebo.optimize(explosive, BOX, **options)
        assert len(expected.y) == 9
        assert len(expected.failures) > 1
        assert expected.failures[0]["reason"] == "RuntimeError: the mixture explodes"
        assert bool(((expected.X[:, 0] - 0.5).abs() >= 0.4).all())
        calls = 0

        def mortal(x):
            nonlocal calls
            calls += 1
            if calls % 4 == 0:
                raise KeyboardInterrupt
            return explosive(x)

        for _ in range(9):
            try:
                found = scorebo.optimize(mortal, BOX, file=tmp_path / "state.json", **options)
                break
            except KeyboardInterrupt:
                continue
        assert calls > 8
        assert torch.equal(found.X, expected.X)
        assert found.failures == expected.failures

    def test_stop_is_the_default_and_names_the_option(self, tmp_path):
        options = {"budget": 9, "seed": 2, "settings": FAST, "file": tmp_path / "state.json"}
        for _ in range(2):
            with pytest.raises(InputError, match=r'the mixture explodes\. .*With on_failure="avoid" the optimization'):
                scorebo.optimize(explosive, BOX, **options)
        failures = json.loads((tmp_path / "state.json").read_text())["failures"]
        assert failures[0]["x"] == failures[1]["x"]
        assert len(scorebo.optimize(explosive, BOX, **options, on_failure="avoid").y) == 9

    def test_a_value_that_is_no_number_is_avoided_too(self):
        result = scorebo.optimize(
            lambda x: bowl(x) if x[0] > 0.0 else math.nan, BOX, budget=6, settings=FAST, on_failure="avoid"
        )
        assert bool((result.X[:, 0] > 0.0).all())
        assert {failure["reason"] for failure in result.failures} == {"the value is nan"}

    def test_every_evaluation_fails(self):
        def broken(x):
            raise RuntimeError("the machine is on fire")

        with pytest.raises(InputError, match=r"on fire\. It failed at all of the last 20 points"):
            scorebo.optimize(broken, BOX, settings=FAST, on_failure="avoid")

    def test_a_file_of_an_earlier_version_is_read(self, tmp_path):
        file = tmp_path / "state.json"
        optimizer = scorebo.Optimizer(BOX, "ucb", seed=3, file=file, settings=FAST)
        for _ in range(4):
            x = optimizer.ask()
            optimizer.tell(x, bowl(x))
        x = optimizer.ask()
        optimizer.fail(x, "no power")
        stored = json.loads(file.read_text())
        del stored["failures"][0]["after"]
        file.write_text(json.dumps(stored))
        assert not torch.equal(scorebo.Optimizer(BOX, "ucb", seed=3, file=file, settings=FAST).ask(), x)

    def test_settings_are_checked(self):
        with pytest.raises(InputError, match=r"Unknown on_failure 'ignore'\. Allowed: avoid, stop"):
            scorebo.optimize(bowl, BOX, on_failure="ignore")


@pytest.mark.parametrize("setting", ["metrics_every=5", "seed=3", "results=elsewhere", "benchmark.total=9"])
def test_settings_that_would_be_ignored_are_refused(setting):
    name = setting.split("=")[0].split(".")[0]
    with pytest.raises(
        InputError, match=f"Unknown node of a setting '{name}'.*acquisition, acquisition_optimizer, mcmc, model"
    ):
        scorebo.Optimizer(BOX, settings=[setting])
